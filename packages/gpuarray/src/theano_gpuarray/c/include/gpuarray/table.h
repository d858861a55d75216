/* The functions of the interface. The extension module `theano_gpuarray._device` has a table of them in a capsule;
 * `import_pygpu__gpuarray()` of gpuarray_api.h finds it, and has to be called before all others.
 *
  * Functions that return an int return 0 or a number of error.h; the context keeps the text of the newest failure.
 */
#ifndef GPUARRAY_TABLE_H
#define GPUARRAY_TABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "parts/array.h"
#include "parts/buffer.h"
#include "parts/buffer_blas.h"
#include "parts/elemwise.h"
#include "parts/error.h"
#include "parts/kernel.h"
#include "parts/types.h"

/* Contexts and arrays as objects of Python, for C code. */
typedef struct _PyGpuContextObject {
    PyObject ob_base;
    gpucontext *ctx;
    PyObject *context; /* the GpuContext */
} PyGpuContextObject;

typedef struct _PyGpuArrayObject {
    PyObject ob_base;
    GpuArray ga;
    PyGpuContextObject *context;
    PyObject *base;   /* who else owns the memory, or NULL */
    PyObject *origin; /* the GpuArray that this was made of, or NULL */
} PyGpuArrayObject;

#define GPUARRAY_TABLE_NAME "theano_gpuarray._device._C_API"
/* Grows with each function that is added behind the others; it is another number where one changes. */
#define GPUARRAY_TABLE_VERSION 1

/* F(type of the result, name, parameters, arguments) for each function. */
#define GPUARRAY_BUFFER_FUNCTIONS(F)                                                                                   \
    F(const char *, gpuarray_error_str, (int err), (err))                                                              \
    F(const gpuarray_type *, gpuarray_get_type, (int typecode), (typecode))                                            \
    F(size_t, gpuarray_get_elsize, (int typecode), (typecode))                                                         \
    F(void *, gpuarray_get_extension, (const char *name), (name))                                                      \
    F(const char *, gpucontext_error, (gpucontext * ctx, int err), (ctx, err))                                         \
    F(int, gpucontext_property, (gpucontext * ctx, int id, void *res), (ctx, id, res))                                 \
    F(gpudata *, gpudata_alloc, (gpucontext * ctx, size_t sz, void *data, int flags, int *ret),                        \
      (ctx, sz, data, flags, ret))                                                                                     \
    F(void, gpudata_retain, (gpudata * b), (b))                                                                        \
    F(void, gpudata_release, (gpudata * b), (b))                                                                       \
    F(int, gpudata_share, (gpudata * a, gpudata * b, int *ret), (a, b, ret))                                           \
    F(int, gpudata_move, (gpudata * dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz),                       \
      (dst, dstoff, src, srcoff, sz))                                                                                  \
    F(int, gpudata_read, (void *dst, gpudata *src, size_t srcoff, size_t sz), (dst, src, srcoff, sz))                  \
    F(int, gpudata_write, (gpudata * dst, size_t dstoff, const void *src, size_t sz), (dst, dstoff, src, sz))          \
    F(int, gpudata_memset, (gpudata * dst, size_t dstoff, int data), (dst, dstoff, data))                              \
    F(int, gpudata_sync, (gpudata * b), (b))                                                                           \
    F(int, gpudata_property, (gpudata * buf, int id, void *res), (buf, id, res))                                       \
    F(gpucontext *, gpudata_context, (gpudata * b), (b))                                                               \
    F(void, cuda_enter, (gpucontext * ctx), (ctx))                                                                     \
    F(void, cuda_exit, (gpucontext * ctx), (ctx))                                                                      \
    F(void *, cuda_get_stream, (gpucontext * ctx), (ctx))                                                              \
    F(size_t, cuda_get_sz, (gpudata * b), (b))                                                                         \
    F(int, cuda_wait, (gpudata * b, int flags), (b, flags))                                                            \
    F(int, cuda_record, (gpudata * b, int flags), (b, flags))

