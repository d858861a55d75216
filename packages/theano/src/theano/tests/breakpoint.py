"""A breakpoint inside of a compiled function."""

from theano_linker_c.ops import PdbBreakpoint as PdbBreakpoint

__all__ = ["PdbBreakpoint"]
