"""BLAS in the C code of ops."""

from theano_linker_c.cop import blas_declarations as blas_header_text


def blas_header_version() -> tuple[int]:
    """Return a version for `c_code_cache_version`; code is found again by its text, so it need never grow."""
    return (1,)


__all__ = ["blas_header_text", "blas_header_version"]
