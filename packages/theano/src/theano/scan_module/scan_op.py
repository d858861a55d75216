"""The op of loops."""

from theano_scan import Scan as Scan

__all__ = ["Scan"]
