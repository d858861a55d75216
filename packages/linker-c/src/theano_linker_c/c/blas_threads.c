/* Products of matrices that are shared among the threads of this runtime.
 *
 * The threads of OpenBLAS wait for each other several times in one product, and they do so by spinning: where another
 * process holds a core, a product of half a millisecond takes twenty. So larger products are cut into parts that
 * threads take one by one (threads.c), and OpenBLAS computes each part alone. Other libraries are left to themselves.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include <dlfcn.h>
#include <stdatomic.h>

static int (*get_threads)(void);
static void (*set_threads)(int);
static atomic_int sharing;
static int saved; /* how many threads the library had before */

/* Look for the switches of the library that the routine at `address` belongs to, or that its library uses. */
void blas_find_threads(uintptr_t address) {
    static const char *const prefixes[] = {"scipy_openblas_", "openblas_"};
    static int looked;
    Dl_info info;
    if (looked++ || dladdr((void *)address, &info) == 0 || info.dli_fname == NULL)
        return;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* stays open, as it is */
    for (size_t k = 0; library != NULL && k < sizeof prefixes / sizeof *prefixes && set_threads == NULL; k++) {
        char getter[64], setter[64];
        PyOS_snprintf(getter, sizeof getter, "%sget_num_threads", prefixes[k]);
        PyOS_snprintf(setter, sizeof setter, "%sset_num_threads", prefixes[k]);
        void *found = dlsym(library, getter), *other = dlsym(library, setter);
        if (found != NULL && other != NULL) {
            memcpy(&get_threads, &found, sizeof found);
            memcpy(&set_threads, &other, sizeof other);
        }
    }
}

/* Run `fn` over 0..count in chunks of `grain` while the library uses one thread for each call. Returns 0 if that cannot
 * be done now: its threads are not known, the user has limited them to one, or another thread is doing the same. */
int blas_share(range_fn fn, void *context, int64_t count, int64_t grain) {
    int none = 0, own = set_threads == NULL || threads_get() < 2 ? 1 : get_threads();
    if (own < 2 || !atomic_compare_exchange_strong(&sharing, &none, 1))
        return 0;
    saved = own;
    set_threads(1);
    threads_run(fn, context, 0, count, grain);
    set_threads(saved);
    atomic_store(&sharing, 0);
    return 1;
}

/* In the child of a fork: whoever was at it in the parent does not exist here. */
void blas_after_fork(void) {
    if (atomic_exchange(&sharing, 0))
        set_threads(saved);
}
