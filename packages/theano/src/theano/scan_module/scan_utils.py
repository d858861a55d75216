"""Helpers of loops."""

from theano_scan import ScanArguments as scan_args, until as until

from .._graph_copies import clone as clone

__all__ = ["clone", "scan_args", "until"]
