/* Records the MPI calls of one rank into a file that `vef/capture/raw.py` reads.
 *
 * The library is preloaded. It defines both MPI_X and PMPI_X, because Fortran bindings call either, and reaches the
 * MPI library through dlsym; calls that the MPI library makes of itself are recognised by a depth per thread.
 *
 * Records go to a file mapped into memory, one window at a time: memory is bounded, and what is recorded survives the
 * process, however it ends. Space is reserved before it is used, so a full disk is an error and not a crash.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "generated.h" /* FORMAT_VERSION, OP_*, KIND_*, HOW_*, FLAG_*, COUNTED_* and their names */

#if MPI_VERSION < 3
#error "congest capture needs an MPI of version 3 or later"
#endif

#define WINDOW (1u << 20)
#define ALIGNMENT (1u << 16) /* a multiple of every page size in use */
#define MEMBERS_PER_RECORD 14
/* Unsuccessful tests that follow each other this closely (ns) are a wait, not computation between tests. */
#define POLL_GAP 1000

struct record {
    uint64_t start, end; /* ns on this host's monotonic clock */
    int64_t bytes, bytes2;
    uint64_t skipped; /* ns inside MPI since the record before, in calls that have no record */
    int32_t peer, tag;
    uint32_t comm, request;
    uint8_t op, kind;
    uint16_t flags;
    uint32_t thread;
};
_Static_assert(sizeof(struct record) == 64, "the reader expects 64 bytes");

struct counter {
    uint64_t count;
    char name[56];
};

struct header {
    char magic[8];
    uint32_t version, first_record;
    int32_t rank, size;
    uint64_t init_ns, finalize_ns, unix_ns, records;
    int32_t error, thread_level;
    uint32_t counters, counters_at;
    int64_t pid;
    char host[256], library[256], program[512];
};

struct comm {
    MPI_Comm handle;
    uint32_t id;
    int rank, size, inter, foreign;
    int started; /* duplicates of it that were begun without blocking */
    struct comm *next;
};

struct request {
    uint64_t key;
    uint8_t persistent, active;
    struct record record; /* what a start of it records; `request` is its number while it is active */
    MPI_Comm parent, *made; /* of a communicator that is made without blocking */
    struct request *next;
};

static int active;                 /* between MPI_Init and MPI_Finalize, and there is room */
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uint32_t thread_number __attribute__((tls_model("initial-exec")));
static int threaded;
static uint32_t threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pid_t owner;

static struct header *header;
static struct counter *counters;
static int file = -1;
static char *window;
static size_t window_used;
static off_t file_size;
static uint64_t record_count, skipped, last_poll;
static char file_name[4096];

static void lock(void) {
    if (threaded) pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    if (threaded) pthread_mutex_unlock(&mutex);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *next_symbol(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "congest capture: this MPI library has no %s\n", name);
        abort();
    }
    return symbol;
}

/* The MPI library's own function, looked up once. */
#define REAL(name) REAL_(name)
#define REAL_(name)                                                  \
    (__extension__({                                                 \
        static __typeof__(&PMPI_##name) real_;                       \
        if (!real_) real_ = (__typeof__(real_))next_symbol("PMPI_" #name); \
        real_;                                                       \
    }))

/* ---- the file ---- */

static void fail(int code, const char *what) {
    active = 0;
    if (header) header->error = code;
    fprintf(stderr, "congest capture: rank %d: cannot %s %s: %s; recording stops here\n", header ? header->rank : -1,
            what, file_name, strerror(code));
}

/* Reserve room. Returns 0 or an errno; a file above the limit of the process would end it with a signal. */
static int reserve(off_t from, off_t bytes) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && (rlim_t)(from + bytes) > limit.rlim_cur)
        return EFBIG;
    return posix_fallocate(file, from, bytes);
}

/* Map the next window of the file. Returns 0, or -1 when there is no room. */
static int next_window(void) {
    int code = reserve(file_size, WINDOW);
    if (code) {
        fail(code, "extend");
        return -1;
    }
    if (window) munmap(window, WINDOW);
    window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file, file_size);
    if (window == MAP_FAILED) {
        window = NULL;
        fail(errno, "map");
        return -1;
    }
    file_size += WINDOW;
    window_used = 0;
    return 0;
}

static void make_folders(const char *path) {
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(part, 0777);
            *at = '/';
        }
    mkdir(part, 0777);
}