#define GPUARRAY_KERNEL_FUNCTIONS(F)                                                                                   \
    F(gpukernel *, gpukernel_init,                                                                                     \
      (gpucontext * ctx, unsigned int count, const char **strings, const size_t *lengths, const char *fname,           \
       unsigned int numargs, const int *typecodes, int flags, int *ret, char **err_str),                               \
      (ctx, count, strings, lengths, fname, numargs, typecodes, flags, ret, err_str))                                  \
    F(void, gpukernel_retain, (gpukernel * k), (k))                                                                    \
    F(void, gpukernel_release, (gpukernel * k), (k))                                                                   \
    F(int, gpukernel_setarg, (gpukernel * k, unsigned int i, void *val), (k, i, val))                                  \
    F(int, gpukernel_call,                                                                                             \
      (gpukernel * k, unsigned int n, const size_t *gs, const size_t *ls, size_t shared, void **args),                 \
      (k, n, gs, ls, shared, args))                                                                                    \
    F(int, gpukernel_property, (gpukernel * k, int id, void *res), (k, id, res))                                       \
    F(gpucontext *, gpukernel_context, (gpukernel * k), (k))                                                           \
    F(int, GpuKernel_init,                                                                                             \
      (GpuKernel * k, gpucontext * ctx, unsigned int count, const char **strs, const size_t *lens, const char *name,   \
       unsigned int argcount, const int *types, int flags, char **err_str),                                            \
      (k, ctx, count, strs, lens, name, argcount, types, flags, err_str))                                              \
    F(void, GpuKernel_clear, (GpuKernel * k), (k))                                                                     \
    F(gpucontext *, GpuKernel_context, (GpuKernel * k), (k))                                                           \
    F(int, GpuKernel_setarg, (GpuKernel * k, unsigned int i, void *val), (k, i, val))                                  \
    F(int, GpuKernel_sched, (GpuKernel * k, unsigned int n, const size_t *size, size_t *gs, size_t *ls),               \
      (k, n, size, gs, ls))                                                                                            \
    F(int, GpuKernel_call,                                                                                             \
      (GpuKernel * k, unsigned int n, const size_t *gs, const size_t *ls, size_t shared, void **args),                 \
      (k, n, gs, ls, shared, args))                                                                                    \
    F(const char *, GpuKernel_error, (const GpuKernel *k, int err), (k, err))

