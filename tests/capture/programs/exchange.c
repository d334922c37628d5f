/* Point-to-point traffic of every kind between n >= 3 ranks, each kind with sizes of its own. Rank 0 prints the senders
 * in the order in which its receives from anyone were served. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[1 << 20], in[1 << 20];
static int rank, size, left, right;

static void blocking(void) {
    for (int i = 0; i < 3; i++) {
        if (rank % 2 == 0) {
            MPI_Send(out, 10 + i, MPI_INT, right, 1, MPI_COMM_WORLD);
            MPI_Recv(in, 100, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 100, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 10 + i, MPI_INT, right, 1, MPI_COMM_WORLD);
        }
    }
    static char space[4096 + MPI_BSEND_OVERHEAD];
    char *detached;
    int bytes;
    MPI_Buffer_attach(space, sizeof space);
    MPI_Bsend(out, 777, MPI_CHAR, right, 2, MPI_COMM_WORLD);
    MPI_Recv(in, 777, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &bytes);
    if (rank == 0) MPI_Ssend(out, 5000, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in, 6000, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(void) {
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int index, flag, done, indices[8];
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(in + 1000 * i, 1000, MPI_CHAR, left, 10 + i, MPI_COMM_WORLD, requests + i);
        MPI_Isend(out, 100 + i, MPI_CHAR, right, 10 + i, MPI_COMM_WORLD, requests + 4 + i);
    }
    MPI_Waitany(8, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(8, requests, &done, indices, statuses);
    do MPI_Testall(8, requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    /* Rendezvous, and tests one by one. */
    MPI_Irecv(in, 300000, MPI_CHAR, left, 20, MPI_COMM_WORLD, requests);
    MPI_Issend(out, 300000, MPI_CHAR, right, 20, MPI_COMM_WORLD, requests + 1);
    do MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
    /* Posted and cancelled: no message. */
    MPI_Irecv(in, 10, MPI_CHAR, left, 99, MPI_COMM_WORLD, requests);
    MPI_Cancel(requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
}

static void persistent(void) {
    MPI_Request requests[2];
    MPI_Send_init(out, 60, MPI_DOUBLE, right, 30, MPI_COMM_WORLD, requests);
    MPI_Recv_init(in, 60, MPI_DOUBLE, left, 30, MPI_COMM_WORLD, requests + 1);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(requests + 1);
    MPI_Start(requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(requests);
    MPI_Request_free(requests + 1);
}

static void both(void) {
    MPI_Sendrecv(out, 21, MPI_SHORT, right, 40, in, 21, MPI_SHORT, left, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(in, 23, MPI_SHORT, left, 41, right, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 5, MPI_CHAR, rank == 0 ? MPI_PROC_NULL : rank - 1, 42, in, 5, MPI_CHAR,
                 rank == size - 1 ? MPI_PROC_NULL : rank + 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void from_anyone(void) {
    MPI_Status status;
    MPI_Message message;
    int flag;
    if (rank) {
        MPI_Send(out, 1000 + rank, MPI_CHAR, 0, 50, MPI_COMM_WORLD);
        MPI_Send(out, 2000 + rank, MPI_CHAR, 0, 51 + rank, MPI_COMM_WORLD);
        MPI_Send(out, 3000 + rank, MPI_CHAR, 0, 90, MPI_COMM_WORLD);
        MPI_Send(out, 4000 + rank, MPI_CHAR, 0, 91, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++) {
        MPI_Recv(in, 5000, MPI_CHAR, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &status);
        printf("%d ", status.MPI_SOURCE);
    }
    for (int i = 1; i < size; i++) {
        MPI_Probe(i, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(in, 5000, MPI_CHAR, i, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 1; i < size; i++) {
        do MPI_Iprobe(MPI_ANY_SOURCE, 90, MPI_COMM_WORLD, &flag, &status);
        while (!flag);
        MPI_Recv(in, 5000, MPI_CHAR, status.MPI_SOURCE, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d ", status.MPI_SOURCE);
    }
    for (int i = 1; i < size; i++) {
        MPI_Request request;
        MPI_Mprobe(MPI_ANY_SOURCE, 91, MPI_COMM_WORLD, &message, &status);
        printf("%d ", status.MPI_SOURCE);
        if (i % 2) {
            MPI_Mrecv(in, 5000, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Imrecv(in, 5000, MPI_CHAR, &message, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    printf("\n");
}

static void communicators(void) {
    MPI_Comm odd, copy, ring, reversed;
    MPI_Group world, group;
    MPI_Request request;
    int me, period = 1, few[] = {2, 0};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd); /* ranks in reverse */
    MPI_Comm_rank(odd, &me);
    int of_odd;
    MPI_Comm_size(odd, &of_odd);
    MPI_Sendrecv(out, 31, MPI_CHAR, (me + 1) % of_odd, 60, in, 31, MPI_CHAR, (me + of_odd - 1) % of_odd, 60, odd,
                 MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 33, MPI_CHAR, right, 60, in, 33, MPI_CHAR, left, 60, copy, MPI_STATUS_IGNORE);
    MPI_Cart_create(copy, 1, &size, &period, 0, &ring);
    MPI_Sendrecv(out, 35, MPI_CHAR, right, 60, in, 35, MPI_CHAR, left, 60, ring, MPI_STATUS_IGNORE);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, few, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &reversed);
    if (reversed != MPI_COMM_NULL) {
        if (rank == 2) MPI_Send(out, 37, MPI_CHAR, 1, 60, reversed); /* to rank 0 of all */
        if (rank == 0) MPI_Recv(in, 37, MPI_CHAR, 0, 60, reversed, MPI_STATUS_IGNORE);
        MPI_Comm_free(&reversed);
    }
    MPI_Comm_free(&ring);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&odd);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* Apart from the others: the monitoring of Open MPI 4 takes what MPI_Comm_create_group sends for messages of the
 * program, and crashes when an inter-communicator is freed. */
static void groups(void) {
    MPI_Comm odd, across, some;
    MPI_Group world, group;
    int me, few[] = {2, 0};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, few, &group);
    if (rank == 0 || rank == 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &some);
        if (rank == 2) MPI_Send(out, 39, MPI_CHAR, 1, 60, some);
        if (rank == 0) MPI_Recv(in, 39, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, some, MPI_STATUS_IGNORE);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd);
    MPI_Comm_rank(odd, &me);
    /* The leaders are the highest ranks, being first in `odd`. */
    MPI_Intercomm_create(odd, 0, MPI_COMM_WORLD, (size - 1) % 2 == rank % 2 ? size - 2 : size - 1, 8, &across);
    if (me == 0) {
        if (rank % 2) MPI_Send(out, 41, MPI_CHAR, 0, 60, across);
        if (rank % 2 == 0) MPI_Recv(in, 41, MPI_CHAR, 0, 60, across, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&odd);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "blocking")) blocking();
        if (!strcmp(argv[i], "nonblocking")) nonblocking();
        if (!strcmp(argv[i], "persistent")) persistent();
        if (!strcmp(argv[i], "both")) both();
        if (!strcmp(argv[i], "from_anyone")) from_anyone();
        if (!strcmp(argv[i], "communicators")) communicators();
        if (!strcmp(argv[i], "groups")) groups();
    }
    MPI_Finalize();
    return 0;
}