static void open_file(const char *folder, int rank, int size) {
    size_t bytes = sizeof(struct header) + COUNTED_NUMBER * sizeof(struct counter);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    make_folders(folder);
    snprintf(file_name, sizeof file_name, "%s/%d." FILE_SUFFIX, folder, rank);
    file = open(file_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int code = file < 0 ? errno : reserve(0, (off_t)bytes);
    void *map = MAP_FAILED;
    if (!code) {
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) code = errno;
    }
    if (code) {
        fprintf(stderr, "congest capture: rank %d: cannot create %s: %s; this rank is not recorded\n", rank, file_name,
                strerror(code));
        if (file >= 0) {
            /* Room for the reason is asked for without reserving: an empty file says as much. */
            (void)!ftruncate(file, 0);
            close(file);
            file = -1;
        }
        return;
    }
    header = map;
    counters = (struct counter *)((char *)map + sizeof(struct header));
    memcpy(header->magic, FILE_MAGIC, 8);
    header->version = FORMAT_VERSION;
    header->first_record = (uint32_t)bytes;
    header->rank = rank;
    header->size = size;
    header->counters = COUNTED_NUMBER;
    header->counters_at = sizeof(struct header);
    header->pid = owner = getpid();
    gethostname(header->host, sizeof header->host - 1);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    PMPI_Get_library_version(library, &length);
    snprintf(header->library, sizeof header->library, "%.255s", library);
    ssize_t got = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    if (got < 0) header->program[0] = 0;
    for (int i = 0; i < COUNTED_NUMBER; i++) snprintf(counters[i].name, sizeof counters[i].name, "%s", counted_names[i]);
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    header->unix_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    file_size = (off_t)bytes;
    if (!next_window()) active = 1;
}

/* Give back what was reserved and not used. A process forked from this one leaves the file alone. */
static void close_file(void) {
    active = 0;
    if (file < 0 || getpid() != owner) return;
    if (header) header->records = record_count;
    off_t used = file_size - (window ? (off_t)(WINDOW - window_used) : 0);
    if (window) munmap(window, WINDOW);
    window = NULL;
    (void)!ftruncate(file, used);
    close(file);
    file = -1;
}

__attribute__((destructor)) static void at_exit(void) { close_file(); }

static void count_call(int which) {
    if (counters) __atomic_add_fetch(&counters[which].count, 1, __ATOMIC_RELAXED);
}

