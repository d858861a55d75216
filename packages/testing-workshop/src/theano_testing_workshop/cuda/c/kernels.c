/* The stand-in for the CUDA driver: modules, and launches.
 *
 * A module is a library for the processor, which the stand-in for NVRTC made. Blocks of a launch run one after the
 * other; the threads of a block are fibers, one of which runs until it comes to a barrier or ends. In which order
 * threads and blocks run is chosen by the seed, so that barriers that are missing show.
 */
#include "fake.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { WARP = 32, MOST_THREADS = 1024, MOST_SHARED = 49152, MOST_ARGUMENTS = 32764, STACK = 1 << 18 };

typedef struct {
    unsigned x, y, z;
} Three;

/* As in kernel.h. */
typedef struct {
    Three thread, block, block_size, grid_size;
    void *dynamic;
    void (*barrier)(void *where);
    unsigned long long (*exchange)(unsigned mask, unsigned long long value, int lane, void *where);
} Thread;

typedef struct {
    void (*run)(void **arguments);
    unsigned count;
    const unsigned *sizes;
    const unsigned char *pointers;
    long long bound;
    char *shared, *shared_end;
} Kernel;

typedef struct Module {
    void *library;
    struct Function *functions;
    int unloaded;
} Module;

typedef struct Function {
    char name[128];
    const Kernel *kernel;
    Module *module;
    struct Function *next;
} Function;

enum { RUNNING, ENDED, AT_BARRIER, IN_EXCHANGE };
typedef struct {
    void *place; /* its stack pointer, while it does not run */
    char *stack;
} Fiber;
typedef struct {
    Fiber *fiber; /* NULL: not begun, or ended */
    int state;
    void *where;
    unsigned mask;
    int lane;
    unsigned long long sent, got;
} Item;

static Thread seen;
static Fiber fibers[MOST_THREADS], *idle[MOST_THREADS];
static int n_fibers, n_idle;
static Item items[MOST_THREADS];
static int now; /* the thread that runs */
static void *scheduler;
static const Kernel *kernel;
static void **arguments;
static sigjmp_buf fault;
static volatile int fault_signal;

#ifdef __x86_64__
void fake_switch(void **from, void *to);
__asm__(".text\n.globl fake_switch\n.type fake_switch,@function\nfake_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n.size fake_switch,.-fake_switch\n");
#else
/* Places are contexts of their own. */
static void fake_switch(void **from, void *to) {
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}
#endif

/* A fiber runs one thread after the other. */
static void fiber_main(void) {
    for (;;) {
        kernel->run(arguments);
        Item *item = &items[now];
        item->state = ENDED;
        idle[n_idle++] = item->fiber;
        fake_switch(&item->fiber->place, scheduler);
    }
}

static Fiber *take_fiber(void) {
    if (n_idle > 0)
        return idle[--n_idle];
    Fiber *fiber = &fibers[n_fibers++];
    if (fiber->stack == NULL)
        fiber->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#ifdef __x86_64__
    void **top = (void **)(fiber->stack + STACK) - 2;
    *top = (void *)(uintptr_t)fiber_main;
    fiber->place = top - 6;
#else
    ucontext_t *made = (ucontext_t *)fiber->stack;
    getcontext(made);
    made->uc_stack.ss_sp = fiber->stack + sizeof *made;
    made->uc_stack.ss_size = STACK - sizeof *made;
    makecontext(made, fiber_main, 0);
    fiber->place = made;
#endif
    return fiber;
}

/* The thread gives way, until it is told to go on. */
static void wait_in(int state, void *where) {
    Item *item = &items[now];
    item->state = state;
    item->where = where;
    fake_switch(&item->fiber->place, scheduler);
}

static void barrier(void *where) { wait_in(AT_BARRIER, where); }

static unsigned long long exchange(unsigned mask, unsigned long long value, int lane, void *where) {
    Item *item = &items[now];
    item->mask = mask;
    item->sent = value;
    item->lane = lane;
    wait_in(IN_EXCHANGE, where);
    return item->got;
}

