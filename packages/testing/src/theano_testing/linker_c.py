"""Checks of compiled functions: the ops they contain, and the native machine against the Python machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from theano_graph import Variable, debugprint
from theano_linker_c import Mode, function

from ._tolerance import assert_allclose

# ---- The ops of a compiled function


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
            requested = str(low) if low == high else f"{low} to {high}" if high < sys.maxsize else f"{low} or more"
            graph = debugprint(f, file="str")
            raise AssertionError(f"{count} nodes with {op}, expected {requested}\n{graph}")


# ---- The native machine against the Python machine

#: The machines that are compared, by the name of their linker: native kernels, and pure Python.
MACHINES = ("cvm", "py")


def run_on(
    linker: str,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    values: Sequence[Any],
    optimizer: str = "fast_run",
) -> list[Any]:
    """Compile and call once.

    Parameters
    ----------
    linker : str
        One of :data:`MACHINES`, or any other linker.
    inputs, outputs : sequence of Variable
    values : sequence
        One for each input.
    optimizer : str
        "fast_run", "fast_compile" or "None".
    """
    compiled: Any = function(list(inputs), list(outputs), mode=Mode(linker, optimizer), on_unused_input="ignore")
    return list(compiled(*values))


def compare_machines(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    values: Sequence[Any],
    *,
    optimizer: str = "fast_run",
    ulp: float | None = None,
) -> list[Any]:
    """Check that both machines give the same dtypes, shapes and, within tolerance, values; or the same error.

    Returns
    -------
    list
        The result of the native machine.

    Raises
    ------
    AssertionError
        Naming the output that differs.
    """
    native = run_on("cvm", inputs, outputs, values, optimizer)
    python = run_on("py", inputs, outputs, values, optimizer)
    for i, (a, b) in enumerate(zip(native, python, strict=True)):
        label = f"output {i} (`{outputs[i]}`): native against Python machine"
        if a.dtype != b.dtype:
            raise AssertionError(f"{label}: dtypes differ: {a.dtype} and {b.dtype}")
        assert_allclose(a, b, ulp=ulp, err_msg=label)
    return native


def compare_errors(
    inputs: Sequence[Variable], outputs: Sequence[Variable], values: Sequence[Any], *, optimizer: str = "fast_run"
) -> Exception:
    """Check that both machines refuse some values with errors of one class and one first line; return the native one.

    Raises
    ------
    AssertionError
        If one does not fail, or the errors differ.
    """
    matches: list[Exception] = []
    for linker in MACHINES:
        try:
            run_on(linker, inputs, outputs, values, optimizer)
        except Exception as error:  # noqa: BLE001  # any error is compared
            matches.append(error)
        else:
            raise AssertionError(f"machine {linker} accepted {values!r}")
    native, python = matches
    heads = [str(error).partition("\n")[0] for error in matches]
    if type(native) is not type(python) or heads[0] != heads[1]:
        raise AssertionError(f"the machines fail differently:\n  native: {native!r}\n  Python: {python!r}")
    return native


__all__ = ["FunctionContents"]