/* Write a record; `end` is taken here when it is 0, so that the time to record is not taken for computation. */
static void append(struct record *record) {
    if (!active) return;
    if (window_used == WINDOW && next_window()) return;
    struct record *target = (struct record *)(window + window_used);
    if (!thread_number) thread_number = ++threads;
    record->thread = thread_number - 1;
    record->skipped = skipped;
    skipped = last_poll = 0;
    uint8_t op = record->op;
    record->op = 0;
    *target = *record;
    /* The next record's memory is fetched while the program goes on. */
    __builtin_prefetch(target + 1, 1);
    if (!record->end) target->end = now();
    /* A record without op is none: a process that is killed here leaves no half record. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    target->op = op;
    window_used += sizeof *target;
    record_count++;
}

/* Time inside MPI in a call that leaves no record. */
static void skip(uint64_t start) {
    uint64_t end = now();
    skipped += end - start;
}

/* The same for an unsuccessful test or probe: what lies between two of them is waiting too, if it is short. */
static void poll_gap(uint64_t start) {
    if (last_poll && start - last_poll < POLL_GAP) skipped += start - last_poll;
}

static void skip_poll(uint64_t start) {
    poll_gap(start);
    last_poll = now();
    skipped += last_poll - start;
}

/* ---- communicators ---- */

#define BUCKETS 1024
static struct comm *comm_table[BUCKETS], *last_comm;
static uint32_t comm_number;
static MPI_Group world_group;

static unsigned hash(uint64_t key) { return (unsigned)(key * 0x9E3779B97F4A7C15u >> 54); }

static uint64_t comm_key(MPI_Comm handle) { return (uint64_t)(uintptr_t)handle; }

static uint64_t request_key(MPI_Request handle) { return (uint64_t)(uintptr_t)handle; }

static void append_members(const int *world, int number) {
    for (int from = 0; from < number; from += MEMBERS_PER_RECORD) {
        struct record record = {.op = OP_MEMBERS};
        int n = number - from < MEMBERS_PER_RECORD ? number - from : MEMBERS_PER_RECORD;
        union {
            struct record record;
            int32_t world[16];
        } view = {.record = record};
        if (!active || (window_used == WINDOW && next_window())) return;
        for (int i = 0; i < n; i++) view.world[i] = world[from + i];
        view.record.kind = (uint8_t)n;
        *(struct record *)(window + window_used) = view.record;
        window_used += sizeof record;
        record_count++;
    }
}

/* World ranks of a group, appended as records. Returns whether all are in MPI_COMM_WORLD. */
static int *world_ranks(MPI_Group group, int *number, int *foreign) {
    PMPI_Group_size(group, number);
    int *ranks = malloc(2 * sizeof(int) * (size_t)(*number + 1));
    int *world = ranks + *number;
    for (int i = 0; i < *number; i++) ranks[i] = i;
    PMPI_Group_translate_ranks(group, *number, ranks, world_group, world);
    for (int i = 0; i < *number; i++) {
        if (world[i] == MPI_UNDEFINED) *foreign = 1;
        ranks[i] = world[i];
    }
    return ranks;
}

/* Give a communicator a number and write who is in it. Not while the lock is needed by others for long: it is local. */
static struct comm *add_comm(MPI_Comm handle, int how, uint32_t parent, int serial, uint64_t start) {
    struct comm *comm = calloc(1, sizeof *comm);
    comm->handle = handle;
    comm->id = comm_number++;
    PMPI_Comm_rank(handle, &comm->rank);
    PMPI_Comm_size(handle, &comm->size);
    PMPI_Comm_test_inter(handle, &comm->inter);
    MPI_Group group;
    int number = 0, remote_number = 0, *remote = NULL;
    PMPI_Comm_group(handle, &group);
    int *world = world_ranks(group, &number, &comm->foreign);
    PMPI_Group_free(&group);
    if (comm->inter) {
        PMPI_Comm_remote_group(handle, &group);
        remote = world_ranks(group, &remote_number, &comm->foreign);
        PMPI_Group_free(&group);
    }
    struct record record = {.op = OP_COMM, .kind = (uint8_t)how, .comm = comm->id, .request = parent, .start = start,
                            .end = start ? 0 : 1, .bytes = number, .bytes2 = remote_number, .tag = serial,
                            .flags = comm->foreign ? FLAG_FOREIGN : 0};
    append(&record);
    append_members(world, number);
    append_members(remote, remote_number);
    free(world);
    free(remote);
    unsigned bucket = hash(comm_key(handle));
    comm->next = comm_table[bucket];
    comm_table[bucket] = comm;
    return comm;
}

static struct comm *find_comm(MPI_Comm handle) {
    if (last_comm && last_comm->handle == handle) return last_comm;
    struct comm *comm = comm_table[hash(comm_key(handle))];
    while (comm && comm->handle != handle) comm = comm->next;
    if (!comm) comm = add_comm(handle, HOW_FOUND, NO_PARENT, 0, 0);
    return last_comm = comm;
}

static void drop_comm(MPI_Comm handle) {
    struct comm **at = &comm_table[hash(comm_key(handle))];
    while (*at && (*at)->handle != handle) at = &(*at)->next;
    if (!*at) return;
    struct comm *gone = *at;
    *at = gone->next;
    last_comm = NULL;
    free(gone);
}

static void made_comm(MPI_Comm handle, int how, MPI_Comm parent, uint64_t start) {
    lock();
    if (handle == MPI_COMM_NULL)
        skip(start);
    else
        add_comm(handle, how, parent == MPI_COMM_NULL ? NO_PARENT : find_comm(parent)->id, 0, start);
    unlock();
}

/* ---- requests ---- */

static struct request *request_table[BUCKETS], *free_requests;
static uint32_t request_number;

/* Requests of MPICH that are complete at once share a handle; the oldest is then found first. */
static struct request *add_request(uint64_t key, const struct record *record) {
    struct request *request = free_requests;
    if (request)
        free_requests = request->next;
    else
        request = malloc(sizeof *request);
    *request = (struct request){.key = key, .record = *record};
    struct request **at = &request_table[hash(key)];
    while (*at) at = &(*at)->next;
    return *at = request;
}

static struct request *find_request(uint64_t key) {
    struct request *request = request_table[hash(key)];
    while (request && request->key != key) request = request->next;
    return request;
}

static void drop_request(struct request *request) {
    struct request **at = &request_table[hash(request->key)];
    while (*at && *at != request) at = &(*at)->next;
    if (*at) *at = request->next;
    request->next = free_requests;
    free_requests = request;
}

static void record_start(struct request *request, uint64_t start) {
    request->record.request = ++request_number;
    request->active = 1;
    struct record record = request->record;
    record.start = start;
    record.end = 0;
    append(&record);
}

static int64_t received_bytes(const MPI_Status *status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x((MPI_Status *)status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : (int64_t)bytes;
}

/* A request that a wait or test has completed. Returns whether something was recorded that the task waited for. */
static int complete(uint64_t key, const MPI_Status *status) {
    struct request *request = find_request(key);
    if (!request || (request->persistent && !request->active)) return 0;
    int op = request->record.op, waited = 0;
    if (op == OP_POST || op == OP_COLLECTIVE) {
        struct record record = {.op = OP_DONE, .request = request->record.request, .comm = request->record.comm,
                                .end = 1};
        if (op == OP_POST) {
            int cancelled = 0;
            PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
            if (cancelled) {
                record.flags = FLAG_CANCELLED;
            } else {
                record.peer = status->MPI_SOURCE;
                record.tag = status->MPI_TAG;
                record.bytes = received_bytes(status);
            }
        }
        append(&record);
        waited = 1;
    } else if (op == OP_COMM) {
        if (*request->made != MPI_COMM_NULL)
            add_comm(*request->made, request->record.kind, find_comm(request->parent)->id, request->record.tag,
                     now());
    }
    if (request->persistent)
        request->active = 0;
    else
        drop_request(request);
    return waited;
}

static void record_wait(uint64_t start, int waited, int kind) {
    if (waited) {
        struct record record = {.op = OP_WAIT, .kind = (uint8_t)kind, .start = start};
        append(&record);
    } else {
        skip(start);
    }
}

/* ---- sizes ---- */

static int64_t bytes_of(MPI_Count number, MPI_Datatype type) {
    MPI_Count size = 0;
    if (number <= 0) return 0;
    PMPI_Type_size_x(type, &size);
    return (int64_t)number * (int64_t)size;
}

/* ---- wrappers ---- */

#define UNPACK(...) __VA_ARGS__
/* Both names of a function; the body sees its arguments. */
#define DEFINE(name, params, ...) DEFINE_(name, params, __VA_ARGS__)
#define DEFINE_(name, params, ...)                                   \
    int MPI_##name params __VA_ARGS__ int PMPI_##name params __attribute__((alias("MPI_" #name)));
#define PASSING (!active || inside)
#define CALL(result, call)  \
    uint64_t start = now(); \
    inside = 1;             \
    int result = call;      \
    inside = 0

#ifdef OPEN_MPI
#define FAMILY "Open MPI"
#else
#define FAMILY "MPICH or one like it"
#endif

/* Handles of another MPI are of other types, so that not even passing them on would work. */
static void stop_if_other_mpi(void) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 8192]; /* the other's may be longer */
    int length = 0;
    PMPI_Get_library_version(library, &length);
    int open_mpi = !strncmp(library, "Open MPI", 8);
#ifdef OPEN_MPI
    if (open_mpi) return;
#else
    if (!open_mpi) return;
#endif
    library[strcspn(library, ",:\n\t")] = 0;
    fprintf(stderr,
            "congest capture: this program uses %s, but was started for " FAMILY "; start it with the mpirun of its "
            "MPI, or name the compiler of its MPI with --mpicc\n",
            library);
    _exit(2);
}

