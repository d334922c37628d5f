/* Every collective once, with sizes that tell them apart, blocking or (argument i) non-blocking. Sizes in bytes. */
#include <mpi.h>
#include <stdlib.h>

static char out[1 << 16], in[1 << 16];

#define RUN(blocking, started)                         \
    do {                                               \
        if (argc > 1) {                                \
            MPI_Request request;                       \
            started;                                   \
            MPI_Wait(&request, MPI_STATUS_IGNORE);     \
        } else {                                       \
            blocking;                                  \
        }                                              \
    } while (0)

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int counts[64], places[64], total = 0;
    MPI_Datatype types[64];
    for (int i = 0; i < size; i++) {
        counts[i] = 10 * (i + 1), places[i] = total, total += counts[i];
        types[i] = MPI_CHAR;
    }
    int mine = counts[rank];
    RUN(MPI_Barrier(comm), MPI_Ibarrier(comm, &request));
    RUN(MPI_Bcast(out, 101, MPI_CHAR, 1, comm), MPI_Ibcast(out, 101, MPI_CHAR, 1, comm, &request));
    RUN(MPI_Reduce(out, in, 102, MPI_CHAR, MPI_MAX, 1, comm),
        MPI_Ireduce(out, in, 102, MPI_CHAR, MPI_MAX, 1, comm, &request));
    const void *own = rank == 1 ? MPI_IN_PLACE : out;
    RUN(MPI_Reduce(own, in, 103, MPI_CHAR, MPI_MAX, 1, comm),
        MPI_Ireduce(own, in, 103, MPI_CHAR, MPI_MAX, 1, comm, &request));
    RUN(MPI_Allreduce(out, in, 104, MPI_CHAR, MPI_MAX, comm),
        MPI_Iallreduce(out, in, 104, MPI_CHAR, MPI_MAX, comm, &request));
    RUN(MPI_Allreduce(MPI_IN_PLACE, in, 105, MPI_CHAR, MPI_MAX, comm),
        MPI_Iallreduce(MPI_IN_PLACE, in, 105, MPI_CHAR, MPI_MAX, comm, &request));
    RUN(MPI_Gather(out, 106, MPI_CHAR, in, 106, MPI_CHAR, 0, comm),
        MPI_Igather(out, 106, MPI_CHAR, in, 106, MPI_CHAR, 0, comm, &request));
    own = rank == 0 ? MPI_IN_PLACE : out;
    RUN(MPI_Gather(own, 107, MPI_CHAR, in, 107, MPI_CHAR, 0, comm),
        MPI_Igather(own, 107, MPI_CHAR, in, 107, MPI_CHAR, 0, comm, &request));
    RUN(MPI_Gatherv(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, 2, comm),
        MPI_Igatherv(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, 2, comm, &request));
    RUN(MPI_Scatter(out, 108, MPI_CHAR, in, 108, MPI_CHAR, 0, comm),
        MPI_Iscatter(out, 108, MPI_CHAR, in, 108, MPI_CHAR, 0, comm, &request));
    void *here = rank == 0 ? MPI_IN_PLACE : in;
    RUN(MPI_Scatter(out, 109, MPI_CHAR, here, 109, MPI_CHAR, 0, comm),
        MPI_Iscatter(out, 109, MPI_CHAR, here, 109, MPI_CHAR, 0, comm, &request));
    RUN(MPI_Scatterv(out, counts, places, MPI_CHAR, in, mine, MPI_CHAR, 2, comm),
        MPI_Iscatterv(out, counts, places, MPI_CHAR, in, mine, MPI_CHAR, 2, comm, &request));
    RUN(MPI_Allgather(out, 110, MPI_CHAR, in, 110, MPI_CHAR, comm),
        MPI_Iallgather(out, 110, MPI_CHAR, in, 110, MPI_CHAR, comm, &request));
    RUN(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 111, MPI_CHAR, comm),
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 111, MPI_CHAR, comm, &request));
    RUN(MPI_Allgatherv(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, comm),
        MPI_Iallgatherv(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, comm, &request));
    RUN(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_CHAR, comm),
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_CHAR, comm, &request));
    RUN(MPI_Alltoall(out, 112, MPI_CHAR, in, 112, MPI_CHAR, comm),
        MPI_Ialltoall(out, 112, MPI_CHAR, in, 112, MPI_CHAR, comm, &request));
    RUN(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 113, MPI_CHAR, comm),
        MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 113, MPI_CHAR, comm, &request));
    int same[64], places_in[64];
    for (int i = 0; i < size; i++) same[i] = mine, places_in[i] = i * mine;
    RUN(MPI_Alltoallv(out, counts, places, MPI_CHAR, in, same, places_in, MPI_CHAR, comm),
        MPI_Ialltoallv(out, counts, places, MPI_CHAR, in, same, places_in, MPI_CHAR, comm, &request));
    RUN(MPI_Alltoallw(out, counts, places, types, in, same, places_in, types, comm),
        MPI_Ialltoallw(out, counts, places, types, in, same, places_in, types, comm, &request));
    RUN(MPI_Reduce_scatter(out, in, counts, MPI_CHAR, MPI_MAX, comm),
        MPI_Ireduce_scatter(out, in, counts, MPI_CHAR, MPI_MAX, comm, &request));
    RUN(MPI_Reduce_scatter_block(out, in, 114, MPI_CHAR, MPI_MAX, comm),
        MPI_Ireduce_scatter_block(out, in, 114, MPI_CHAR, MPI_MAX, comm, &request));
    RUN(MPI_Scan(out, in, 115, MPI_CHAR, MPI_MAX, comm), MPI_Iscan(out, in, 115, MPI_CHAR, MPI_MAX, comm, &request));
    RUN(MPI_Exscan(out, in, 116, MPI_CHAR, MPI_MAX, comm),
        MPI_Iexscan(out, in, 116, MPI_CHAR, MPI_MAX, comm, &request));
    MPI_Finalize();
    return 0;
}
