"""Small functions and names that programs have found in the modules of `theano.compile`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, TextIO

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, config, letters as char_from_number
from theano_linker_c import Function, FunctionMaker, In, Out, ProfileStats
from theano_linker_c.profiling import printer
from theano_optimize import DestroyHandler
from theano_tensor import ShapeI, ShapeOf, TensorType
from theano_tensor.rewrites import known_shape_i as shape_i

__all__ = [
    "DUPLICATE",
    "AliasedMemoryError",
    "DataDestroyed",
    "NoDuplicateOptWarningFilter",
    "ScanProfileStats",
    "SymbolicInput",
    "SymbolicOutput",
    "alias_root",
    "char_from_number",
    "check_eq",
    "check_equal",
    "contains_inf",
    "contains_nan",
    "convert_function_input",
    "data_destroyed",
    "fgraph_updated_vars",
    "flatten",
    "infer_reuse_pattern",
    "ops_with_inner_function",
    "expandable_types",
    "Shape",
    "Shape_i",
    "shape_i",
    "shape_i_op",
    "print_global_stats",
    "register_checker",
    "register_profiler_printer",
    "std_fgraph",
]

SymbolicInput = In
SymbolicOutput = Out
#: The types whose dimensions may be made to broadcast.
expandable_types: tuple[type, ...] = (TensorType,)
#: `shape_i_op(i)` is the op for the length along axis i.
shape_i_op = ShapeI
Shape = ShapeOf
Shape_i = ShapeI
#: Marks a name that two inputs have.
DUPLICATE = ["DUPLICATE"]
#: Class of ops -> the name of their attribute with the function inside; the classes fill it in.
ops_with_inner_function: MutableMapping[type, str] = {}

_checkers: list[Callable[[Any, Any], bool]] = []
_printers: list[Callable[..., Any]] = []


class AliasedMemoryError(Exception):
    """Two values share memory that should not."""


class DataDestroyed:
    """Stands for a value that has been overwritten."""


data_destroyed = DataDestroyed()


class NoDuplicateOptWarningFilter(logging.Filter):
    """Lets a message about a rewrite through once.

    Attributes
    ----------
    prev_msgs : set of str
        Messages that have passed.
    """

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.prev_msgs: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is about something else, or new."""
        message = record.getMessage()
        if not message.startswith("Optimization Warning: "):
            return True
        fresh = message not in self.prev_msgs
        self.prev_msgs.add(message)
        return fresh


def alias_root(v: Variable) -> Variable:
    """Return the variable in whose memory a variable lies, by the views and in-place results between them.

    Raises
    ------
    NotImplementedError
        If it lies in the memory of several.
    """
    while v.owner is not None:
        op, position = v.owner.op, v.index or 0
        places = [*op.view_map.get(position, ()), *op.destroy_map.get(position, ())]
        if len(places) > 1:
            raise NotImplementedError(f"{v} lies in the memory of several inputs of {v.owner}")
        if not places:
            break
        v = v.owner.inputs[places[0]]
    return v


def infer_reuse_pattern(fgraph: FunctionGraph, outputs_to_disown: Iterable[Variable]) -> set[Variable]:
    """Return the computed variables of a graph that may share memory with some of its variables.

    Parameters
    ----------
    fgraph : FunctionGraph
    outputs_to_disown : iterable of Variable
    """
    roots = {alias_root(v) for v in outputs_to_disown}
    computed = (v for node in fgraph.toposort() for v in node.outputs)
    return {v for v in computed if alias_root(v) in roots}


def fgraph_updated_vars(fgraph: FunctionGraph, expanded_inputs: Iterable[In]) -> dict[Variable, Variable]:
    """Return for inputs of a graph that are updated the outputs that become their new values.

    Parameters
    ----------
    fgraph : FunctionGraph
        Its last outputs are the new values, in the order of the inputs.
    expanded_inputs : iterable of In
        One for each input of the graph.
    """
    inputs = list(expanded_inputs)
    if len(inputs) != len(fgraph.inputs):
        raise ValueError(f"{len(inputs)} inputs are described, and the graph has {len(fgraph.inputs)}")
    updated = [v for item, v in zip(inputs, fgraph.inputs, strict=True) if item.update is not None]
    return dict(zip(updated, fgraph.outputs[len(fgraph.outputs) - len(updated) :], strict=True))


def std_fgraph(
    input_specs: Iterable[In], output_specs: Iterable[Out], accept_inplace: bool = False
) -> tuple[FunctionGraph, list[Out]]:
    """Return a graph for inputs and outputs of a function, and descriptions of the new values that it computes too.

    Parameters
    ----------
    input_specs : iterable of In
    output_specs : iterable of Out
    accept_inplace : bool
        Whether ops may overwrite their inputs.

    Raises
    ------
    TypeError
        If one does, and must not.
    """
    inputs, outputs = list(input_specs), list(output_specs)
    updates = [item.update for item in inputs if item.update is not None]
    fgraph = FunctionGraph([item.variable for item in inputs], [*(out.variable for out in outputs), *updates])
    overwriting = [node for node in fgraph.toposort() if node.op.destroy_map]
    if overwriting and not accept_inplace:
        raise TypeError(f"{overwriting[0]} overwrites its input, which accept_inplace=False forbids")
    if overwriting:
        fgraph.attach_feature(DestroyHandler())
    return fgraph, [Out(v) for v in updates]


