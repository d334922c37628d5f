/* What programs do at the edges: same_members, duplicates, many (communicators), huge (and empty messages), one_sided. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* Two communicators with the same members; messages with equal tags are received in the other order. */
static void same_members(void) {
    MPI_Comm a, b;
    MPI_Request requests[2];
    char out[64] = {0}, in[64];
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    if (rank == 0) {
        MPI_Isend(out, 11, MPI_CHAR, 1, 0, a, requests);
        MPI_Isend(out, 22, MPI_CHAR, 1, 0, b, requests + 1);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (rank == 1) {
        MPI_Recv(in, 64, MPI_CHAR, 0, 0, b, MPI_STATUS_IGNORE);
        MPI_Recv(in, 64, MPI_CHAR, 0, 0, a, MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(a, requests);
    MPI_Ibarrier(b, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Begun in one order, completed in another on each rank; a message in each. */
static void duplicates(void) {
    MPI_Comm made[2], third;
    MPI_Request requests[2];
    char buffer[64] = {0};
    MPI_Comm_idup(MPI_COMM_WORLD, made, requests);
    MPI_Comm_idup(MPI_COMM_WORLD, made + 1, requests + 1);
    if (rank == 0) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &third);
    if (rank) {
        MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    MPI_Comm order[3] = {made[0], made[1], third};
    MPI_Request sends[3];
    for (int i = 0; i < 3 && rank == 0; i++) MPI_Isend(buffer, 11 * (i + 1), MPI_CHAR, 1, 0, order[i], sends + i);
    for (int i = 2; i >= 0 && rank == 1; i--)
        MPI_Recv(buffer, 64, MPI_CHAR, 0, 0, order[i], MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

static void many(void) {
    MPI_Comm one, before = MPI_COMM_NULL;
    for (int i = 0; i < 1000; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? 0 : rank % 2, rank, &one);
        MPI_Bcast(&i, 1, MPI_INT, 0, one);
        if (i % 2) MPI_Comm_free(&one); /* handles are used again */
        if (before != MPI_COMM_NULL) MPI_Comm_free(&before);
        if (i % 2 == 0) before = one;
    }
}

static void huge(void) {
    static char block[1 << 20];
    MPI_Datatype type;
    MPI_Type_create_hvector(2200, 1 << 20, 0, MPI_CHAR, &type); /* 2200 times the same MiB */
    MPI_Type_commit(&type);
    if (rank == 0) {
        MPI_Send(block, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Send(block, 0, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Recv(block, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(block, 0, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void one_sided(void) {
    int *value;
    MPI_Win window;
    MPI_Win_allocate(sizeof *value, sizeof *value, MPI_INFO_NULL, MPI_COMM_WORLD, &value, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(argv[1], "same_members")) same_members();
    if (!strcmp(argv[1], "duplicates")) duplicates();
    if (!strcmp(argv[1], "many")) many();
    if (!strcmp(argv[1], "huge")) huge();
    if (!strcmp(argv[1], "one_sided")) one_sided();
    MPI_Finalize();
    return 0;
}
