"""BLAS in the C code of ops."""

from theano_linker_c.cop import blas_declarations as blas_header_text

from .._lazy import lazy_names


def blas_header_version() -> tuple[int]:
    """Return a version for `c_code_cache_version`; code is found again by its text, so it need never grow."""
    return (1,)


__all__ = ["blas_header_text", "blas_header_version"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
