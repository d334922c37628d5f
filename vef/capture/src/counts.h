/* Calls with counts. Included once for int and once for MPI_Count: COUNT, DISPLACEMENT, SUFFIXED(name). */

/* ---- sends ---- */

#define SENDS(name, mode)                                                                                       \
    DEFINE(SUFFIXED(name), (const void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm), { \
        if (PASSING) return REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm);                        \
        CALL(result, REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm));                              \
        record_send(start, result, bytes_of(number, type), peer, tag, comm, mode);                              \
        return result;                                                                                          \
    })
SENDS(Send, 0)
SENDS(Bsend, FLAG_BUFFERED)
SENDS(Ssend, FLAG_SYNCHRONOUS)
SENDS(Rsend, FLAG_READY)
#undef SENDS

#define STARTS_SEND(name, mode)                                                                                 \
    DEFINE(SUFFIXED(name), (const void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
                            MPI_Request *request), {                                                            \
        if (PASSING) return REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm, request);               \
        CALL(result, REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm, request));                     \
        record_send(start, result, bytes_of(number, type), peer, tag, comm, (mode) | FLAG_NONBLOCKING);         \
        return result;                                                                                          \
    })
STARTS_SEND(Isend, 0)
STARTS_SEND(Ibsend, FLAG_BUFFERED)
STARTS_SEND(Issend, FLAG_SYNCHRONOUS)
STARTS_SEND(Irsend, FLAG_READY)
#undef STARTS_SEND

#define PREPARES_SEND(name, mode)                                                                               \
    DEFINE(SUFFIXED(name), (const void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
                            MPI_Request *request), {                                                            \
        if (PASSING) return REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm, request);               \
        CALL(result, REAL(SUFFIXED(name))(buffer, number, type, peer, tag, comm, request));                     \
        prepare(start, result, OP_SEND, bytes_of(number, type), peer, tag, comm,                                \
                (mode) | FLAG_NONBLOCKING | FLAG_PERSISTENT, *request);                                         \
        return result;                                                                                          \
    })
PREPARES_SEND(Send_init, 0)
PREPARES_SEND(Bsend_init, FLAG_BUFFERED)
PREPARES_SEND(Ssend_init, FLAG_SYNCHRONOUS)
PREPARES_SEND(Rsend_init, FLAG_READY)
#undef PREPARES_SEND

/* ---- receives ---- */

DEFINE(SUFFIXED(Recv), (void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                        MPI_Status *status), {
    if (PASSING) return REAL(SUFFIXED(Recv))(buffer, number, type, peer, tag, comm, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(SUFFIXED(Recv))(buffer, number, type, peer, tag, comm, used));
    lock();
    record_receive(start, result, comm, used, 0);
    unlock();
    return result;
})

DEFINE(SUFFIXED(Irecv), (void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request), {
    if (PASSING) return REAL(SUFFIXED(Irecv))(buffer, number, type, peer, tag, comm, request);
    CALL(result, REAL(SUFFIXED(Irecv))(buffer, number, type, peer, tag, comm, request));
    lock();
    record_post(start, result, bytes_of(number, type), peer, tag, comm, *request);
    unlock();
    return result;
})

DEFINE(SUFFIXED(Recv_init), (void *buffer, COUNT number, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                             MPI_Request *request), {
    if (PASSING) return REAL(SUFFIXED(Recv_init))(buffer, number, type, peer, tag, comm, request);
    CALL(result, REAL(SUFFIXED(Recv_init))(buffer, number, type, peer, tag, comm, request));
    prepare(start, result, OP_POST, bytes_of(number, type), peer, tag, comm, FLAG_PERSISTENT, *request);
    return result;
})

DEFINE(SUFFIXED(Mrecv), (void *buffer, COUNT number, MPI_Datatype type, MPI_Message *message, MPI_Status *status), {
    if (PASSING) return REAL(SUFFIXED(Mrecv))(buffer, number, type, message, status);
    uint64_t key = ~(uint64_t)(uintptr_t)*message;
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(SUFFIXED(Mrecv))(buffer, number, type, message, used));
    lock();
    record_wait(start, !result && complete(key, used), WAIT_WAIT);
    unlock();
    return result;
})

