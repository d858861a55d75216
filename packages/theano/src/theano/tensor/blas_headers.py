"""BLAS in the C code of ops."""

from theano_linker_c.cop import blas_declarations as blas_header_text

from .._lazy import lazy_names
from ._blas_tools import blas_header_version as blas_header_version

__all__ = ["blas_header_text", "blas_header_version"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
