"""The function `scan`."""

from theano_scan import scan as scan, until as until

__all__ = ["scan", "until"]
