# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof._compilers import GCC_compiler as GCC_compiler
from theano.tensor._linear_algebra import blas_header_version as blas_header_version
from theano_linker_c.cop import blas_declarations as _blas_declarations
blas_header_text = _blas_declarations
