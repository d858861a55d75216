/* What functions of this interface return: 0, or the kind of a failure. */
#ifndef GPUARRAY_PARTS_ERROR_H
#define GPUARRAY_PARTS_ERROR_H

enum ga_error {
    GA_NO_ERROR = 0,
    GA_MEMORY_ERROR,
    GA_VALUE_ERROR,
    GA_IMPL_ERROR,
    GA_INVALID_ERROR,
    GA_UNSUPPORTED_ERROR,
    GA_SYS_ERROR,
    GA_RUN_ERROR,
    GA_DEVSUP_ERROR,
    GA_READONLY_ERROR,
    GA_WRITEONLY_ERROR,
    GA_BLAS_ERROR,
    GA_UNALIGNED_ERROR,
    GA_COPY_ERROR,
    GA_NODEV_ERROR,
    GA_MISC_ERROR,
    GA_COMM_ERROR,
    GA_XLARGE_ERROR,
    GA_LOAD_ERROR
};

#endif