static void begin(int level) {
    const char *folder = getenv("CONGEST_CAPTURE_DIR");
    int rank, size;
    if (!folder || !*folder || file >= 0) return;
    stop_if_other_mpi();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    open_file(folder, rank, size);
    if (!active) return;
    header->thread_level = level == MPI_THREAD_MULTIPLE ? 3 : level == MPI_THREAD_SERIALIZED ? 2 : 0;
    threaded = level == MPI_THREAD_MULTIPLE;
    add_comm(MPI_COMM_WORLD, HOW_WORLD, NO_PARENT, 0, 0);
    add_comm(MPI_COMM_SELF, HOW_SELF, NO_PARENT, 0, 0);
    header->init_ns = now();
}

DEFINE(Init, (int *argc, char ***argv), {
    inside++;
    int result = REAL(Init)(argc, argv);
    inside--;
    int level = 0;
    if (!result && !inside && !PMPI_Query_thread(&level)) begin(level);
    return result;
})

DEFINE(Init_thread, (int *argc, char ***argv, int required, int *provided), {
    inside++;
    int result = REAL(Init_thread)(argc, argv, required, provided);
    inside--;
    if (!result && !inside) begin(*provided);
    return result;
})

DEFINE(Finalize, (void), {
    if (active && !inside) {
        struct record record = {.op = OP_FINALIZE, .start = now()};
        lock();
        append(&record);
        header->finalize_ns = record.start;
        close_file();
        unlock();
    }
    inside++;
    int result = REAL(Finalize)();
    inside--;
    return result;
})

DEFINE(Abort, (MPI_Comm comm, int code), {
    if (active && !inside) {
        struct record record = {.op = OP_ABORT, .start = now(), .tag = code};
        lock();
        append(&record);
        close_file();
        unlock();
    }
    return REAL(Abort)(comm, code);
})

/* ---- waits and tests ---- */

#define FEW 64

/* Handles before the call, because the call clears them; own statuses where the program ignores them. */
#define SNAPSHOT(number, requests)                                                       \
    uint64_t few_keys_[FEW], *keys = few_keys_;                                          \
    MPI_Status few_statuses_[FEW], *own = few_statuses_;                                 \
    if ((number) > FEW) {                                                                \
        keys = malloc(sizeof *keys * (size_t)(number));                                  \
        own = malloc(sizeof *own * (size_t)(number));                                    \
    }                                                                                    \
    for (int i = 0; i < (number); i++) keys[i] = request_key((requests)[i])
#define FORGET(number)        \
    if ((number) > FEW) {     \
        free(keys);           \
        free(own);            \
    }

