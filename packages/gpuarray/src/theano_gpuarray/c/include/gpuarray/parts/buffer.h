/* Contexts, memory and compiled kernels. All functions of this interface are called with the GIL held. */
#ifndef GPUARRAY_PARTS_BUFFER_H
#define GPUARRAY_PARTS_BUFFER_H

#include "types.h"

typedef struct _gpucontext gpucontext;
typedef struct _gpukernel gpukernel;
/* Memory; its first member is the CUdeviceptr or the cl_mem. */
typedef struct _gpudata {
    uintptr_t address;
} gpudata;

/* Flags of kernels. Types that a device lacks are refused by its compiler. */
enum ga_usefl {
    GA_USE_SMALL = 0x01,
    GA_USE_DOUBLE = 0x02,
    GA_USE_COMPLEX = 0x04,
    GA_USE_HALF = 0x08,
    GA_USE_CUDA = 0x2000,
    GA_USE_OPENCL = 0x4000,
    GA_USE_CLUDA = 0x8000
};

/* Flags of `gpudata_alloc`; all memory can be read and written. */
#define GA_BUFFER_READ_WRITE 0x00
#define GA_BUFFER_DEV 0x00
#define GA_BUFFER_READ_ONLY 0x01
#define GA_BUFFER_WRITE_ONLY 0x02
#define GA_BUFFER_INIT 0x04 /* copy the bytes at `data` */
#define GA_BUFFER_HOST 0x08

/* Properties of contexts, with the type of what `res` points to. */
#define GA_CTX_PROP_DEVNAME 1           /* char[256] */
#define GA_CTX_PROP_LMEMSIZE 3          /* size_t */
#define GA_CTX_PROP_NUMPROCS 4          /* unsigned int */
#define GA_CTX_PROP_BIN_ID 6            /* const char * */
#define GA_CTX_PROP_TOTAL_GMEM 8        /* size_t */
#define GA_CTX_PROP_FREE_GMEM 9         /* size_t */
#define GA_CTX_PROP_NATIVE_FLOAT16 10   /* int */
#define GA_CTX_PROP_MAXGSIZE0 11        /* size_t */
#define GA_CTX_PROP_MAXGSIZE1 12        /* size_t */
#define GA_CTX_PROP_MAXGSIZE2 13        /* size_t */
#define GA_CTX_PROP_MAXLSIZE0 14        /* size_t */
#define GA_CTX_PROP_MAXLSIZE1 15        /* size_t */
#define GA_CTX_PROP_MAXLSIZE2 16        /* size_t */
#define GA_CTX_PROP_MAXLSIZE 17         /* size_t */
#define GA_CTX_PROP_LARGEST_MEMBLOCK 19 /* size_t */
#define GA_CTX_PROP_UNIQUE_ID 20        /* char[16] */
/* Properties of memory and of kernels. */
#define GA_BUFFER_PROP_REFCNT 513     /* unsigned int */
#define GA_BUFFER_PROP_SIZE 514       /* size_t */
#define GA_KERNEL_PROP_MAXLSIZE 1025  /* size_t */
#define GA_KERNEL_PROP_PREFLSIZE 1026 /* size_t */
#define GA_KERNEL_PROP_NUMARGS 1027   /* unsigned int */
#define GA_KERNEL_PROP_TYPES 1028     /* const int * */

#endif
