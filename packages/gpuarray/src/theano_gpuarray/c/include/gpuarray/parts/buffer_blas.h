/* Whether a factor of a product is transposed. */
#ifndef GPUARRAY_PARTS_BUFFER_BLAS_H
#define GPUARRAY_PARTS_BUFFER_BLAS_H

typedef enum _cb_order { cb_row, cb_column, cb_c = cb_row, cb_fortran = cb_column } cb_order;
typedef enum _cb_transpose { cb_no_trans, cb_trans, cb_conj_trans } cb_transpose;

#endif