DEFINE(Wait, (MPI_Request * request, MPI_Status *status), {
    if (PASSING) return REAL(Wait)(request, status);
    uint64_t key = request_key(*request);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Wait)(request, used));
    lock();
    record_wait(start, !result && complete(key, used), WAIT_WAIT);
    unlock();
    return result;
})

DEFINE(Test, (MPI_Request * request, int *flag, MPI_Status *status), {
    if (PASSING) return REAL(Test)(request, flag, status);
    uint64_t key = request_key(*request);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Test)(request, flag, used));
    lock();
    if (!result && *flag) {
        poll_gap(start);
        record_wait(start, complete(key, used), WAIT_TEST);
    } else {
        skip_poll(start);
    }
    unlock();
    return result;
})

DEFINE(Waitall, (int number, MPI_Request requests[], MPI_Status statuses[]), {
    if (PASSING) return REAL(Waitall)(number, requests, statuses);
    SNAPSHOT(number, requests);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? own : statuses;
    int waited = 0;
    CALL(result, REAL(Waitall)(number, requests, used));
    lock();
    for (int i = 0; i < number; i++)
        if (!result || (result == MPI_ERR_IN_STATUS && !used[i].MPI_ERROR)) waited |= complete(keys[i], &used[i]);
    record_wait(start, waited, WAIT_WAIT);
    unlock();
    FORGET(number);
    return result;
})

DEFINE(Testall, (int number, MPI_Request requests[], int *flag, MPI_Status statuses[]), {
    if (PASSING) return REAL(Testall)(number, requests, flag, statuses);
    SNAPSHOT(number, requests);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? own : statuses;
    int waited = 0;
    CALL(result, REAL(Testall)(number, requests, flag, used));
    lock();
    if (!result && *flag) {
        poll_gap(start);
        for (int i = 0; i < number; i++) waited |= complete(keys[i], &used[i]);
        record_wait(start, waited, WAIT_TEST);
    } else {
        skip_poll(start);
    }
    unlock();
    FORGET(number);
    return result;
})

DEFINE(Waitany, (int number, MPI_Request requests[], int *index, MPI_Status *status), {
    if (PASSING) return REAL(Waitany)(number, requests, index, status);
    SNAPSHOT(number, requests);
    MPI_Status one;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &one : status;
    CALL(result, REAL(Waitany)(number, requests, index, used));
    lock();
    record_wait(start, !result && *index != MPI_UNDEFINED && complete(keys[*index], used), WAIT_WAIT);
    unlock();
    FORGET(number);
    return result;
})

DEFINE(Testany, (int number, MPI_Request requests[], int *index, int *flag, MPI_Status *status), {
    if (PASSING) return REAL(Testany)(number, requests, index, flag, status);
    SNAPSHOT(number, requests);
    MPI_Status one;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &one : status;
    CALL(result, REAL(Testany)(number, requests, index, flag, used));
    lock();
    if (!result && *flag && *index != MPI_UNDEFINED) {
        poll_gap(start);
        record_wait(start, complete(keys[*index], used), WAIT_TEST);
    } else {
        skip_poll(start);
    }
    unlock();
    FORGET(number);
    return result;
})

#define SOME(name, which, is_poll)                                                                                 \
    DEFINE(name, (int number, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]), {          \
        if (PASSING) return REAL(name)(number, requests, done, indices, statuses);                                 \
        SNAPSHOT(number, requests);                                                                                \
        MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? own : statuses;                                       \
        int waited = 0;                                                                                            \
        CALL(result, REAL(name)(number, requests, done, indices, used));                                           \
        lock();                                                                                                    \
        if (!result && *done != MPI_UNDEFINED && *done > 0) {                                                      \
            if (is_poll) poll_gap(start);                                                                          \
            for (int i = 0; i < *done; i++) waited |= complete(keys[indices[i]], &used[i]);                        \
            record_wait(start, waited, which);                                                                     \
        } else if (is_poll) {                                                                                      \
            skip_poll(start);                                                                                      \
        } else {                                                                                                   \
            skip(start);                                                                                           \
        }                                                                                                          \
        unlock();                                                                                                  \
        FORGET(number);                                                                                            \
        return result;                                                                                             \
    })
SOME(Waitsome, WAIT_WAIT, 0)
SOME(Testsome, WAIT_TEST, 1)

DEFINE(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), {
    if (PASSING) return REAL(Request_get_status)(request, flag, status);
    CALL(result, REAL(Request_get_status)(request, flag, status));
    lock();
    skip_poll(start);
    unlock();
    return result;
})

DEFINE(Request_free, (MPI_Request * request), {
    if (PASSING) return REAL(Request_free)(request);
    uint64_t key = request_key(*request);
    CALL(result, REAL(Request_free)(request));
    lock();
    struct request *known = find_request(key);
    if (known) drop_request(known);
    skip(start);
    unlock();
    return result;
})

