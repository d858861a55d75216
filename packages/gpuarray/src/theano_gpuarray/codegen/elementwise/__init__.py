"""Elementwise kernels on devices."""

from ._elementwise import arrays as arrays

__all__ = ["arrays"]