def convert_function_input(input: Any) -> In:
    """Return an input of `function`, a variable, In, or a tuple of these and values, as an In.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if isinstance(input, In):
        return input
    if isinstance(input, Variable):
        return In(input)
    if not isinstance(input, (list, tuple)) or not input:
        raise TypeError(f"{input!r} is no input of a function: pass a variable, an In or a tuple")
    name, details = (input[0], list(input[1:])) if isinstance(input[0], str) else (None, list(input))
    variable, value = details[0], details[1] if len(details) > 1 else None
    if isinstance(variable, (list, tuple)):
        return In(variable[0], name=name, value=value, update=variable[1])
    return In(variable, name=name, value=value)


def register_checker(checker: Callable[[Any, Any], bool]) -> None:
    """Let a function of two values decide first whether they are equal, for :func:`check_equal`."""
    _checkers.insert(0, checker)


def check_equal(x: Any, y: Any) -> bool:
    """Tell whether two values are equal, as registered checkers say, and otherwise ``==``."""
    for checker in _checkers:
        if checker(x, y):
            return True
    return bool(np.all(x == y))


def check_eq(var: Variable, val1: Any, val2: Any) -> bool:
    """Tell whether two values of a variable are equal up to rounding."""
    comparison = getattr(var.tag, "values_eq_approx", None)
    return bool(var.type.values_eq_approx(val1, val2) if comparison is None else comparison(val1, val2))


def flatten(l: Any) -> list[Any]:  # noqa: E741  (the historical name)
    """Return the members of lists, tuples and sets, at all depths, in one list."""
    if isinstance(l, (list, tuple, set, frozenset)):
        return [item for part in l for item in flatten(part)]
    return [l]


def contains_nan(arr: Any, node: Apply | None = None, var: Variable | None = None) -> bool:
    """Tell whether there is a NaN in an array; an array without floating-point numbers has none."""
    return _any_number(arr, var, np.isnan)


def contains_inf(arr: Any, node: Apply | None = None, var: Variable | None = None) -> bool:
    """Tell whether there is an infinity in an array; an array without floating-point numbers has none."""
    return _any_number(arr, var, np.isinf)


def _any_number(arr: Any, var: Variable | None, test: Callable[[Any], Any]) -> bool:
    unchecked = var is not None and getattr(var.tag, "nan_guard_mode_check", None) is False
    if unchecked or not isinstance(arr, (np.ndarray, np.generic, float, complex)):
        return False
    array = np.asarray(arr)
    return array.dtype.kind in "fc" and bool(test(array).any())


def register_profiler_printer(fct: Callable[..., Any]) -> Callable[..., Any]:
    """Let :func:`print_global_stats` call a function for each profile that is printed when the program ends.

    It is given ``(message, compile_time, fct_call_time, apply_time, apply_cimpl, output_size, file)``.
    """
    _printers.append(fct)
    return fct


def print_global_stats() -> None:
    """Print how often and how long the profiled functions were called and compiled, all together."""
    profiles: list[ProfileStats] = list(printer.profiles)
    calls, seconds = sum(p.fct_callcount for p in profiles), sum(p.fct_call_time for p in profiles)
    print(f"Global stats: {len(profiles)} profiles, {calls} calls in {seconds:.3e}s, ", end="")
    print(f"compiled in {sum(p.compile_time for p in profiles):.3e}s (profile={config.profile})")
    for fct in _printers:
        for p in profiles:
            fct(p.message, p.compile_time, p.fct_call_time, p.apply_time, p.apply_cimpl, {}, None)


class ScanProfileStats(ProfileStats):
    """Figures of the loops of a program.

    Parameters
    ----------
    atexit_print : bool
    name : str, optional
    **kwargs
        As for ProfileStats.

    Attributes
    ----------
    callcount, nbsteps, call_time : number
        How often loops ran, how many steps they did, and the seconds that this took.
    """

    callcount = 0.0
    nbsteps = 0.0
    call_time = 0.0

    def __init__(self, atexit_print: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(atexit_print, **kwargs)
        self.name = name

    def summary_globals(self, file: TextIO) -> None:
        """Print nothing: loops run inside functions, whose profiles have the times."""

    def summary_function(self, file: TextIO) -> None:
        """Print how often loops ran, and how long."""
        if self.callcount:
            print(f"Scan Op profiling ({self.name or ''})", file=file)
            print(f"  Message: {self.message}", file=file)
            calls = f"{self.callcount} calls of the op (for a total of {self.nbsteps} steps)"
            print(f"  Time in {calls} {self.call_time:3e}s", file=file)


def _pickle_Function(f: Function | None = None) -> Any:
    """Reduce a function for `pickle`."""
    return None if f is None else f.__reduce__()


def _pickle_FunctionMaker(maker: FunctionMaker | None = None) -> Any:
    """Reduce the maker of a function for `pickle`."""
    return None if maker is None else maker.__reduce_ex__(2)
