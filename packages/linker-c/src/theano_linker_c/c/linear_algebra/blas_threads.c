/* Products of matrices that are shared among the threads of this runtime, and routines that run in one.
 *
 * The threads of OpenBLAS wait for each other several times in one product, and they do so by spinning: where another
 * process holds a core, a product of half a millisecond takes twenty. So larger products are cut into parts that
 * threads take one by one (threads.c), and OpenBLAS computes each part alone. Factors of matrices up to some hundred
 * rows, which gain nothing from a second thread on a quiet machine and wait for it on a busy one, are computed in one.
 * Other libraries are left to themselves. */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <stdatomic.h>

/* How the number of threads of one library is read and set; NULL where that is not known. */
typedef struct {
    int looked, (*get)(void);
    void (*set)(int);
} Library;

static Library products, factors; /* of BLAS and of LAPACK: often, but not always, the same */
static atomic_int sharing;
static Library *held; /* whose threads are set to one, and how many there were before */
static int saved;

/* Look for the switches of the library that the routine at `address` belongs to, or that its library uses. */
static void find_threads(Library *l, uintptr_t address) {
    static const char *const prefixes[] = {"scipy_openblas_", "openblas_"};
    Dl_info info;
    if (l->looked++ || dladdr((void *)address, &info) == 0 || info.dli_fname == NULL)
        return;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* stays open, as it is */
    for (size_t k = 0; library != NULL && k < sizeof prefixes / sizeof *prefixes && l->set == NULL; k++) {
        char getter[64], setter[64];
        PyOS_snprintf(getter, sizeof getter, "%sget_num_threads", prefixes[k]);
        PyOS_snprintf(setter, sizeof setter, "%sset_num_threads", prefixes[k]);
        void *found = dlsym(library, getter), *other = dlsym(library, setter);
        if (found != NULL && other != NULL) {
            memcpy(&l->get, &found, sizeof found);
            memcpy(&l->set, &other, sizeof other);
        }
    }
}

void blas_find_threads(uintptr_t address) { find_threads(&products, address); }
void lapack_find_threads(uintptr_t address) { find_threads(&factors, address); }

/* Let a library use one thread. Returns 0 if that cannot be done now: its threads are not known, the user has limited
 * them to one, or another thread is doing the same. */
static int hold(Library *l) {
    int none = 0, own = l->set == NULL ? 1 : l->get();
    if (own < 2 || !atomic_compare_exchange_strong(&sharing, &none, 1))
        return 0;
    saved = own;
    held = l;
    l->set(1);
    return 1;
}

static void let_go(void) {
    held->set(saved);
    atomic_store(&sharing, 0);
}

/* Run `fn` over 0..count in chunks of `grain` while the library uses one thread for each call; 0 if it cannot. */
int blas_share(range_fn fn, void *context, int64_t count, int64_t grain) {
    if (threads_get() < 2 || !hold(&products))
        return 0;
    threads_run(fn, context, 0, count, grain);
    let_go();
    return 1;
}

/* Let LAPACK use one thread until lapack_many(); 0 if it goes on as it is. */
int lapack_alone(void) { return hold(&factors); }
void lapack_many(void) { let_go(); }

/* In the child of a fork: whoever was at it in the parent does not exist here. */
void blas_after_fork(void) {
    if (atomic_exchange(&sharing, 0))
        held->set(saved);
}
