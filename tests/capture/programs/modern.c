/* What came with MPI 4 (prints "none" with an older one), calls from several threads, and waiting by polling. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int rank, size;

static void mpi4(void) {
#if MPI_VERSION >= 4
    char out[256] = {0}, in[256];
    MPI_Request request;
    MPI_Count many = 200;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Allreduce_init(out, in, 64, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Bcast_c(out, many, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send_c(out, many, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv_c(in, many, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isendrecv(out, 50, MPI_CHAR, right, 1, in, 50, MPI_CHAR, left, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
    if (rank == 0) printf("none\n");
#endif
}

static void *ping(void *argument) {
    int tag = *(int *)argument;
    char buffer[16];
    for (int i = 0; i < 50; i++) {
        if (rank == 0) {
            MPI_Send(buffer, 10 + tag, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(buffer, 16, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, 16, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, 10 + tag, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
        }
    }
    return NULL;
}

static void with_threads(void) {
    pthread_t threads[3];
    int tags[] = {1, 2, 3};
    for (int i = 0; i < 3; i++) pthread_create(threads + i, NULL, ping, tags + i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

static double busy(double seconds) {
    struct timespec start, time;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &time);
    while (time.tv_sec - start.tv_sec + (time.tv_nsec - start.tv_nsec) * 1e-9 < seconds);
    return seconds;
}

/* Rank 1 polls for a message that rank 0 sends after 0.3 s of work. */
static void polling(void) {
    char buffer[8] = {0};
    MPI_Request request;
    int done = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        busy(0.3);
        MPI_Send(buffer, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(buffer, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(argv[1], "mpi4")) mpi4();
    if (!strcmp(argv[1], "threads")) {
        if (level == MPI_THREAD_MULTIPLE)
            with_threads();
        else if (rank == 0)
            printf("none\n");
    }
    if (!strcmp(argv[1], "polling")) polling();
    MPI_Finalize();
    return 0;
}