#define GPUARRAY_ARRAY_FUNCTIONS(F)                                                                                    \
    F(int, GpuArray_empty,                                                                                             \
      (GpuArray * a, gpucontext * ctx, int typecode, unsigned int nd, const size_t *dims, ga_order ord),               \
      (a, ctx, typecode, nd, dims, ord))                                                                               \
    F(int, GpuArray_zeros,                                                                                             \
      (GpuArray * a, gpucontext * ctx, int typecode, unsigned int nd, const size_t *dims, ga_order ord),               \
      (a, ctx, typecode, nd, dims, ord))                                                                               \
    F(int, GpuArray_fromdata,                                                                                          \
      (GpuArray * a, gpudata * data, size_t offset, int typecode, unsigned int nd, const size_t *dims,                 \
       const ssize_t *strides, int writeable),                                                                         \
      (a, data, offset, typecode, nd, dims, strides, writeable))                                                       \
    F(int, GpuArray_copy_from_host,                                                                                    \
      (GpuArray * a, gpucontext * ctx, void *buf, int typecode, unsigned int nd, const size_t *dims,                   \
       const ssize_t *strides),                                                                                        \
      (a, ctx, buf, typecode, nd, dims, strides))                                                                      \
    F(int, GpuArray_view, (GpuArray * v, const GpuArray *a), (v, a))                                                   \
    F(int, GpuArray_sync, (GpuArray * a), (a))                                                                         \
    F(int, GpuArray_index,                                                                                             \
      (GpuArray * r, const GpuArray *a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps),            \
      (r, a, starts, stops, steps))                                                                                    \
    F(int, GpuArray_index_inplace, (GpuArray * a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps),  \
      (a, starts, stops, steps))                                                                                       \
    F(int, GpuArray_take1, (GpuArray * r, const GpuArray *a, const GpuArray *i, int check_error),                      \
      (r, a, i, check_error))                                                                                          \
    F(int, GpuArray_setarray, (GpuArray * v, const GpuArray *a), (v, a))                                               \
    F(int, GpuArray_reshape,                                                                                           \
      (GpuArray * res, const GpuArray *a, unsigned int nd, const size_t *newdims, ga_order ord, int nocopy),           \
      (res, a, nd, newdims, ord, nocopy))                                                                              \
    F(int, GpuArray_reshape_inplace, (GpuArray * a, unsigned int nd, const size_t *newdims, ga_order ord),             \
      (a, nd, newdims, ord))                                                                                           \
    F(int, GpuArray_transpose, (GpuArray * res, const GpuArray *a, const unsigned int *new_axes), (res, a, new_axes))  \
    F(int, GpuArray_transpose_inplace, (GpuArray * a, const unsigned int *new_axes), (a, new_axes))                    \
    F(void, GpuArray_clear, (GpuArray * a), (a))                                                                       \
    F(int, GpuArray_share, (const GpuArray *a, const GpuArray *b), (a, b))                                             \
    F(gpucontext *, GpuArray_context, (const GpuArray *a), (a))                                                        \
    F(int, GpuArray_move, (GpuArray * dst, const GpuArray *src), (dst, src))                                           \
    F(int, GpuArray_write, (GpuArray * dst, const void *src, size_t src_sz), (dst, src, src_sz))                       \
    F(int, GpuArray_read, (void *dst, size_t dst_sz, const GpuArray *src), (dst, dst_sz, src))                         \
    F(int, GpuArray_memset, (GpuArray * a, int data), (a, data))                                                       \
    F(int, GpuArray_copy, (GpuArray * res, const GpuArray *a, ga_order order), (res, a, order))                        \
    F(int, GpuArray_transfer, (GpuArray * res, const GpuArray *a), (res, a))                                           \
    F(int, GpuArray_split, (GpuArray * *rs, const GpuArray *a, size_t n, size_t *p, unsigned int axis),                \
      (rs, a, n, p, axis))                                                                                             \
    F(int, GpuArray_concatenate, (GpuArray * r, const GpuArray **as, size_t n, unsigned int axis, int restype),        \
      (r, as, n, axis, restype))                                                                                       \
    F(const char *, GpuArray_error, (const GpuArray *a, int err), (a, err))                                            \
    F(int, GpuArray_is_c_contiguous, (const GpuArray *a), (a))                                                         \
    F(int, GpuArray_is_f_contiguous, (const GpuArray *a), (a))                                                         \
    F(int, GpuArray_is_aligned, (const GpuArray *a), (a))                                                              \
    F(void, GpuArray_fix_flags, (GpuArray * a), (a))                                                                   \
    F(int, GpuArray_rdot, (GpuArray * X, GpuArray * Y, GpuArray * Z, int nocopy), (X, Y, Z, nocopy))                   \
    F(int, GpuArray_rgemv,                                                                                             \
      (cb_transpose transA, double alpha, GpuArray *A, GpuArray *X, double beta, GpuArray *Y, int nocopy),             \
      (transA, alpha, A, X, beta, Y, nocopy))                                                                          \
    F(int, GpuArray_rgemm,                                                                                             \
      (cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A, GpuArray *B, double beta, GpuArray *C,     \
       int nocopy),                                                                                                    \
      (transA, transB, alpha, A, B, beta, C, nocopy))                                                                  \
    F(int, GpuArray_rger, (double alpha, GpuArray *X, GpuArray *Y, GpuArray *A, int nocopy), (alpha, X, Y, A, nocopy)) \
    F(int, GpuArray_rgemmBatch_3d,                                                                                     \
      (cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A, GpuArray *B, double beta, GpuArray *C,     \
       int nocopy),                                                                                                    \
      (transA, transB, alpha, A, B, beta, C, nocopy))                                                                  \
    F(GpuElemwise *, GpuElemwise_new,                                                                                  \
      (gpucontext * ctx, const char *preamble, const char *expr, unsigned int n, gpuelemwise_arg *args,                \
       unsigned int nd, int flags),                                                                                    \
      (ctx, preamble, expr, n, args, nd, flags))                                                                       \
    F(int, GpuElemwise_call, (GpuElemwise * ge, void **args, int flags), (ge, args, flags))                            \
    F(void, GpuElemwise_free, (GpuElemwise * ge), (ge))