DEFINE(SUFFIXED(Imrecv), (void *buffer, COUNT number, MPI_Datatype type, MPI_Message *message, MPI_Request *request), {
    if (PASSING) return REAL(SUFFIXED(Imrecv))(buffer, number, type, message, request);
    uint64_t key = ~(uint64_t)(uintptr_t)*message;
    CALL(result, REAL(SUFFIXED(Imrecv))(buffer, number, type, message, request));
    lock();
    struct request *matched = find_request(key);
    if (!result && matched) {
        struct record record = matched->record;
        drop_request(matched);
        add_request(request_key(*request), &record);
    }
    skip(start);
    unlock();
    return result;
})

/* ---- both at once ---- */

DEFINE(SUFFIXED(Sendrecv), (const void *out, COUNT out_number, MPI_Datatype out_type, int to, int out_tag, void *in,
                            COUNT in_number, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                            MPI_Status *status), {
    if (PASSING)
        return REAL(SUFFIXED(Sendrecv))(out, out_number, out_type, to, out_tag, in, in_number, in_type, from, in_tag,
                                        comm, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(SUFFIXED(Sendrecv))(out, out_number, out_type, to, out_tag, in, in_number, in_type, from,
                                          in_tag, comm, used));
    record_both(start, result, bytes_of(out_number, out_type), to, out_tag, comm, used);
    return result;
})

DEFINE(SUFFIXED(Sendrecv_replace), (void *buffer, COUNT number, MPI_Datatype type, int to, int out_tag, int from,
                                    int in_tag, MPI_Comm comm, MPI_Status *status), {
    if (PASSING)
        return REAL(SUFFIXED(Sendrecv_replace))(buffer, number, type, to, out_tag, from, in_tag, comm, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(SUFFIXED(Sendrecv_replace))(buffer, number, type, to, out_tag, from, in_tag, comm, used));
    record_both(start, result, bytes_of(number, type), to, out_tag, comm, used);
    return result;
})

#if MPI_VERSION >= 4
DEFINE(SUFFIXED(Isendrecv), (const void *out, COUNT out_number, MPI_Datatype out_type, int to, int out_tag, void *in,
                             COUNT in_number, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                             MPI_Request *request), {
    if (PASSING)
        return REAL(SUFFIXED(Isendrecv))(out, out_number, out_type, to, out_tag, in, in_number, in_type, from, in_tag,
                                         comm, request);
    CALL(result, REAL(SUFFIXED(Isendrecv))(out, out_number, out_type, to, out_tag, in, in_number, in_type, from,
                                           in_tag, comm, request));
    record_both_started(start, result, bytes_of(out_number, out_type), to, out_tag, bytes_of(in_number, in_type), from,
                        in_tag, comm, *request);
    return result;
})

DEFINE(SUFFIXED(Isendrecv_replace), (void *buffer, COUNT number, MPI_Datatype type, int to, int out_tag, int from,
                                     int in_tag, MPI_Comm comm, MPI_Request *request), {
    if (PASSING)
        return REAL(SUFFIXED(Isendrecv_replace))(buffer, number, type, to, out_tag, from, in_tag, comm, request);
    CALL(result, REAL(SUFFIXED(Isendrecv_replace))(buffer, number, type, to, out_tag, from, in_tag, comm, request));
    record_both_started(start, result, bytes_of(number, type), to, out_tag, bytes_of(number, type), from, in_tag, comm,
                        *request);
    return result;
})
#endif

/* ---- collectives ---- */

/* A collective, its non-blocking and its persistent form. The last argument fills `root`, `sent` and `received` from
 * the arguments; `me` and `size` are the rank in the communicator and its size. The body of a form that the MPI
 * library does not have is left out. */