static void run_thread(int index) {
    const Three size = seen.block_size;
    const unsigned i = (unsigned)index;
    seen.thread = (Three){i % size.x, i / size.x % size.y, i / size.x / size.y};
    now = index;
    Item *item = &items[index];
    if (item->fiber == NULL)
        item->fiber = take_fiber();
    fake_switch(&scheduler, item->fiber->place);
    if (item->state == ENDED)
        item->fiber = NULL;
}

/* Let warps go on all of whose threads have come; whether there were any. */
static int finish_exchanges(int count) {
    int any = 0;
    for (int first = 0; first < count; first += WARP) {
        unsigned waiting = 0;
        const int last = first + WARP < count ? first + WARP : count;
        for (int i = first; i < last; i++)
            waiting |= (unsigned)(items[i].state == IN_EXCHANGE) << (i - first);
        for (int i = first; i < last; i++) {
            const unsigned there = last - first == WARP ? ~0u : (1u << (last - first)) - 1,
                           mask = items[i].mask & there;
            if (items[i].state != IN_EXCHANGE || (mask & waiting) != mask || !(mask >> (i - first) & 1))
                continue;
            for (int k = first; k < last; k++)
                if (mask >> (k - first) & 1) {
                    items[k].got = items[first + items[k].lane % WARP].sent;
                    items[k].state = RUNNING;
                }
            any = 1;
        }
    }
    return any;
}

static void wrong(const Function *f, int status, const char *what) {
    fake_wrong(status, "the kernel %s, block %u %u %u of %u x %u x %u, thread %u %u %u of %u x %u x %u: %s", f->name,
               seen.block.x, seen.block.y, seen.block.z, seen.grid_size.x, seen.grid_size.y, seen.grid_size.z,
               seen.thread.x, seen.thread.y, seen.thread.z, seen.block_size.x, seen.block_size.y, seen.block_size.z,
               what);
}

/* All threads that have not ended wait at a barrier: whether it is one and the same, and all have come. */
static int finish_barrier(const Function *f, int count) {
    void *where = NULL;
    int ended = 0, waiting = 0;
    for (int i = 0; i < count; i++) {
        ended += items[i].state == ENDED;
        waiting += items[i].state == AT_BARRIER;
        if (items[i].state != AT_BARRIER)
            continue;
        if (where != NULL && items[i].where != where) {
            wrong(f, LAUNCH_FAILED, "threads wait at different barriers");
            return 0;
        }
        where = items[i].where;
        items[i].state = RUNNING;
    }
    if (waiting < count && waiting > 0)
        wrong(f, LAUNCH_FAILED,
              ended > 0 ? "threads wait at a barrier, and others have ended"
                        : "threads wait at a barrier, and others for their warp");
    else if (waiting == 0 && ended < count)
        wrong(f, LAUNCH_FAILED, "threads wait for others of their warp that do not come");
    return waiting == count;
}

static int thread_at(int i, int count, unsigned order, unsigned step) {
    if (order == 0)
        return i;
    return order == 1 ? count - 1 - i : (int)(((unsigned)i * step + order) % (unsigned)count);
}

static unsigned divisor_of(unsigned a, unsigned b) { return b == 0 ? a : divisor_of(b, a % b); }

static int run_block(const Function *f, int count) {
    if (kernel->shared != NULL)
        memset(kernel->shared, 0xff, (size_t)(kernel->shared_end - kernel->shared));
    memset(items, 0, (size_t)count * sizeof *items);
    do {
        do {
            const unsigned order = fake_choice(7);
            unsigned step = 1 + fake_choice((unsigned)count);
            while (divisor_of(step, (unsigned)count) != 1)
                step++;
            for (int i = 0; i < count; i++) {
                int chosen = thread_at(i, count, order, step);
                if (items[chosen].state == RUNNING)
                    run_thread(chosen);
            }
        } while (finish_exchanges(count));
        for (int i = 0; i < count; i++)
            if (items[i].state != ENDED) {
                if (!finish_barrier(f, count))
                    return -1;
                break;
            }
    } while (items[0].state != ENDED);
    return 0;
}