/* These return objects, or NULL with an exception; or 0, or -1 with an exception. `cls` is None.
 *
 * theano_correlate computes the result of a correlation (0), its gradient by the filters (1) or by the images (2) into
 * `top`, `weights` or `bottom`, from the two others. Of `numbers` there are nd zeros before the axes, nd behind them,
 * nd steps, nd dilations, and one number of groups.
 */
#define GPUARRAY_OBJECT_FUNCTIONS(F)                                                                                   \
    F(PyGpuContextObject *, pygpu_default_context, (void), ())                                                         \
    F(PyGpuContextObject *, pygpu_init, (PyObject * dev, void *props), (dev, props))                                   \
    F(PyGpuContextObject *, pygpu_context_from_object, (PyObject * context), (context))                                \
    F(PyGpuArrayObject *, pygpu_from_object, (PyObject * object, int typecode, int nd), (object, typecode, nd))        \
    F(PyObject *, pygpu_as_object, (PyGpuArrayObject * a), (a))                                                        \
    F(PyObject *, pygpu_as_ndarray, (PyGpuArrayObject * a), (a))                                                       \
    F(PyGpuArrayObject *, pygpu_zeros,                                                                                 \
      (unsigned int nd, const size_t *dims, int typecode, ga_order order, PyGpuContextObject *ctx, PyObject *cls),     \
      (nd, dims, typecode, order, ctx, cls))                                                                           \
    F(PyGpuArrayObject *, pygpu_empty,                                                                                 \
      (unsigned int nd, const size_t *dims, int typecode, ga_order order, PyGpuContextObject *ctx, PyObject *cls),     \
      (nd, dims, typecode, order, ctx, cls))                                                                           \
    F(PyGpuArrayObject *, pygpu_fromhostdata,                                                                          \
      (void *buf, int typecode, unsigned int nd, const size_t *dims, const ssize_t *strides, PyGpuContextObject *ctx,  \
       PyObject *cls),                                                                                                 \
      (buf, typecode, nd, dims, strides, ctx, cls))                                                                    \
    F(PyGpuArrayObject *, pygpu_fromgpudata,                                                                           \
      (gpudata * buf, size_t offset, int typecode, unsigned int nd, const size_t *dims, const ssize_t *strides,        \
       PyGpuContextObject *ctx, int writable, PyObject *base, PyObject *cls),                                          \
      (buf, offset, typecode, nd, dims, strides, ctx, writable, base, cls))                                            \
    F(PyGpuArrayObject *, pygpu_copy, (PyGpuArrayObject * a, ga_order ord), (a, ord))                                  \
    F(PyGpuArrayObject *, pygpu_empty_like, (PyGpuArrayObject * a, ga_order ord, int typecode), (a, ord, typecode))    \
    F(PyGpuArrayObject *, pygpu_view, (PyGpuArrayObject * a, PyObject * cls), (a, cls))                                \
    F(PyGpuArrayObject *, pygpu_index,                                                                                 \
      (PyGpuArrayObject * a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps),                       \
      (a, starts, stops, steps))                                                                                       \
    F(PyGpuArrayObject *, pygpu_reshape,                                                                               \
      (PyGpuArrayObject * a, unsigned int nd, const size_t *newdims, ga_order ord, int nocopy, int compute_axis),      \
      (a, nd, newdims, ord, nocopy, compute_axis))                                                                     \
    F(PyGpuArrayObject *, pygpu_transpose, (PyGpuArrayObject * a, const unsigned int *newaxes), (a, newaxes))          \
    F(PyGpuArrayObject *, pygpu_concatenate,                                                                           \
      (const GpuArray **a, size_t n, unsigned int axis, int restype, PyObject *cls, PyGpuContextObject *ctx),          \
      (a, n, axis, restype, cls, ctx))                                                                                 \
    F(int, pygpu_sync, (PyGpuArrayObject * a), (a))                                                                    \
    F(int, pygpu_move, (PyGpuArrayObject * a, PyGpuArrayObject * src), (a, src))                                       \
    F(int, pygpu_transfer, (PyGpuArrayObject * res, PyGpuArrayObject * a), (res, a))                                   \
    F(PyGpuArrayObject *, pygpu_blas_rgemm,                                                                            \
      (cb_transpose transA, cb_transpose transB, double alpha, PyGpuArrayObject *A, PyGpuArrayObject *B, double beta,  \
       PyGpuArrayObject *C, int overwrite_c),                                                                          \
      (transA, transB, alpha, A, B, beta, C, overwrite_c))                                                             \
    F(PyGpuArrayObject *, pygpu_blas_rgemv,                                                                            \
      (cb_transpose transA, double alpha, PyGpuArrayObject *A, PyGpuArrayObject *X, double beta, PyGpuArrayObject *Y,  \
       int overwrite_y),                                                                                               \
      (transA, alpha, A, X, beta, Y, overwrite_y))                                                                     \
    F(PyGpuArrayObject *, pygpu_blas_rger,                                                                             \
      (double alpha, PyGpuArrayObject *X, PyGpuArrayObject *Y, PyGpuArrayObject *A, int overwrite_a),                  \
      (alpha, X, Y, A, overwrite_a))                                                                                   \
    F(int, theano_correlate,                                                                                           \
      (int direction, PyGpuArrayObject *bottom, PyGpuArrayObject *weights, PyGpuArrayObject *top, unsigned int nd,     \
       const size_t *numbers),                                                                                         \
      (direction, bottom, weights, top, nd, numbers))