#define COLLECTIVE(name, iname, code, params, args, ...)                                                             \
    static struct record SUFFIXED(measure_##name)(UNPACK params, MPI_Comm comm) {                                    \
        struct comm *known = find_comm(comm);                                                                        \
        int root = -1;                                                                                               \
        int64_t sent = 0;                                                                                            \
        int64_t received = 0;                                                                                        \
        if (!known->inter && !known->foreign) {                                                                      \
            int me = known->rank;                                                                                    \
            int size = known->size;                                                                                  \
            (void)me;                                                                                                \
            (void)size;                                                                                              \
            __VA_ARGS__                                                                                              \
        }                                                                                                            \
        return (struct record){.op = OP_COLLECTIVE, .kind = KIND_##code, .comm = known->id, .peer = root,            \
                               .bytes = sent, .bytes2 = received};                                                   \
    }                                                                                                                \
    DEFINE(SUFFIXED(name), (UNPACK params, MPI_Comm comm), {                                                         \
        if (PASSING) return REAL(SUFFIXED(name))(UNPACK args, comm);                                                 \
        CALL(result, REAL(SUFFIXED(name))(UNPACK args, comm));                                                       \
        lock();                                                                                                      \
        struct record record = SUFFIXED(measure_##name)(UNPACK args, comm);                                          \
        record_collective(start, result, comm, &record, 0);                                                          \
        unlock();                                                                                                    \
        return result;                                                                                               \
    })                                                                                                               \
    DEFINE(SUFFIXED(iname), (UNPACK params, MPI_Comm comm, MPI_Request *request), {                                  \
        if (PASSING) return REAL(SUFFIXED(iname))(UNPACK args, comm, request);                                       \
        CALL(result, REAL(SUFFIXED(iname))(UNPACK args, comm, request));                                             \
        lock();                                                                                                      \
        struct record record = SUFFIXED(measure_##name)(UNPACK args, comm);                                          \
        record_collective(start, result, comm, &record, request);                                                    \
        unlock();                                                                                                    \
        return result;                                                                                               \
    })                                                                                                               \
    PERSISTENT_COLLECTIVE(name, params, args)

#if MPI_VERSION >= 4
#define PERSISTENT_COLLECTIVE(name, params, args)                                                                    \
    DEFINE(SUFFIXED(name##_init), (UNPACK params, MPI_Comm comm, MPI_Info info, MPI_Request *request), {             \
        if (PASSING) return REAL(SUFFIXED(name##_init))(UNPACK args, comm, info, request);                           \
        CALL(result, REAL(SUFFIXED(name##_init))(UNPACK args, comm, info, request));                                 \
        lock();                                                                                                      \
        struct record record = SUFFIXED(measure_##name)(UNPACK args, comm);                                          \
        prepare_collective(start, result, comm, &record, *request);                                                  \
        unlock();                                                                                                    \
        return result;                                                                                               \
    })
#else
#define PERSISTENT_COLLECTIVE(name, params, args)
#endif

#define IN_PLACE(buffer) ((buffer) == MPI_IN_PLACE)

COLLECTIVE(Bcast, Ibcast, BCAST, (void *buffer, COUNT number, MPI_Datatype type, int origin),
           (buffer, number, type, origin), {
               root = origin;
               (void)buffer;
               *(me == root ? &sent : &received) = bytes_of(number, type);
           })

COLLECTIVE(Reduce, Ireduce, REDUCE,
           (const void *out, void *in, COUNT number, MPI_Datatype type, MPI_Op operation, int target),
           (out, in, number, type, operation, target), {
               root = target;
               (void)out, (void)in, (void)operation;
               *(me == root ? &received : &sent) = bytes_of(number, type);
           })

#define REDUCES_TO_ALL(name, iname, code)                                                                     \
    COLLECTIVE(name, iname, code, (const void *out, void *in, COUNT number, MPI_Datatype type, MPI_Op operation), \
               (out, in, number, type, operation), {                                                          \
                   (void)out, (void)in, (void)operation;                                                      \
                   sent = received = bytes_of(number, type);                                                  \
               })
REDUCES_TO_ALL(Allreduce, Iallreduce, ALLREDUCE)
REDUCES_TO_ALL(Scan, Iscan, SCAN)
REDUCES_TO_ALL(Exscan, Iexscan, EXSCAN)
#undef REDUCES_TO_ALL

COLLECTIVE(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER,
           (const void *out, void *in, const COUNT numbers[], MPI_Datatype type, MPI_Op operation),
           (out, in, numbers, type, operation), {
               (void)out, (void)in, (void)operation;
               for (int i = 0; i < size; i++) sent += bytes_of(numbers[i], type);
               received = bytes_of(numbers[me], type);
           })

COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER_BLOCK,
           (const void *out, void *in, COUNT number, MPI_Datatype type, MPI_Op operation),
           (out, in, number, type, operation), {
               (void)out, (void)in, (void)operation;
               received = bytes_of(number, type);
               sent = received * size;
           })

COLLECTIVE(Gather, Igather, GATHER,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, COUNT in_number, MPI_Datatype in_type,
            int target),
           (out, out_number, out_type, in, in_number, in_type, target), {
               root = target;
               (void)in;
               sent = me == root && IN_PLACE(out) ? bytes_of(in_number, in_type) : bytes_of(out_number, out_type);
               if (me == root) received = bytes_of(in_number, in_type) * size;
           })

COLLECTIVE(Gatherv, Igatherv, GATHERV,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, const COUNT in_numbers[],
            const DISPLACEMENT displacements[], MPI_Datatype in_type, int target),
           (out, out_number, out_type, in, in_numbers, displacements, in_type, target), {
               root = target;
               (void)in, (void)displacements;
               sent = me == root && IN_PLACE(out) ? bytes_of(in_numbers[me], in_type) : bytes_of(out_number, out_type);
               for (int i = 0; me == root && i < size; i++) received += bytes_of(in_numbers[i], in_type);
           })

COLLECTIVE(Scatter, Iscatter, SCATTER,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, COUNT in_number, MPI_Datatype in_type,
            int origin),
           (out, out_number, out_type, in, in_number, in_type, origin), {
               root = origin;
               (void)out;
               received = me == root && IN_PLACE(in) ? bytes_of(out_number, out_type) : bytes_of(in_number, in_type);
               if (me == root) sent = bytes_of(out_number, out_type) * size;
           })

COLLECTIVE(Scatterv, Iscatterv, SCATTERV,
           (const void *out, const COUNT out_numbers[], const DISPLACEMENT displacements[], MPI_Datatype out_type,
            void *in, COUNT in_number, MPI_Datatype in_type, int origin),
           (out, out_numbers, displacements, out_type, in, in_number, in_type, origin), {
               root = origin;
               (void)out, (void)displacements;
               received = me == root && IN_PLACE(in) ? bytes_of(out_numbers[me], out_type)
                                                     : bytes_of(in_number, in_type);
               for (int i = 0; me == root && i < size; i++) sent += bytes_of(out_numbers[i], out_type);
           })

COLLECTIVE(Allgather, Iallgather, ALLGATHER,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, COUNT in_number, MPI_Datatype in_type),
           (out, out_number, out_type, in, in_number, in_type), {
               (void)in;
               sent = IN_PLACE(out) ? bytes_of(in_number, in_type) : bytes_of(out_number, out_type);
               received = bytes_of(in_number, in_type) * size;
           })

COLLECTIVE(Allgatherv, Iallgatherv, ALLGATHERV,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, const COUNT in_numbers[],
            const DISPLACEMENT displacements[], MPI_Datatype in_type),
           (out, out_number, out_type, in, in_numbers, displacements, in_type), {
               (void)in, (void)displacements;
               sent = IN_PLACE(out) ? bytes_of(in_numbers[me], in_type) : bytes_of(out_number, out_type);
               for (int i = 0; i < size; i++) received += bytes_of(in_numbers[i], in_type);
           })

/* Bytes to each other task, not in total. */
COLLECTIVE(Alltoall, Ialltoall, ALLTOALL,
           (const void *out, COUNT out_number, MPI_Datatype out_type, void *in, COUNT in_number, MPI_Datatype in_type),
           (out, out_number, out_type, in, in_number, in_type), {
               (void)in;
               received = bytes_of(in_number, in_type);
               sent = IN_PLACE(out) ? received : bytes_of(out_number, out_type);
           })

COLLECTIVE(Alltoallv, Ialltoallv, ALLTOALLV,
           (const void *out, const COUNT out_numbers[], const DISPLACEMENT out_displacements[], MPI_Datatype out_type,
            void *in, const COUNT in_numbers[], const DISPLACEMENT in_displacements[], MPI_Datatype in_type),
           (out, out_numbers, out_displacements, out_type, in, in_numbers, in_displacements, in_type), {
               (void)in, (void)out_displacements, (void)in_displacements;
               for (int i = 0; i < size; i++) {
                   received += bytes_of(in_numbers[i], in_type);
                   sent += IN_PLACE(out) ? bytes_of(in_numbers[i], in_type) : bytes_of(out_numbers[i], out_type);
               }
           })

COLLECTIVE(Alltoallw, Ialltoallw, ALLTOALLW,
           (const void *out, const COUNT out_numbers[], const DISPLACEMENT out_displacements[],
            const MPI_Datatype out_types[], void *in, const COUNT in_numbers[], const DISPLACEMENT in_displacements[],
            const MPI_Datatype in_types[]),
           (out, out_numbers, out_displacements, out_types, in, in_numbers, in_displacements, in_types), {
               (void)in, (void)out_displacements, (void)in_displacements;
               for (int i = 0; i < size; i++) {
                   received += bytes_of(in_numbers[i], in_types[i]);
                   sent += IN_PLACE(out) ? bytes_of(in_numbers[i], in_types[i]) : bytes_of(out_numbers[i], out_types[i]);
               }
           })

#undef COLLECTIVE
#undef PERSISTENT_COLLECTIVE
#undef IN_PLACE
