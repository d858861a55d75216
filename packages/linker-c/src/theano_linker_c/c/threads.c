/* A small persistent thread pool.
 *
 * Work is a range of units that threads take in chunks from one atomic counter, so that a core that another process
 * holds delays only the chunk that runs there. Waiting is passive, on condition variables, but for short moments: to be
 * woken up takes as long as a small job. A worker looks for the next job for PATIENCE where the one before came that
 * soon, and who posted a job looks that long for its end. One job runs at a time: a second caller (another Python
 * thread) runs its own work alone instead of waiting. After a fork the child starts with no threads and makes new ones
 * when it needs them.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 256
#define PATIENCE 100000 /* nanoseconds */

typedef struct {
    range_fn fn;
    void *context;
    int64_t end, grain;
    atomic_llong next;
} Job;

static pthread_mutex_t one_job = PTHREAD_MUTEX_INITIALIZER; /* held by the thread whose job the pool runs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* guards what follows */
static pthread_cond_t job_posted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_left = PTHREAD_COND_INITIALIZER;
static Job job;
static atomic_ulong job_number;
static int seats;          /* workers that may still join the current job */
static atomic_int working; /* workers inside the current job */
static int started;
static atomic_int wanted; /* 0: not decided yet */

double work_for_threads = 300000.0;
int fork_era;

static int default_count(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    if (text != NULL) {
        long count = strtol(text, NULL, 10);
        if (count >= 1)
            return count > MOST_THREADS ? MOST_THREADS : (int)count;
    }
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int count = CPU_COUNT(&set);
        return count > MOST_THREADS ? MOST_THREADS : count;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > MOST_THREADS ? MOST_THREADS : (int)online;
}

int threads_get(void) {
    if (wanted == 0)
        wanted = default_count();
    return wanted;
}

void threads_set(int count) { wanted = count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count; }

int threads_started(void) { return started; }

static void work_on(Job *j) {
    for (;;) {
        int64_t begin = atomic_fetch_add(&j->next, j->grain);
        if (begin >= j->end)
            return;
        int64_t end = begin + j->grain;
        j->fn(j->context, begin, end < j->end ? end : j->end);
    }
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void) {
    for (int k = 0; k < 16; k++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#else
        sched_yield();
#endif
    }
}

/* Wait for a job after `seen` that has a seat. Called, and left, with `lock` held; `soon`: whether to look out for
 * it. */
static unsigned long await_job(unsigned long seen, int soon) {
    if (soon && job_number == seen) {
        pthread_mutex_unlock(&lock);
        for (int64_t end = now() + PATIENCE; atomic_load(&job_number) == seen && now() < end;)
            relax();
        pthread_mutex_lock(&lock);
    }
    while (job_number == seen || seats == 0) {
        seen = job_number;
        pthread_cond_wait(&job_posted, &lock);
    }
    return job_number;
}

static void *worker(void *unused) {
    (void)unused;
    unsigned long seen = 0;
    int soon = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        int64_t begin = now();
        seen = await_job(seen, soon);
        soon = now() - begin < PATIENCE;
        seats--;
        working++;
        pthread_mutex_unlock(&lock);
        work_on(&job);
        pthread_mutex_lock(&lock);
        if (--working == 0)
            pthread_cond_signal(&job_left);
    }
    return NULL;
}

/* Wait until no worker is in the job, and let none join it any more. */
static void await_workers(void) {
    pthread_mutex_lock(&lock);
    seats = 0; /* who has not woken up yet need not come */
    if (working > 0) {
        pthread_mutex_unlock(&lock);
        for (int64_t end = now() + PATIENCE; atomic_load(&working) > 0 && now() < end;)
            relax();
        pthread_mutex_lock(&lock);
    }
    while (working > 0)
        pthread_cond_wait(&job_left, &lock);
    pthread_mutex_unlock(&lock);
}

/* Called with `lock` held. Threads that cannot be started are done without. */
static void start_workers(int count) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (started >= count || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* signals belong to the interpreter's main thread */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (started < count) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, worker, NULL) != 0)
            break;
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Run `fn` over begin..end in chunks of `grain`, on as many threads as are wanted and useful. */
void threads_run(range_fn fn, void *context, int64_t begin, int64_t end, int64_t grain) {
    int helpers = threads_get() - 1;
    int64_t chunks = (end - begin + grain - 1) / grain;
    if (helpers > chunks - 1)
        helpers = (int)(chunks - 1);
    if (helpers <= 0 || pthread_mutex_trylock(&one_job) != 0) {
        fn(context, begin, end);
        return;
    }
    pthread_mutex_lock(&lock);
    start_workers(helpers);
    job.fn = fn;
    job.context = context;
    job.end = end;
    job.grain = grain;
    atomic_store(&job.next, begin);
    job_number++;
    seats = helpers < started ? helpers : started;
    if (seats == 1)
        pthread_cond_signal(&job_posted);
    else if (seats > 1)
        pthread_cond_broadcast(&job_posted);
    pthread_mutex_unlock(&lock);
    work_on(&job);
    await_workers();
    pthread_mutex_unlock(&one_job);
}

/* Work that is long enough to let the GIL go, `work` cycles in all, with threads from `threshold` cycles on. Very long
 * work is done in slices, with a look at signals in between. Returns RUN_DONE, or RUN_RAISED when a handler raised. */
int run_long(range_fn fn, void *context, int64_t count, int64_t grain, double work, double threshold) {
    int64_t slice = count;
    if (work > WORK_FOR_SIGNALS) {
        slice = (int64_t)((double)count * (WORK_FOR_SIGNALS / work));
        slice = slice < grain ? grain : slice;
    }
    for (int64_t begin = 0; begin < count; begin += slice) {
        int64_t end = count - begin < slice ? count : begin + slice;
        if (begin > 0 && gil_let_go == NULL && PyErr_CheckSignals() < 0)
            return RUN_RAISED;
        PyThreadState *state = gil_release();
        if (work < threshold)
            fn(context, begin, end);
        else
            threads_run(fn, context, begin, end, grain);
        gil_restore(state);
    }
    return RUN_DONE;
}

static void before_fork(void) {
    pthread_mutex_lock(&one_job);
    pthread_mutex_lock(&lock);
}

static void after_fork_parent(void) {
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&one_job);
}

static void after_fork_child(void) {
    pthread_mutex_init(&one_job, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&job_posted, NULL);
    pthread_cond_init(&job_left, NULL);
    started = seats = working = 0;
    blas_after_fork();
    fourier_after_fork();
    fork_era++; /* whoever held something in the parent does not exist here */
}

int threads_init(void) { return pthread_atfork(before_fork, after_fork_parent, after_fork_child); }
