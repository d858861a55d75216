"""The gradient of a scalar cost; where the path of a disconnected gradient breaks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from theano_graph import (
    Apply,
    Variable,
    ancestors,
    collector_paused,
    config,
    connection_pattern,
    describe,
    format_error,
    graph_inputs,
    warn_user,
)
from theano_linker_c.profiling import Stopwatch, outside

from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import DerivativeValueError, DisconnectedInputError, NullCostError, NullTypeGradError
from ._backward import Edge, backward
from ._supports import (
    cast_to,
    cotangent_dtype,
    dtype_of,
    is_complex,
    is_continuous,
    is_discrete,
    of_same_pattern,
    ones_for,
    static_shape,
    zeros_for,
)
from ._types import DisconnectedType, NullType

# ---- The text of the error for a disconnected gradient: where the path from the cost to the variable breaks

Step = tuple[Variable, Apply, bool]


def disconnected_text(
    wrt: Variable, costs: Iterable[Variable], constants: Iterable[Variable], cuts: Collection[Edge] = ()
) -> str:
    """Return the message that says why no cost depends differentiably on `wrt`."""
    costs, blocked = list(costs), set(constants)
    names = " or ".join(f"`{c}`" for c in costs)
    path = _path(wrt, costs, blocked, cuts)
    if path is None:
        used = [describe(v) for v in graph_inputs(costs) if not hasattr(v, "data")]
        return format_error(
            f"the gradient of {names} with respect to `{wrt}` is disconnected: `{wrt}` is not used to compute {names}",
            context=[describe(wrt), *(f"the cost depends on {u}" for u in used[:8])],
            hint="differentiate with respect to a variable that the cost is computed from "
            "(the very object, not another one with the same name), or pass disconnected_inputs='ignore' to get zeros",
        )
    return format_error(
        f"the gradient of {names} with respect to `{wrt}` is disconnected",
        context=[describe(wrt), f"path from the cost to `{wrt}`:", *_path_lines(path, blocked)],
        hint="compute the cost without the step that breaks the path, take the variable out of `wrt`, "
        "or pass disconnected_inputs='ignore' to get zeros",
    )


def depends_in_steps(
    wrt: Variable, costs: Iterable[Variable], constants: Iterable[Variable], cuts: Collection[Edge]
) -> bool:
    """Tell whether a cost depends on `wrt` by way of comparisons and the like, whose derivatives are zero.

    Parameters
    ----------
    wrt : Variable
        Which no gradient has reached.
    costs, constants : iterable of Variable
    cuts : collection of (Apply, int)
        The node and the number of each input that a gradient rule said does not matter.
    """
    blocked = set(constants)
    work = list(costs)
    seen = set(work)
    while work:
        variable = work.pop()
        if variable is wrt:
            return True
        node = variable.owner
        if node is None or variable in blocked:
            continue
        pattern = connection_pattern(node)
        steps = not any(is_continuous(v) for v in node.outputs)
        for i, source in enumerate(node.inputs):
            if source not in seen and pattern[i][variable.index or 0] and (steps or (node, i) not in cuts):
                seen.add(source)
                work.append(source)
    return False


def _path(wrt: Variable, costs: list[Variable], blocked: set[Variable], cuts: Collection[Edge]) -> list[Step] | None:
    """Return the steps from a cost down to `wrt` with the fewest breaks (0-1 breadth-first search), or None."""
    came_from: dict[Variable, tuple[Variable, Apply, bool] | None] = dict.fromkeys(costs)
    path: list[Variable] = list(costs)
    broken: list[Variable] = []
    done: set[Variable] = set()
    while path or broken:
        variable = path.pop() if path else broken.pop(0)
        if variable in done:
            continue
        done.add(variable)
        if variable is wrt:
            return _unwind(wrt, came_from)
        node = variable.owner
        if node is None:
            continue
        pattern = connection_pattern(node)
        for i, source in enumerate(node.inputs):
            if source in done:
                continue
            passes = pattern[i][variable.index or 0] and variable not in blocked and (node, i) not in cuts
            if passes or source not in came_from:
                came_from[source] = (variable, node, passes)
                (path if passes else broken).append(source)
    return None


def _unwind(wrt: Variable, came_from: Mapping[Variable, Step | None]) -> list[Step]:
    steps: list[Step] = []
    current = wrt
    while (step := came_from[current]) is not None:
        steps.append((current, step[1], step[2]))
        current = step[0]
    steps.reverse()
    return steps


def _path_lines(path: list[Step], blocked: set[Variable], keep: int = 5) -> list[str]:
    breaks = [k for k, (_, _, passes) in enumerate(path) if not passes]
    shown = {k for b in breaks[:1] for k in range(b - keep, b + keep + 1)} | {0, len(path) - 1}
    lines: list[str] = []
    for k, (source, node, passes) in enumerate(path):
        if k not in shown:
            if k - 1 in shown:
                lines.append("  ...")
            continue
        origin = f" made at {node.origin}" if node.origin is not None else ""
        note = ""
        if not passes:
            held = any(o in blocked for o in node.outputs)
            reason = "is in `consider_constant`" if held else f"does not depend on the values of `{source}`"
            note = f"   <-- breaks here: the result of {node.op} {reason}"
        lines.append(f"  {node.op}{origin}, of `{source}`{note}")
    return lines


# ---- The gradient of a scalar cost

OnDisconnected = Literal["ignore", "warn", "raise"]
Disconnected = Literal["zero", "None", "Disconnected"]
OnNull = Literal["raise", "return"]

TensorT = TypeVar("TensorT", bound=Tensor)

gradient_time = Stopwatch()
"""The time spent on gradients; profiles of functions print it."""
outside["Time in all call to theano.grad()"] = lambda: gradient_time.seconds


#: Makes the function of the gradient from a function in plain Python and positions of its arguments.
_of_functions: list[Callable[[Callable[..., Any], Any], Any]] = []


def differentiate_functions_by(make: Callable[[Callable[..., Any], Any], Any]) -> None:
    """Set the meaning of :func:`grad` for functions in plain Python, which this layer does not compile.

    Parameters
    ----------
    make : callable
        Takes a function and a position, or a sequence of positions, of its arguments.
    """
    _of_functions[:] = [make]


@overload
def grad(
    cost: Variable | None,
    wrt: Tensor,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: Literal["zero", "Disconnected"] = "zero",
    null_gradients: OnNull = "raise",
) -> Tensor: ...
@overload
def grad(
    cost: Variable | None,
    wrt: list[TensorT],
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: Literal["zero", "Disconnected"] = "zero",
    null_gradients: OnNull = "raise",
) -> list[Tensor]: ...
@overload
def grad(
    cost: Variable | None,
    wrt: tuple[TensorT, ...],
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: Literal["zero", "Disconnected"] = "zero",
    null_gradients: OnNull = "raise",
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: Disconnected = "zero",
    null_gradients: OnNull = "raise",
) -> Any: ...
@overload
def grad(cost: Callable[..., Any], wrt: int | Sequence[int] = 0) -> Callable[..., Any]: ...
def grad(
    cost: Any,
    wrt: Any = None,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Variable] | None = None,
    return_disconnected: Disconnected = "zero",
    null_gradients: OnNull = "raise",
) -> Any:
    """Return the symbolic gradient of a cost with respect to one or more variables.

    Parameters
    ----------
    cost : scalar Variable, callable or None
        The scalar to differentiate. None is allowed when `known_grads` is given. Of a function in plain Python, the
        result is the function of its gradient, as `theano.functional.grad` returns it.
    wrt : Variable, or list or tuple of Variable
        The variables of differentiation; intermediate variables are allowed. Of a function: positions of
        its arguments, by default 0.
    consider_constant : sequence of Variable, optional
        Nothing is propagated back through these.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        The reaction to a variable that the cost does not depend on differentiably.
    add_names : bool
        Name the results ``(dcost/dwrt)`` where both variables have names.
    known_grads : mapping, optional
        Variable -> its gradient. These are taken as they are, and propagation starts from them too.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        The gradient of a disconnected variable: zeros, None, or a variable of type DisconnectedType.
    null_gradients : {'raise', 'return'}
        The reaction to a gradient that is undefined or not written.

    Returns
    -------
    Variable, or list or tuple of Variable
        As `wrt`. Each has the shape of its `wrt`, and its dtype, or floatX where `wrt` is of integer type. For a
        complex variable it is ``d cost / d real + 1j * d cost / d imag``.

    Warns
    -----
    UserWarning
        If a gradient is zero since the cost is of integers (``(x > 0).sum()``), or since only integers lead from a
        variable of integers to the cost; not with ``config.warn_integer_gradient`` False.

    Raises
    ------
    TypeError
        If the cost is not a real scalar, or `wrt` holds something that is no variable.
    DisconnectedInputError
        If `disconnected_inputs` is 'raise' and a variable is disconnected. It is a ValueError.
    NullTypeGradError
        If `null_gradients` is 'raise' and a gradient is undefined or not written. It is a TypeError.
    ValueError
        If an option has none of its allowed values, or neither `cost` nor `known_grads` is given.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> gx = T.grad(x**2, x)
    """
    if _of_functions and callable(cost) and not isinstance(cost, Variable):
        return _of_functions[0](cost, 0 if wrt is None else wrt)
    check_option("disconnected_inputs", disconnected_inputs, ("ignore", "warn", "raise"))
    check_option("return_disconnected", return_disconnected, ("zero", "None", "Disconnected"))
    check_option("null_gradients", null_gradients, ("raise", "return"))
    seeds = _seeds(cost, known_grads)
    if config.warn_integer_gradient:
        warn_of_integers(_as_list(wrt, "wrt"), seeds)
    return differentiate(
        cost, seeds, wrt, consider_constant, disconnected_inputs, add_names, return_disconnected, null_gradients
    )


def differentiate(
    cost: Variable | None,
    seeds: Mapping[Variable, Variable],
    wrt: Any,
    consider_constant: Sequence[Variable] | None,
    disconnected_inputs: OnDisconnected,
    add_names: bool = True,
    return_disconnected: Disconnected = "zero",
    null_gradients: OnNull = "raise",
    *,
    additive: bool = False,
) -> Any:
    """Do the work of :func:`grad`, for given cotangents; see :func:`backward` about `additive`."""
    variables = _as_list(wrt, "wrt")
    constants = _as_list([] if consider_constant is None else consider_constant, "consider_constant")
    cuts: set[Edge] = set()
    with gradient_time, collector_paused():
        gradients = backward(seeds, variables, constants, cuts, additive=additive)
    results: list[Variable | None] = []
    for variable, gradient in zip(variables, gradients, strict=True):
        if gradient is None and cuts and depends_in_steps(variable, list(seeds), constants, cuts):
            results.append(zeros_for(variable))
            continue
        if gradient is None:
            costs = list(seeds) or ([] if cost is None else [cost])
            report_disconnected(variable, costs, constants, disconnected_inputs, cuts)
            results.append(_stand_in(variable, return_disconnected))
            continue
        if isinstance(gradient.type, NullType) and null_gradients == "raise":
            raise _null_error(cost, variable, gradient.type)
        gradient = of_same_pattern(variable, gradient)
        results.append(gradient)
        _name(gradient, cost, variable, add_names, seeds)
    return format_as(
        isinstance(wrt, list), isinstance(wrt, tuple), results if isinstance(wrt, (list, tuple)) else results[0]
    )


def format_as(use_list: bool, use_tuple: bool, outputs: Any) -> Any:
    """Return `outputs` in the form that the caller used.

    Parameters
    ----------
    use_list, use_tuple : bool
        Whether a list or a tuple is wanted; not both.
    outputs : Variable, or list or tuple of Variable
        A single item is wrapped where a list or tuple is wanted.

    Raises
    ------
    ValueError
        If both are wanted.
    """
    if use_list and use_tuple:
        raise DerivativeValueError("format_as: a result is a list or a tuple, not both")
    if not use_list and not use_tuple:
        return outputs
    items = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return list(items) if use_list else tuple(items)


def report_disconnected(
    variable: Variable,
    costs: Sequence[Variable],
    constants: Iterable[Variable],
    policy: OnDisconnected,
    cuts: Collection[Edge] = (),
) -> None:
    """Raise or warn, as `policy` says, that no cost depends on `variable`."""
    if policy == "ignore":
        return
    text = disconnected_text(variable, costs, constants, cuts)
    if policy == "warn":
        warn_user(text)
        return
    raise DisconnectedInputError(text)


def warn_of_integers(variables: Sequence[Variable], costs: Collection[Variable]) -> None:
    """Warn of variables whose gradient is zero since the costs are of integers, or only integers lead to them."""
    steps = bool(costs) and all(map(is_discrete, costs))
    asked = [v for v in variables if steps or is_discrete(v)]
    if not asked:
        return
    read = set() if steps else _read_by_floats(costs)
    zero = [v for v in asked if v not in read]
    if zero:  # variables that the cost does not depend on at all have another error
        variables_above = set(ancestors(costs))
        zero = [v for v in zero if v in variables_above]
    integers = [v for v in zero if is_discrete(v)]
    _warn_of_zeros(
        integers,
        integers,
        "the cost makes integers of it, and functions of integers are steps",
        "cast it to floats before",
    )
    floats = [v for v in zero if not is_discrete(v)]
    _warn_of_zeros(
        floats,
        [*costs, *floats],
        "the cost is of integers, which jump and have no slope",
        "take a cost of floats, for instance with T.nnet.sigmoid(x) in place of x > 0",
    )


def _warn_of_zeros(variables: Sequence[Variable], shown: Iterable[Variable], reason: str, hint: str) -> None:
    if variables:
        names = ", ".join(f"`{v}`" for v in variables)
        warn_user(
            format_error(
                f"grad: the gradient with respect to {names} is zero: {reason}",
                context=[describe(v) for v in shown],
                hint=f"{hint}, or set config.warn_integer_gradient=False",
            )
        )


def _read_by_floats(costs: Iterable[Variable]) -> set[Variable]:
    """Return the variables that the costs depend on without integers in between."""
    reached = {cost for cost in costs if not is_discrete(cost)}
    todo = list(reached)
    while todo:
        node = todo.pop().owner
        for x in node.inputs if node is not None else ():
            if x not in reached:
                reached.add(x)
                if not is_discrete(x):
                    todo.append(x)
    return reached


def check_option(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise ValueError(
            format_error(f"{name}={value!r} is not known", hint=f"use one of {', '.join(map(repr, allowed))}")
        )


def _as_list(value: Any, name: str) -> list[Variable]:
    items = (
        list(value)
        if isinstance(value, (list, tuple)) or (not isinstance(value, Variable) and _iterable(value))
        else [value]
    )
    for item in items:
        if not isinstance(item, Variable):
            raise TypeError(
                format_error(
                    f"`{name}` holds {item!r} ({type(item).__name__}), which is no variable",
                    hint="pass symbolic variables",
                )
            )
    return items


def _iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _seeds(cost: Variable | None, known_grads: Mapping[Variable, Variable] | None) -> dict[Variable, Variable]:
    if cost is None and not known_grads:
        raise DerivativeValueError(
            format_error("grad needs a cost or known_grads", hint="pass the scalar that is to be differentiated")
        )
    seeds: dict[Variable, Variable] = {}
    if cost is not None:
        _check_cost(cost)
        seeds[cost] = ones_for(cost)
    for variable, gradient in (known_grads or {}).items():
        if isinstance(getattr(gradient, "type", None), DisconnectedType):
            seeds.pop(variable, None)
        else:
            seeds[variable] = known_gradient(variable, gradient)
    return seeds


def _check_cost(cost: object) -> None:
    if not isinstance(cost, Variable):
        raise TypeError(
            format_error(
                f"the cost is {cost!r} ({type(cost).__name__}), which is no variable", hint="pass a scalar expression"
            )
        )
    if isinstance(cost.type, NullType):
        raise NullCostError(format_error(f"the cost cannot be differentiated: {cost.type.reason}"))
    if is_complex(cost):
        raise TypeError(
            format_error(
                f"the cost of a gradient is a real number, but `{cost}` is complex",
                context=[describe(cost)],
                hint="differentiate a real function of it, for instance `real(cost)` or `abs(cost)`",
            )
        )
    shape = static_shape(cost)
    if shape is not None and len(shape) > 0:
        text = ", ".join("?" if n is None else str(n) for n in shape)
        raise TypeError(
            format_error(
                f"the cost must be a scalar, but `{cost}` has {len(shape)} dimension(s), shape ({text})",
                context=[describe(cost)],
                hint="reduce it first, for instance `cost.sum()` or `cost.mean()`",
            )
        )


def known_gradient(variable: Variable, gradient: TensorLike) -> Variable:
    """Return a gradient that the user gave for `variable`, checked and in its dtype."""
    if not isinstance(variable, Variable) or not isinstance(gradient, Variable):
        raise TypeError(
            format_error("known_grads maps variables to variables", context=[f"got {variable!r}: {gradient!r}"])
        )
    expected, got = static_shape(variable), static_shape(gradient)
    # A number stands for an array of it, as rules of ops may treat it.
    if expected is not None and got is not None and len(expected) != len(got) > 0:
        raise TypeError(
            format_error(
                f"known_grads gives `{variable}` with {len(expected)} dimensions a gradient with {len(got)}",
                context=[describe(variable), describe(gradient)],
                hint="a gradient has the shape of its variable",
            )
        )
    if dtype_of(gradient) is not None and (not is_continuous(gradient) or is_continuous(variable)):
        return cast_to(gradient, cotangent_dtype(variable))
    return gradient


def _stand_in(variable: Variable, kind: Disconnected) -> Variable | None:
    if kind == "zero":
        return zeros_for(variable)
    if kind == "None":
        return None
    disconnected: Variable = DisconnectedType()()
    return disconnected


def _null_error(cost: Variable | None, variable: Variable, null: NullType) -> NullTypeGradError:
    of = "" if cost is None else f" of `{cost}`"
    return null.error(
        format_error(
            f"the gradient{of} with respect to `{variable}` cannot be computed: {null.reason}",
            context=[describe(variable)],
            hint="write the gradient of that op, leave the variable out of `wrt`, or cut the path: `disconnected_grad`",
        )
    )


def _name(
    gradient: Variable, cost: Variable | None, variable: Variable, add_names: bool, seeds: Mapping[Variable, Variable]
) -> None:
    if not add_names or cost is None or cost.name is None or variable.name is None:
        return
    # A gradient that is one of the user's own variables keeps the name that the user gave, or did not give.
    if gradient.name is None and (cost is variable or all(gradient is not g for g in seeds.values())):
        gradient.name = f"(d{cost.name}/d{variable.name})"
