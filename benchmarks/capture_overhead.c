/* What a call costs: ping-pong of 8 bytes between ranks 0 and 1, then a halo exchange of all ranks on a ring (two
 * receives, two sends of 8 KiB, a wait for all, some work, an allreduce every 10 steps). Prints ns a call of the
 * ping-pong and us a step of the exchange: the fastest of many short rounds, so that other load matters little. */
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 400
#define LENGTH 50
#define STEPS 10
#define CELLS 1024

static double field[3 * CELLS], halo[2 * CELLS];

static double ping_pong(int rank) {
    char buffer[8] = {0};
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = MPI_Wtime();
        for (int i = 0; i < LENGTH && rank < 2; i++) {
            if (rank == 0) MPI_Send(buffer, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, 8, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1) MPI_Send(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        double taken = (MPI_Wtime() - start) / LENGTH / 4; /* two calls there, two here, one after the other */
        if (taken < best) best = taken;
    }
    return best;
}

static double exchange(int rank, int size) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double best = 1e9, sum = 0, total;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int step = 0; step < STEPS; step++) {
            MPI_Request requests[4];
            MPI_Irecv(halo, CELLS, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, requests);
            MPI_Irecv(halo + CELLS, CELLS, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, requests + 1);
            MPI_Isend(field, CELLS, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, requests + 2);
            MPI_Isend(field + 2 * CELLS, CELLS, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, requests + 3);
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
            for (int pass = 0; pass < 4; pass++)
                for (int i = 1; i < 3 * CELLS - 1; i++) field[i] = 0.25 * (field[i - 1] + field[i + 1]) + 0.5 * field[i];
            if (step % STEPS == 0) MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        double taken = (MPI_Wtime() - start) / STEPS;
        if (taken < best) best = taken;
    }
    return best;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double call = ping_pong(rank), step = exchange(rank, size);
    if (rank == 0) printf("%.1f %.3f\n", call * 1e9, step * 1e6);
    MPI_Finalize();
    return 0;
}