DEFINE(Start, (MPI_Request * request), {
    if (PASSING) return REAL(Start)(request);
    CALL(result, REAL(Start)(request));
    lock();
    struct request *known = find_request(request_key(*request));
    if (!result && known)
        record_start(known, start);
    else
        skip(start);
    unlock();
    return result;
})

DEFINE(Startall, (int number, MPI_Request requests[]), {
    if (PASSING) return REAL(Startall)(number, requests);
    CALL(result, REAL(Startall)(number, requests));
    lock();
    uint64_t from = start;
    int known_any = 0;
    for (int i = 0; i < number && !result; i++) {
        struct request *known = find_request(request_key(requests[i]));
        if (!known) continue;
        record_start(known, from);
        from = now();
        known_any = 1;
    }
    if (!known_any) skip(start);
    unlock();
    return result;
})

/* ---- probes ---- */

static void record_probe(uint64_t start, MPI_Comm comm, const MPI_Status *status, int kind) {
    struct comm *known = find_comm(comm);
    if (status->MPI_SOURCE == MPI_PROC_NULL || known->foreign) {
        skip(start);
        return;
    }
    struct record record = {.op = OP_PROBE, .kind = (uint8_t)kind, .start = start, .comm = known->id,
                            .peer = status->MPI_SOURCE, .tag = status->MPI_TAG};
    append(&record);
}

DEFINE(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), {
    if (PASSING) return REAL(Probe)(source, tag, comm, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Probe)(source, tag, comm, used));
    lock();
    if (!result) record_probe(start, comm, used, WAIT_WAIT);
    unlock();
    return result;
})

DEFINE(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), {
    if (PASSING) return REAL(Iprobe)(source, tag, comm, flag, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Iprobe)(source, tag, comm, flag, used));
    lock();
    if (!result && *flag) {
        poll_gap(start);
        record_probe(start, comm, used, WAIT_TEST);
    } else {
        skip_poll(start);
    }
    unlock();
    return result;
})

/* A matched probe takes the message out of the queue: it is where the receive is posted. */
static void record_matched(uint64_t start, MPI_Comm comm, MPI_Message message, const MPI_Status *status, int kind) {
    struct comm *known = find_comm(comm);
    if (status->MPI_SOURCE == MPI_PROC_NULL || known->foreign) {
        skip(start);
        return;
    }
    struct record record = {.op = OP_MATCHED, .kind = (uint8_t)kind, .start = start, .comm = known->id,
                            .peer = status->MPI_SOURCE, .tag = status->MPI_TAG, .bytes = received_bytes(status),
                            .request = ++request_number};
    append(&record);
    record.op = OP_POST;
    add_request(~(uint64_t)(uintptr_t)message, &record);
}

DEFINE(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status), {
    if (PASSING) return REAL(Mprobe)(source, tag, comm, message, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Mprobe)(source, tag, comm, message, used));
    lock();
    if (!result) record_matched(start, comm, *message, used, WAIT_WAIT);
    unlock();
    return result;
})

DEFINE(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status), {
    if (PASSING) return REAL(Improbe)(source, tag, comm, flag, message, status);
    MPI_Status own;
    MPI_Status *used = status == MPI_STATUS_IGNORE ? &own : status;
    CALL(result, REAL(Improbe)(source, tag, comm, flag, message, used));
    lock();
    if (!result && *flag) {
        poll_gap(start);
        record_matched(start, comm, *message, used, WAIT_TEST);
    } else {
        skip_poll(start);
    }
    unlock();
    return result;
})

/* ---- communicators ---- */

