"""Checks of what runs graphs: the native machine against the Python machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Variable
from theano_linker_c import Mode, function

from ._values._contents import FunctionContents as FunctionContents
from ._values._tolerance import assert_allclose as assert_allclose

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
        What the native machine gave.

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
    found: list[Exception] = []
    for linker in MACHINES:
        try:
            run_on(linker, inputs, outputs, values, optimizer)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is compared
            found.append(error)
        else:
            raise AssertionError(f"machine {linker} accepted {values!r}")
    native, python = found
    heads = [str(error).partition("\n")[0] for error in found]
    if type(native) is not type(python) or heads[0] != heads[1]:
        raise AssertionError(f"the machines fail differently:\n  native: {native!r}\n  Python: {python!r}")
    return native
