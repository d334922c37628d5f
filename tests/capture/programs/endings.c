/* A ring of messages, then an end as the argument says: ok, killed, no_finalize, abort, exit3, pause. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size;
    char out[64] = {0}, in[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
    for (int i = 0; i < rounds; i++) {
        if (i == rounds / 2 && rank == 1 && !strcmp(argv[1], "killed")) kill(getpid(), SIGKILL);
        if (i == rounds / 2 && rank == 1 && !strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
        MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % size, 0, in, 64, MPI_CHAR, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(argv[1], "no_finalize")) exit(0);
    if (!strcmp(argv[1], "pause")) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) printf("ready\n"), fflush(stdout);
        pause();
    }
    MPI_Finalize();
    return !strcmp(argv[1], "exit3") ? 3 : 0;
}
