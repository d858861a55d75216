"""The linker and the mode of PyTensor: compiled functions, their addresses, and the report on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytensor import config
from pytensor.compile import Supervisor
from pytensor.compile.mode import Mode, predefined_linkers, predefined_modes, register_linker, register_mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import JITLinker
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.type_other import NoneTypeT

import theano
from theano import In, Out

from . import rules as rules  # its import registers all rules
from ._translation import Translation, as_variable, engine_variable

# ---- Reports about the nodes that were translated, and those left to PyTensor


@dataclass(frozen=True)
class Report:
    """The fate of the nodes of a function of PyTensor.

    Attributes
    ----------
    translated : mapping of str to int
        How many nodes of each op a rule translated, loops and graphs inside of ops included.
    performed : mapping of str to list of str
        Why nodes were left to their own `perform`, by op, one entry a node.
    """

    translated: Mapping[str, int]
    performed: Mapping[str, list[str]]

    def __str__(self) -> str:
        left = sum(map(len, self.performed.values()))
        total = sum(self.translated.values()) + left
        lines = [f"{total - left} of {total} nodes translated, {left} left to PyTensor"]
        for name, reasons in sorted(self.performed.items()):
            lines.append(f"  {name}: {len(reasons)} ({'; '.join(sorted(set(reasons)))})")
        return "\n".join(lines)


class PerformWarning(UserWarning):
    """Part of a graph runs in Python, by the `perform` of ops of PyTensor."""


class VersionWarning(UserWarning):
    """A version of PyTensor that this package was not tested with."""


TESTED = ("2.38", "3.0")
"""The series of PyTensor that all tests of this package pass with."""


def check_version(version: str) -> None:
    """Warn of a version of PyTensor that belongs to no tested series.

    Parameters
    ----------
    version : str

    Examples
    --------
    >>> check_version("2.38.3")
    """
    if ".".join(version.split(".")[:2]) not in TESTED:
        warnings.warn(
            f"theano_pytensor was tested with PyTensor {' and '.join(TESTED)}, not with {version}. "
            "Hint: where results or errors surprise you, install one of these.",
            VersionWarning,
            stacklevel=3,
        )


_announced: set[str] = set()


def announce(report: Report) -> None:
    """Warn of ops that are left to PyTensor, of each op once."""
    new = sorted(set(report.performed) - _announced)
    if new:
        _announced.update(new)
        warnings.warn(
            f"theano_pytensor: {', '.join(new)} computed by PyTensor's own perform, in Python. "
            "Hint: theano_pytensor.report(f) tells why.",
            PerformWarning,
            stacklevel=2,
        )


def report(function: Any) -> Report:
    """Tell which nodes of a function were translated, and which are left to PyTensor.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``.

    Raises
    ------
    TypeError
        If another linker compiled it.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> print(report(pytensor.function([x], pt.exp(x) + 1, mode="THEANO")))
    2 of 2 nodes translated, 0 left to PyTensor
    """
    translation = linker_of(function).translation
    return Report(translation.translated, translation.performed)


def linker_of(function: Any) -> Any:
    """Return the linker of a function that Theano compiled.

    Raises
    ------
    TypeError
        If another linker compiled it.
    """
    linker = getattr(getattr(function, "maker", None), "linker", None)
    if not hasattr(linker, "engine_function"):
        raise TypeError(
            f"{function!r} was not compiled by Theano. Hint: compile it with pytensor.function(..., mode='THEANO')."
        )
    return linker


# ---- The linker and the mode of PyTensor that compile with Theano


class TheanoLinker(JITLinker):  # type: ignore[misc]  # the base has no types
    """Compile graphs of PyTensor with Theano.

    Ops without a rule run their own `perform`; :func:`theano_pytensor.report` tells which. Graphs are rewritten by
    Theano: a mode with this linker needs the rewrites of PyTensor for meaning alone.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> import theano_pytensor
    >>> x = pt.dvector("x")
    >>> f = pytensor.function([x], (x**2).sum(), mode="THEANO")
    >>> float(f([1.0, 2.0]))
    5.0
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = ("cxx_only", "BlasOpt", "fusion")

    def fgraph_convert(self, fgraph: Any, **options: Any) -> Any:
        """Return our function for a graph."""
        overwritten = getattr(fgraph, "destroyers", lambda variable: ())
        donated = {v for v in fgraph.inputs if overwritten(v) and len(fgraph.clients[v]) == 1}
        translation, free = Translation(donated=frozenset(donated)), _may_be_overwritten(fgraph)
        updated = getattr(fgraph, "update_mapping", None) or {}
        inputs = [engine_variable(variable) for variable in fgraph.inputs]
        outputs = translation.graph(fgraph, inputs)
        function = theano.function(
            [
                In(ours, mutable=variable in free or bool(overwritten(variable)), borrow=True)
                for variable, ours in zip(fgraph.inputs, inputs, strict=True)
                if ours is not None
            ],
            # What updates an input that is overwritten may lie in its memory.
            [
                Out(as_variable(output), borrow=fgraph.inputs[updated[k]] in free)
                if k in updated
                else as_variable(output)
                for k, output in enumerate(outputs)
            ],
            on_unused_input="ignore",
            accept_inplace=bool(donated),
            name=getattr(fgraph, "name", None),
        )
        function.trust_input = True
        self.translation, self.engine_function, self.engine_inputs = translation, function, inputs
        announce(Report(translation.translated, translation.performed))
        return function

    def jit_compile(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function itself, which is compiled."""
        return fn

    def create_thunk_inputs(self, storage_map: dict[Any, Any]) -> list[Any]:
        """Return the cells of the inputs; those of type None have no part in our function."""
        return [storage_map[v] for v in self.fgraph.inputs if not isinstance(v.type, NoneTypeT)]

    def create_jitable_thunk(
        self, compute_map: Any, order: Any, input_storage: Any, output_storage: Any, storage_map: Any
    ) -> tuple[list[Any], list[Any], Any]:
        """Return a call that runs the function on the cells of PyTensor, its node, and the function."""
        function = self.jit_compile(self.fgraph_convert(self.fgraph))
        inputs = self.create_thunk_inputs(storage_map)
        outputs = [storage_map[variable] for variable in self.fgraph.outputs]
        explained = self.translation.explained

        def thunk() -> None:
            try:
                results = function(*[cell[0] for cell in inputs])
            except Exception as error:  # noqa: BLE001  (it is raised again)
                raise explained(error) from error.__cause__
            for cell, value in zip(outputs, results, strict=False):
                cell[0] = value

        numbers = [k for k, variable in enumerate(self.fgraph.outputs) if isinstance(variable.type, ScalarType)]

        def thunk_with_numbers() -> None:
            thunk()
            for k in numbers:
                outputs[k][0] = outputs[k][0][()]

        call: Any = thunk_with_numbers if numbers else thunk
        call.inputs, call.outputs, call.lazy = inputs, outputs, False
        return [call], [v.owner for v in self.fgraph.outputs if v.owner is not None][:1], function


def _may_be_overwritten(fgraph: Any) -> frozenset[Any]:
    """Return the inputs that PyTensor does not protect: shared variables with updates, and what is given away."""
    supervisor = next((part for part in fgraph._features if isinstance(part, Supervisor)), None)
    return frozenset() if supervisor is None else frozenset(fgraph.inputs).difference(supervisor.protected)


THEANO = Mode(TheanoLinker(), RewriteDatabaseQuery(include=["minimum_compile"]))
"""The mode ``"THEANO"``: the rewrites of PyTensor for meaning alone, then all of Theano."""


def register() -> None:
    """Make the linker ``"theano"`` and the mode ``"THEANO"`` known to PyTensor; once is enough."""
    if "theano" not in predefined_linkers:
        register_linker("theano", TheanoLinker())
    if "THEANO" not in predefined_modes:
        register_mode("THEANO", THEANO)
        _allow_in_config()


def _allow_in_config() -> None:
    """Let ``pytensor.config.mode`` take the name, too, whose list of names is a constant of a function."""
    option = getattr(config, "_config_var_dict", {}).get("mode")
    check = getattr(option, "_apply", None)
    if option is not None and check is not None:
        option._apply = lambda value: value if value == "THEANO" else check(value)


# ---- Addresses of compiled functions, for samplers and other programs that call C


def engine_function(function: Any) -> Any:
    """Return the function of Theano inside a function of PyTensor.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``.

    Raises
    ------
    TypeError
        If another linker compiled it.
    """
    return linker_of(function).engine_function


def c_pointer(function: Any, signature: str | None = None, *, shapes: Mapping[Any, Sequence[int]] | None = None) -> Any:
    """Compile a function of PyTensor as a C function, which needs no interpreter and may be called from any thread.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``, without updates.
    signature : str, optional
        In C: arguments for the inputs, then pointers to memory for the outputs.
    shapes : mapping, optional
        Shapes of inputs, by name or variable of PyTensor, where their types do not tell them.

    Returns
    -------
    CFunction
        A function object of ctypes, with an `address`.

    Raises
    ------
    TypeError
        If an op has no form in C, lengths are not known, or another linker compiled the function.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> f = pytensor.function([x], pt.exp(-(x**2)), mode="THEANO")
    >>> c_pointer(f, "double(double)")(0.0)
    1.0
    """
    linker = linker_of(function)
    ours = {}
    for key, shape in (shapes or {}).items():
        position = _position(function, key)
        ours[linker.engine_inputs[position]] = shape
    return linker.engine_function.c_pointer(signature, shapes=ours)


def _position(function: Any, key: Any) -> int:
    for position, item in enumerate(function.maker.inputs):
        if item.variable is key or (isinstance(key, str) and item.variable.name == key):
            return position
    raise ValueError(f"the function has no input {key!r}. Hint: give a name or a variable of its inputs.")