#define GPUARRAY_FUNCTIONS(F)                                                                                          \
    GPUARRAY_BUFFER_FUNCTIONS(F)                                                                                       \
    GPUARRAY_KERNEL_FUNCTIONS(F) GPUARRAY_ARRAY_FUNCTIONS(F) GPUARRAY_OBJECT_FUNCTIONS(F)

typedef struct {
    int version;
    PyTypeObject *context_type, *array_type;
#define GPUARRAY_MEMBER(result, name, parameters, arguments) result(*name) parameters;
    GPUARRAY_FUNCTIONS(GPUARRAY_MEMBER)
#undef GPUARRAY_MEMBER
} gpuarray_table;

#ifndef GPUARRAY_TABLE_BUILD
static gpuarray_table *gpuarray_functions __attribute__((unused));
#define GPUARRAY_FUNCTION(result, name, parameters, arguments)                                                         \
    static inline result name parameters { return gpuarray_functions->name arguments; }
GPUARRAY_FUNCTIONS(GPUARRAY_FUNCTION)
#undef GPUARRAY_FUNCTION
#ifdef __cplusplus
/* Also of a kernel itself, in place of its address. */
static inline const char *GpuKernel_error(const GpuKernel &k, int err) { return GpuKernel_error(&k, err); }
#endif
#endif

#endif
