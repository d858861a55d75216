"""Which ops a compiled function is made of."""

from __future__ import annotations

import sys
from typing import Any

from theano_graph import debugprint


class FunctionContents:
    """A base class for test cases: counts the nodes of compiled functions.

    Examples
    --------
    >>> from theano_linker_c import function, generic, view_op
    >>> x = generic("x")
    >>> FunctionContents().assertFunctionContains1(function([x], view_op(x)), view_op)
    """

    def assertFunctionContains(self, f: Any, op: Any, min: int = 1, max: int = sys.maxsize) -> None:
        """Check how many nodes of a function have an op.

        Parameters
        ----------
        f : Function
        op : Op
        min, max : int
            Bounds, both included.
        """
        count = sum(node.op == op for node in f.maker.fgraph.apply_nodes)
        self._within(f, op, count, min, max)

    def assertFunctionContains0(self, f: Any, op: Any) -> None:
        """Check that no node of a function has an op."""
        self.assertFunctionContains(f, op, min=0, max=0)

    def assertFunctionContains1(self, f: Any, op: Any) -> None:
        """Check that one node of a function has an op."""
        self.assertFunctionContains(f, op, min=1, max=1)

    def assertFunctionContainsN(self, f: Any, op: Any, N: int) -> None:
        """Check that so many nodes of a function have an op."""
        self.assertFunctionContains(f, op, min=N, max=N)

    def assertFunctionContainsClass(self, f: Any, op: type, min: int = 1, max: int = sys.maxsize) -> None:
        """Check how many nodes of a function have an op of a class."""
        count = sum(isinstance(node.op, op) for node in f.maker.fgraph.apply_nodes)
        self._within(f, op, count, min, max)

    def assertFunctionContainsClassN(self, f: Any, op: type, N: int) -> None:
        """Check that so many nodes of a function have an op of a class."""
        self.assertFunctionContainsClass(f, op, min=N, max=N)

    def _within(self, f: Any, op: object, count: int, low: int, high: int) -> None:
        if not low <= count <= high:
            wanted = str(low) if low == high else f"{low} to {high}" if high < sys.maxsize else f"{low} or more"
            graph = debugprint(f, file="str")
            raise AssertionError(f"{count} nodes with {op}, expected {wanted}\n{graph}")


__all__ = ["FunctionContents"]