static void on_fault(int number) {
    fault_signal = number;
    siglongjmp(fault, 1);
}

typedef struct {
    const Function *function;
    Three grid, block;
    unsigned shared;
} LaunchOf;

static void run_blocks(const LaunchOf *launch) {
    const Three g = launch->grid, b = launch->block;
    const unsigned blocks = g.x * g.y * g.z;
    const int count = (int)(b.x * b.y * b.z);
    const unsigned order = fake_choice(3);
    unsigned step = 1 + fake_choice(blocks);
    while (divisor_of(step, blocks) != 1)
        step++;
    for (unsigned i = 0; i < blocks; i++) {
        const unsigned n = order == 0   ? i
                           : order == 1 ? blocks - 1 - i
                                        : (unsigned)(((uint64_t)i * step + order) % blocks);
        seen.block = (Three){n % g.x, n / g.x % g.y, n / g.x / g.y};
        if (seen.dynamic != NULL)
            memset(seen.dynamic, 0xff, launch->shared);
        if (run_block(launch->function, count) < 0)
            return;
    }
}

static void run_launch(void *data) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    const LaunchOf *launch = data;
    const Function *f = launch->function;
    struct sigaction before[4], own = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    void *pointers[1024];
    char *values = (char *)(launch + 1);
    if (f->module->unloaded) {
        fake_wrong(LAUNCH_FAILED, "the module of %s has been unloaded before it ran", f->name);
        return;
    }
    kernel = f->kernel;
    for (unsigned i = 0; i < kernel->count; i++) {
        pointers[i] = values;
        values += (kernel->sizes[i] + 15) / 16 * 16;
    }
    arguments = pointers;
    char *dynamic = launch->shared > 0 ? malloc(launch->shared) : NULL;
    seen = (Thread){.block_size = launch->block,
                    .grid_size = launch->grid,
                    .dynamic = dynamic,
                    .barrier = barrier,
                    .exchange = exchange};
    n_fibers = n_idle = 0;
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &own, &before[i]);
    if (sigsetjmp(fault, 1) == 0)
        run_blocks(launch);
    else
        wrong(f, fault_signal == SIGILL ? MISALIGNED_ADDRESS : ILLEGAL_ADDRESS,
              fault_signal == SIGILL   ? "an address that is not aligned, or an index out of the bounds of an array"
              : fault_signal == SIGFPE ? "a division of integers by 0"
                                       : "an address where no memory is");
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &before[i], NULL);
    free(dynamic);
}

static void run_nothing(void *data) { (void)data; }

static size_t bytes_of(const char *image) {
    size_t bytes;
    memcpy(&bytes, image + HEADER - sizeof bytes, sizeof bytes);
    return bytes;
}

/* The library is loaded by a name that was never used before, since names are what the loader goes by. */
static void *load_library(const char *image) {
    char path[] = "/tmp/theano_fake_module_XXXXXX";
    int file = mkstemp(path);
    const size_t bytes = bytes_of(image);
    if (file < 0)
        return NULL;
    ssize_t written = write(file, image + HEADER, bytes);
    close(file);
    void *library = written == (ssize_t)bytes ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL)
        fprintf(stderr, "CUDA's stand-in: %s\n", dlerror());
    unlink(path);
    return library;
}

int cuModuleLoadData(Module **module, const char *image) {
    FAKE("cuModuleLoadData");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    void *library = NULL;
#ifdef ANY_CODE
    if (memcmp(image, "\177ELF", 4) != 0)
        return INVALID_IMAGE;
#else
    if (strncmp(image, "code for ", 9) != 0)
        return INVALID_IMAGE;
    library = load_library(image);
    Thread **thread = library == NULL ? NULL : dlsym(library, "fake_thread");
    if (thread == NULL)
        return INVALID_IMAGE;
    *thread = &seen;
#endif
    *module = calloc(1, sizeof **module);
    (*module)->library = library;
    return 0;
}