#define MAKES_COMM(name, how, parent, made, params, args)        \
    DEFINE(name, params, {                                       \
        if (PASSING) return REAL(name) args;                     \
        CALL(result, REAL(name) args);                           \
        if (!result) made_comm(*made, HOW_##how, parent, start); \
        return result;                                           \
    })

MAKES_COMM(Comm_dup, DUP, comm, made, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES_COMM(Comm_dup_with_info, DUP, comm, made, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES_COMM(Comm_create, CREATE, comm, made, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES_COMM(Comm_create_group, CREATE_GROUP, comm, made, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
           (comm, group, tag, made))
MAKES_COMM(Comm_split, SPLIT, comm, made, (MPI_Comm comm, int color, int key, MPI_Comm *made),
           (comm, color, key, made))
MAKES_COMM(Comm_split_type, SPLIT_TYPE, comm, made,
           (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), (comm, type, key, info, made))
MAKES_COMM(Cart_create, CART, comm, made,
           (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder, MPI_Comm *made),
           (comm, dimensions, sizes, periods, reorder, made))
MAKES_COMM(Cart_sub, CART_SUB, comm, made, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made))
MAKES_COMM(Graph_create, GRAPH, comm, made,
           (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
           (comm, nodes, index, edges, reorder, made))
MAKES_COMM(Dist_graph_create, DIST_GRAPH, comm, made,
           (MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[], const int weights[],
            MPI_Info info, int reorder, MPI_Comm *made),
           (comm, n, nodes, degrees, targets, weights, info, reorder, made))
MAKES_COMM(Dist_graph_create_adjacent, DIST_GRAPH, comm, made,
           (MPI_Comm comm, int in, const int sources[], const int source_weights[], int out, const int targets[],
            const int target_weights[], MPI_Info info, int reorder, MPI_Comm *made),
           (comm, in, sources, source_weights, out, targets, target_weights, info, reorder, made))
MAKES_COMM(Intercomm_create, INTERCOMM, local, made,
           (MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made),
           (local, leader, peer, remote_leader, tag, made))
MAKES_COMM(Intercomm_merge, MERGE, comm, made, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))
#if MPI_VERSION >= 4
MAKES_COMM(Comm_create_from_group, FROM_GROUP, MPI_COMM_NULL, made,
           (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
           (group, tag, info, handler, made))
#endif

static void record_idup(uint64_t start, MPI_Comm comm, MPI_Comm *made, MPI_Request handle) {
    lock();
    /* They may be completed in any order; the order of the calls is the same for all members. */
    struct record record = {.op = OP_COMM, .kind = HOW_IDUP, .tag = find_comm(comm)->started++};
    struct request *request = add_request(request_key(handle), &record);
    request->parent = comm;
    request->made = made;
    skip(start);
    unlock();
}

DEFINE(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), {
    if (PASSING) return REAL(Comm_idup)(comm, made, request);
    CALL(result, REAL(Comm_idup)(comm, made, request));
    if (!result) record_idup(start, comm, made, *request);
    return result;
})

#if MPI_VERSION >= 4
DEFINE(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request), {
    if (PASSING) return REAL(Comm_idup_with_info)(comm, info, made, request);
    CALL(result, REAL(Comm_idup_with_info)(comm, info, made, request));
    if (!result) record_idup(start, comm, made, *request);
    return result;
})
#endif

#define FREES_COMM(name)                      \
    DEFINE(name, (MPI_Comm * comm), {         \
        if (PASSING) return REAL(name)(comm); \
        MPI_Comm handle = *comm;              \
        lock();                               \
        drop_comm(handle);                    \
        unlock();                             \
        CALL(result, REAL(name)(comm));       \
        lock();                               \
        skip(start);                          \
        unlock();                             \
        return result;                        \
    })
FREES_COMM(Comm_free)
FREES_COMM(Comm_disconnect)

/* ---- what the calls with counts record ---- */

/* Whether a message of this communicator is recorded: not to nobody, and only between tasks of MPI_COMM_WORLD. */
static struct comm *between_tasks(MPI_Comm comm, int peer) {
    if (peer == MPI_PROC_NULL) return NULL;
    struct comm *known = find_comm(comm);
    if (!known->foreign) return known;
    count_call(COUNTED_FOREIGN);
    return NULL;
}

static void append_send(uint64_t start, int64_t bytes, int peer, int tag, struct comm *comm, int flags) {
    struct record record = {.op = OP_SEND, .start = start, .bytes = bytes, .peer = peer, .tag = tag, .comm = comm->id,
                            .flags = (uint16_t)flags};
    append(&record);
}

static void record_send(uint64_t start, int result, int64_t bytes, int peer, int tag, MPI_Comm comm, int flags) {
    lock();
    struct comm *known = result ? NULL : between_tasks(comm, peer);
    if (known)
        append_send(start, bytes, peer, tag, known, flags);
    else
        skip(start);
    unlock();
}

static void record_receive(uint64_t start, int result, MPI_Comm comm, const MPI_Status *status, int flags) {
    struct comm *known = result ? NULL : between_tasks(comm, status->MPI_SOURCE);
    if (!known) {
        skip(start);
        return;
    }
    struct record record = {.op = OP_RECEIVE, .start = start, .bytes = received_bytes(status),
                            .peer = status->MPI_SOURCE, .tag = status->MPI_TAG, .comm = known->id,
                            .flags = (uint16_t)flags};
    append(&record);
}

/* Wildcards have other values in other MPIs. */
static int open_peer(int peer) { return peer == MPI_ANY_SOURCE ? ANY : peer; }

static int open_tag(int tag) { return tag == MPI_ANY_TAG ? ANY : tag; }

static void record_post(uint64_t start, int result, int64_t bytes, int peer, int tag, MPI_Comm comm,
                        MPI_Request handle) {
    struct comm *known = result ? NULL : between_tasks(comm, peer);
    if (!known) {
        skip(start);
        return;
    }
    struct record record = {.op = OP_POST, .bytes = bytes, .peer = open_peer(peer), .tag = open_tag(tag),
                            .comm = known->id, .flags = FLAG_NONBLOCKING};
    record_start(add_request(request_key(handle), &record), start);
}

static void record_both(uint64_t start, int result, int64_t bytes, int to, int tag, MPI_Comm comm,
                        const MPI_Status *status) {
    lock();
    struct comm *known = result ? NULL : between_tasks(comm, to);
    if (known) {
        struct record record = {.op = OP_SEND, .start = start, .end = start, .bytes = bytes, .peer = to, .tag = tag,
                                .comm = known->id, .flags = FLAG_SENDRECV};
        append(&record);
    }
    record_receive(start, result, comm, status, FLAG_SENDRECV);
    unlock();
}

#if MPI_VERSION >= 4
static void record_both_started(uint64_t start, int result, int64_t bytes, int to, int tag, int64_t in_bytes, int from,
                                int in_tag, MPI_Comm comm, MPI_Request handle) {
    record_send(start, result, bytes, to, tag, comm, FLAG_NONBLOCKING | FLAG_SENDRECV);
    lock();
    record_post(now(), result, in_bytes, from, in_tag, comm, handle);
    unlock();
}
#endif

static void prepare(uint64_t start, int result, int op, int64_t bytes, int peer, int tag, MPI_Comm comm, int flags,
                    MPI_Request handle) {
    lock();
    struct comm *known = result ? NULL : between_tasks(comm, peer);
    if (known) {
        struct record record = {.op = (uint8_t)op, .bytes = bytes, .peer = open_peer(peer), .tag = open_tag(tag),
                                .comm = known->id,
                                .flags = (uint16_t)flags};
        add_request(request_key(handle), &record)->persistent = 1;
    }
    skip(start);
    unlock();
}

/* Whether the members of a collective are one group of tasks of MPI_COMM_WORLD. */
static int within_tasks(MPI_Comm comm) {
    struct comm *known = find_comm(comm);
    if (known->foreign) count_call(COUNTED_FOREIGN);
    if (known->inter && !known->foreign) count_call(COUNTED_INTER);
    return !known->foreign && !known->inter;
}

static void record_collective(uint64_t start, int result, MPI_Comm comm, struct record *record, MPI_Request *handle) {
    if (result || !within_tasks(comm)) {
        skip(start);
        return;
    }
    if (handle) {
        record->flags = FLAG_NONBLOCKING;
        record_start(add_request(request_key(*handle), record), start);
    } else {
        record->start = start;
        append(record);
    }
}

#if MPI_VERSION >= 4
static void prepare_collective(uint64_t start, int result, MPI_Comm comm, struct record *record, MPI_Request handle) {
    if (!result && within_tasks(comm)) {
        record->flags = FLAG_NONBLOCKING | FLAG_PERSISTENT;
        add_request(request_key(handle), record)->persistent = 1;
    }
    skip(start);
}
#endif

/* Barriers have no counts. */
DEFINE(Barrier, (MPI_Comm comm), {
    if (PASSING) return REAL(Barrier)(comm);
    CALL(result, REAL(Barrier)(comm));
    lock();
    struct record record = {.op = OP_COLLECTIVE, .kind = KIND_BARRIER, .peer = -1, .comm = find_comm(comm)->id};
    record_collective(start, result, comm, &record, NULL);
    unlock();
    return result;
})

DEFINE(Ibarrier, (MPI_Comm comm, MPI_Request *request), {
    if (PASSING) return REAL(Ibarrier)(comm, request);
    CALL(result, REAL(Ibarrier)(comm, request));
    lock();
    struct record record = {.op = OP_COLLECTIVE, .kind = KIND_BARRIER, .peer = -1, .comm = find_comm(comm)->id};
    record_collective(start, result, comm, &record, request);
    unlock();
    return result;
})

#if MPI_VERSION >= 4
DEFINE(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request *request), {
    if (PASSING) return REAL(Barrier_init)(comm, info, request);
    CALL(result, REAL(Barrier_init)(comm, info, request));
    lock();
    struct record record = {.op = OP_COLLECTIVE, .kind = KIND_BARRIER, .peer = -1, .comm = find_comm(comm)->id};
    prepare_collective(start, result, comm, &record, *request);
    unlock();
    return result;
})
#endif

/* ---- calls with counts: once with int, once with MPI_Count ---- */

#define COUNT int
#define DISPLACEMENT int
#define SUFFIXED(name) name
#include "counts.h"
#undef COUNT
#undef DISPLACEMENT
#undef SUFFIXED

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define SUFFIXED(name) name##_c
#include "counts.h"
#endif

/* ---- calls that are only counted ---- */

#define COUNTED(name, number, params, args)  \
    DEFINE(name, params, {                   \
        if (PASSING) return REAL(name) args; \
        count_call(number);                  \
        CALL(result, REAL(name) args);       \
        lock();                              \
        skip(start);                         \
        unlock();                            \
        return result;                       \
    })
#include "counted.h"
