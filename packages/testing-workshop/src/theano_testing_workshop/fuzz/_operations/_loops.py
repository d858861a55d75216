"""Loops with any taps and conditions, graphs as ops, and choices between several results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_scan
from theano_tensor.builders import OpFromGraph
from theano_tensor.control import ifelse

from .._draw import ALL, COMPLEX, FLOATS, Draw, called, expression, fitting, in_graphs, in_numpy
from .._program import Operation, Options

# ---- Loops: sequences and states with any taps, conditions, and selections of results

Drawn = tuple[Sequence[int], Options]
Taps = tuple[int, ...]

_SEQUENCE_TAPS: tuple[Taps, ...] = ((0,), (0,), (0,), (-1, 0), (0, 1), (-2, 1), (-1,), (1,), (-2, 0, 2))
_STATE_TAPS: tuple[Taps | None, ...] = ((-1,), (-1,), (-1,), (-2, -1), (-3, -1), (-2,), (-3, -2, -1), None)
_DTYPES = (*FLOATS, *FLOATS[:2], *FLOATS[:1] * 3, "int64", "int8", "uint16", "bool", *COMPLEX)
#: Uses of a result: only some of its steps have to be kept.
_KEPT = ("{}", "{}", "{}[-1]", "{}[1:]", "{}[::-1]", "{}[-2:]", "{}[0]", "{}[:-1]", "{}[::2]")
_IMPORTS = "from theano_testing_workshop.fuzz import loop"


def loop_operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("loop", loop, _reference, _drawn, called("loop"), 2.0, ulp=256, imports=_IMPORTS),
        Operation(
            "loop_of_loops",
            loop_of_loops,
            _nested_reference,
            _drawn_nested,
            called("loop_of_loops"),
            0.4,
            ulp=256,
            imports="from theano_testing_workshop.fuzz import loop_of_loops",
        ),
    ]


def loop(
    *operands: Any,
    sequences: tuple[Taps, ...],
    states: tuple[Taps | None, ...],
    step: tuple[str, ...],
    result: str,
    steps: int | str | None = None,
    until: str | None = None,
    backwards: bool = False,
) -> Any:
    """Return an expression in the results of a loop.

    Parameters
    ----------
    *operands : variables
        The sequences, initial values of states, and constants of all steps.
    sequences : tuple of tuple of int
        The taps of each sequence.
    states : tuple of (tuple of int or None)
        The taps of each result; None where it is not a state.
    step : tuple of str
        Expressions of the results in `a`, the arguments of a step in the order of `scan`.
    result : str
        In `o`, the results of the loop.
    steps : int or 'length', optional
        How many steps; that of the first operand for 'length'.
    until : str, optional
        In `o`, the results of a step: when the loop stops.
    backwards : bool
        Whether sequences are read from their ends.
    """
    given, initial, fixed = _parts(operands, sequences, states)

    def body(*a: Any) -> Any:
        results = [in_graphs(text, a=a) for text in step]
        return results if until is None else (results, theano_scan.until(in_graphs(until, o=results)))

    starts: Any = iter(initial)
    results, _ = theano_scan.scan(
        body,
        [{"input": x, "taps": list(taps)} for x, taps in zip(given, sequences, strict=True)],
        [None if taps is None else {"initial": next(starts), "taps": list(taps)} for taps in states],
        fixed,
        n_steps=operands[0].shape[0] if steps == "length" else steps,
        go_backwards=backwards,
        return_list=True,
    )
    return in_graphs(result, o=results)


def _parts(operands: Any, sequences: tuple[Taps, ...], states: tuple[Taps | None, ...]) -> Any:
    first = len(sequences)
    second = first + sum(taps is not None for taps in states)
    return operands[:first], operands[first:second], list(operands[second:])


def _rows(x: Any, taps: Taps, backwards: bool) -> dict[int, Any]:
    """Return for each tap the elements of all steps."""
    low, high = min(*taps, 0), max(*taps, 0)
    count = len(x) - high + low
    rows = {k: x[k - low : k - low + count] for k in taps}
    return {k: part[::-1] for k, part in rows.items()} if backwards else rows


def _reference(
    *operands: Any,
    sequences: tuple[Taps, ...],
    states: tuple[Taps | None, ...],
    step: tuple[str, ...],
    result: str,
    steps: int | str | None = None,
    until: str | None = None,
    backwards: bool = False,
) -> Any:
    given, initial, fixed = _parts(operands, sequences, states)
    wide = np.result_type(*(operands or [np.float64]))
    if wide.kind == "f":  # functions of narrow integers are narrow in NumPy
        given = [x.astype(wide) for x in given]
    rows = [(taps, _rows(x, taps, backwards)) for x, taps in zip(given, sequences, strict=True)]
    count = len(operands[0]) if steps == "length" else steps
    lengths = [len(part) for _, item in rows for part in item.values()]
    if count is None:
        count = min(lengths)
    if lengths and int(count) > min(lengths):
        raise ValueError("the sequences are too short")
    starts: Any = iter(initial)
    history: list[Any] = []
    for taps in states:
        value: Any = None if taps is None else next(starts)
        history.append([] if taps is None else [value] if taps == (-1,) else list(value[: -min(taps)]))
    befores = [len(element) for element in history]
    for t in range(int(count)):
        a = [found[k][t] for taps, found in rows for k in taps]
        a += [history[n][t + befores[n] + k] for n, taps in enumerate(states) if taps is not None for k in taps]
        new = [np.asarray(in_numpy(text, a=[*a, *fixed])) for text in step]
        saved = [np.asarray(v, dtype=past[0].dtype) if past else v for v, past in zip(new, history, strict=True)]
        for past, value in zip(history, saved, strict=True):
            past.append(value)
        if until is not None and bool(in_numpy(until, o=saved)):
            break
    return in_numpy(result, o=[np.stack(past[n:]) for past, n in zip(history, befores, strict=True)])


def _drawn(d: Draw) -> Drawn:
    dtype = d.any_dtype(_DTYPES) if d.chance(0.6) else str(d.one_of(_DTYPES))
    row = tuple(d.between(1, 3) for _ in range(d.one_of((0, 1, 1, 2))))
    sequences = tuple(d.one_of(_SEQUENCE_TAPS) for _ in range(d.one_of((0, 1, 1, 1, 2))))
    states = tuple(d.one_of(_STATE_TAPS) for _ in range(d.one_of((1, 1, 2, 3))))
    length = d.one_of((1, 2, 3, 3, 4, 5, 8))
    narrow = _narrow(d, dtype, sequences, states)
    operands = [fitting(d, narrow, (length + max(*t, 0) - min(*t, 0), *row)) for t in sequences]
    initial = [
        fitting(d, dtype, row if t == (-1,) else (-min(t) + (1 if d.chance(0.1) else 0), *row))
        for t in states
        if t is not None
    ]
    fixed = [fitting(d, dtype, row) for _ in range(d.one_of((0, 1, 1, 2)))]
    names, kind = _arguments(d, sequences, states, len(fixed)), np.dtype(dtype).kind
    # A result that is no state has the dtype of its operands: all states have that of the loop.
    # Sums within a row of truth values, which the reference takes for floats, would differ.
    step = tuple(_step(d, names, kind, taps, bool(row) and narrow == dtype) for taps in states)
    options: dict[str, Any] = {"sequences": sequences, "states": states, "step": step}
    options["result"] = _result(d, len(states))
    shortest = bool(sequences) and d.chance(0.7)
    if not shortest:
        options["steps"] = "length" if sequences == ((0,),) and d.chance(0.4) else d.between(1, length)
    if kind in "fiu" and d.chance(0.25):
        options["until"] = f"o[{d.between(0, len(step) - 1)}].max() > {d.one_of((0, 1, 2, 0.4))}"
    if sequences and d.chance(0.25):
        options["backwards"] = True
    return [*operands, *initial, *fixed], options


def _narrow(d: Draw, dtype: str, sequences: tuple[Taps, ...], states: tuple[Taps | None, ...]) -> str:
    """Return the dtype of sequences: at times one that the dtype of the loop holds.

    There is one such argument of a step at most, beside a state: sums of two are of that dtype, and the reference takes
    floats.
    """
    alone = sum(map(len, sequences)) == 1 and any(taps is not None for taps in states)
    return str(d.one_of(("int8", "bool"))) if dtype in FLOATS and alone and d.chance(0.2) else dtype


def _arguments(d: Draw, sequences: tuple[Taps, ...], states: tuple[Taps | None, ...], fixed: int) -> list[str]:
    count = sum(map(len, sequences)) + sum(len(taps) for taps in states if taps is not None) + fixed
    return [f"a[{k}]" for k in range(count)]


def _step(d: Draw, names: Sequence[str], kind: str, taps: Taps | None, rows: bool) -> str:
    if not names:
        return {"b": "m.ones((), dtype='bool')"}.get(kind, "m.ones(())")
    used = [name for name in names if d.chance(0.7)] or [str(d.one_of(names))]
    text = expression(d, used, kind, d.between(0, 2), rows=rows)
    # States that only grow are no numbers soon.
    return f"m.tanh({text})" if kind == "f" and taps is not None and d.chance(0.6) else text


def _result(d: Draw, count: int) -> str:
    saved = [str(d.one_of(_KEPT)).format(f"o[{k}]") for k in range(count) if d.chance(0.7)]
    if len(saved) < 2:
        return saved[0] if saved else "o[0]"
    flat = [f"{text}.sum()" for text in saved] if d.chance(0.5) else [f"{text}.reshape((-1,))" for text in saved]
    return " + ".join(flat) if ".sum" in flat[0] else f"m.concatenate([{', '.join(flat)}])"


# Loops in loops
def loop_of_loops(x: Any, start: Any, step: str, last: bool = False) -> Any:
    """Return the results of loops along the rows of a matrix, each of which begins where the last one ended."""

    def along(row: Any, before: Any) -> Any:
        inner, _ = theano_scan.scan(lambda y, z: in_graphs(step, a=(y, z)), row, before)
        return inner[-1]

    outer, _ = theano_scan.scan(along, x, start)
    return outer[-1] if last else outer


def _nested_reference(x: Any, start: Any, step: str, last: bool = False) -> Any:
    match, state = [], start
    for row in x:
        for y in row:
            state = np.asarray(in_numpy(step, a=(y, state)), dtype=start.dtype)
        match.append(state)
    return match[-1] if last else np.stack(match)


def _drawn_nested(d: Draw) -> Drawn:
    dtype = d.any_dtype(FLOATS)
    x, start = fitting(d, dtype, (d.between(1, 3), d.between(1, 3))), fitting(d, dtype, ())
    return [x, start], {"step": f"m.tanh({expression(d, ['a[0]', 'a[1]'], 'f', 1)})", "last": d.chance(0.4)}


# ---- Graphs as ops, and choices

_INNER_DTYPES = (*FLOATS, "float64", "int64", "int8", "uint8", "bool", "complex128", "complex64")


def inner_operations() -> list[Operation]:
    """Return the operations of this module."""
    imports = "from theano_testing_workshop.fuzz import"
    return [
        Operation(
            "graph_op",
            graph_op,
            _graph_reference,
            _drawn_graph,
            called("graph_op"),
            1,
            imports=f"{imports} graph_op",
            ulp=64,
        ),
        Operation(
            "chosen_pair",
            chosen_pair,
            _chosen_reference,
            _drawn_choice,
            called("chosen_pair"),
            0.5,
            imports=f"{imports} chosen_pair",
            ulp=64,
        ),
    ]


def graph_op(*operands: Any, results: tuple[str, ...], joined: str, inline: bool = False, twice: bool = False) -> Any:
    """Return an expression in the results of an op that is made of expressions.

    Parameters
    ----------
    *operands : variables
        All of one type.
    results : tuple of str
        Expressions in `a`, the inputs of the op.
    joined : str
        In `o`, its results.
    inline : bool
    twice : bool
        Whether it is applied once more, with the operands the other way round.
    """
    inputs = [x.type() for x in operands]
    op = OpFromGraph(inputs, [in_graphs(text, a=inputs) for text in results], inline=inline)
    calls = [operands, operands[::-1]] if twice else [operands]
    matches = [op(*x) for x in calls]
    return in_graphs(joined, o=[y for ys in matches for y in (ys if isinstance(ys, list) else [ys])])


def _graph_reference(
    *operands: Any, results: tuple[str, ...], joined: str, inline: bool = False, twice: bool = False
) -> Any:
    calls = [operands, operands[::-1]] if twice else [operands]
    return in_numpy(joined, o=[np.asarray(in_numpy(text, a=a)) for a in calls for text in results])


def _drawn_graph(d: Draw) -> Drawn:
    first = d.pick(_INNER_DTYPES)
    dtype = d.dtype(first)
    kind = np.dtype(dtype).kind
    like = [i for i in range(len(d.items)) if d.variables[i].type == d.variables[first].type]
    like = [i for i in like if d.shape(i) == d.shape(first)]
    operands = [first, *(int(d.one_of(like)) for _ in range(d.between(0, 2)))]
    names = [f"a[{k}]" for k in range(len(operands))]
    rows = bool(d.shape(first)[:1] > (0,))
    used = ([n for n in names if d.chance(0.8)] or names for _ in "xy")
    results = tuple(expression(d, some, kind, d.between(0, 3), rows=rows) for some in used)
    results = results[: d.between(1, 2)]
    twice = d.chance(0.3)
    outer = [f"o[{k}]" for k in range(len(results) * (2 if twice else 1))]
    joined = expression(d, [n for n in outer if d.chance(0.7)] or outer[:1], kind, d.between(0, 1))
    return operands, {"results": results, "joined": joined, "inline": d.chance(0.4), "twice": twice}


def chosen_pair(which: Any, *operands: Any, first: tuple[str, str], second: tuple[str, str], joined: str) -> Any:
    """Return an expression in two results of `ifelse`, each side of which computes only where it is chosen."""
    then, otherwise = ([in_graphs(text, a=operands) for text in texts] for texts in (first, second))
    return in_graphs(joined, o=ifelse(which, then, otherwise))


def _chosen_reference(which: Any, *operands: Any, first: Any, second: Any, joined: str) -> Any:
    return in_numpy(joined, o=[np.asarray(in_numpy(text, a=operands)) for text in (first if which else second)])


def _drawn_choice(d: Draw) -> Drawn:
    dtype = d.any_dtype(_INNER_DTYPES)
    kind = np.dtype(dtype).kind
    shape = d.any_shape((0, 1, 2))
    operands = [fitting(d, dtype, shape) for _ in range(d.between(1, 2))]
    names = [f"a[{k}]" for k in range(len(operands))]
    which = d.pick(("int64", "int8", "bool", "float64"), 0) if d.chance(0.5) else d.leaf(d.one_of(ALL[:4]), ())

    def side() -> tuple[str, str]:
        # Without operations at times: the result is the operand itself.
        texts = [expression(d, [str(d.one_of(names))], kind, d.between(0, 1), rows=shape[:1] > (0,)) for _ in "xy"]
        return texts[0], texts[1]

    joined = expression(d, ["o[0]", "o[1]"], kind, 0)
    return [which, *operands], {"first": side(), "second": side(), "joined": joined}