/* Functions are kept, so that work that still waits can say that it comes too late. */
int cuModuleUnload(Module *module) {
    FAKE("cuModuleUnload");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    fake_lock();
    module->unloaded = 1;
    if (module->library != NULL)
        dlclose(module->library);
    fake_unlock();
    return 0;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    char symbol[160];
    FAKE("cuModuleGetFunction");
    NEEDS_CONTEXT;
    *function = NULL;
    const Kernel *found = NULL;
    snprintf(symbol, sizeof symbol, "fake_kernel_%s", name);
    if (module->library != NULL && (found = dlsym(module->library, symbol)) == NULL)
        return NOT_FOUND;
    Function *made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->kernel = found;
    made->module = module;
    made->next = module->functions;
    *function = module->functions = made;
    return 0;
}

int cuFuncGetAttribute(int *value, int which, const Function *function) {
    FAKE("cuFuncGetAttribute");
    if (which != 0)
        return INVALID_VALUE;
    long long bound = function->kernel == NULL ? 0 : function->kernel->bound;
    *value = bound <= 0 ? 512 : bound < MOST_THREADS ? (int)bound : MOST_THREADS;
    return 0;
}

static unsigned sizes[7];
const unsigned *fake_sizes(void) { return sizes; }

/* What is wrong with a launch; NULL: nothing. */
static const char *problem_of(const Kernel *k, Three grid, Three block, unsigned shared, int *status) {
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    size_t bytes = shared;
    *status = INVALID_VALUE;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0)
        return "a size is 0";
    if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
        return "there are too many blocks";
    if (threads > MOST_THREADS || block.z > 64)
        return "there are too many threads in a block";
    if (k == NULL)
        return NULL;
    if (k->shared != NULL)
        bytes += (size_t)(k->shared_end - k->shared);
    if (bytes > MOST_SHARED)
        return "there is too much shared memory";
    *status = OUT_OF_RESOURCES;
    return k->bound > 0 && threads > (uint64_t)k->bound ? "there are more threads than the launch bounds say" : NULL;
}

/* Copy arguments, and look whether pointers are memory of a device; the number of bytes, or -1. */
static long copy_arguments(const Function *f, void **p, char *to) {
    long used = 0, bytes = 0;
    for (unsigned i = 0; f->kernel != NULL && i < f->kernel->count; i++) {
        const unsigned size = f->kernel->sizes[i];
        if (to != NULL)
            memcpy(to + used, p[i], size);
        used += (size + 15) / 16 * 16;
        bytes += size;
        uintptr_t address = 0;
        if (f->kernel->pointers[i])
            memcpy(&address, p[i], sizeof address);
        if (address != 0 && !fake_is_device(address, 0)) {
            fprintf(stderr, "CUDA's stand-in: argument %u of the kernel %s is no memory of a device\n", i, f->name);
            return -1;
        }
    }
    return bytes > MOST_ARGUMENTS ? -1 : used;
}

int cuLaunchKernel(const Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream *stream, void **p, void **extra) {
    (void)extra;
    FAKE("cuLaunchKernel");
    const unsigned given[] = {gx, gy, gz, bx, by, bz, shared};
    memcpy(sizes, given, sizeof sizes);
    const Three grid = {gx, gy, gz}, block = {bx, by, bz};
    int status = 0;
    const char *problem = problem_of(f->kernel, grid, block, shared, &status);
    const long bytes = copy_arguments(f, p, NULL);
    if (problem != NULL || bytes < 0) {
        fprintf(stderr, "CUDA's stand-in: the kernel %s: %s\n", f->name, problem == NULL ? "arguments" : problem);
        return bytes < 0 ? ILLEGAL_ADDRESS : status;
    }
    LaunchOf *launch = calloc(1, sizeof *launch + (size_t)bytes);
    *launch = (LaunchOf){f, grid, block, shared};
    copy_arguments(f, p, (char *)(launch + 1));
    status = fake_enqueue(stream, f->kernel == NULL ? run_nothing : run_launch, launch, sizeof *launch + (size_t)bytes);
    free(launch);
    return status;
}
