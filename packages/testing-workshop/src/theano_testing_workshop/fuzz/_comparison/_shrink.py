"""Failing programs: made as small as possible, and printed as Python source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theano_graph import ancestors
from theano_tensor.builders import GraphOp

from .._draw import FLOATS
from .._program import Leaf, Node, Program, Unbuildable, build, evaluate, leaves_of
from ._batch import PLAIN, Configuration, Failure, compare_batch
from ._judge import Tally

# ---- Shrinking

Check = Callable[[Program], Failure | None]


def check(program: Program, configuration: Configuration) -> Failure | None:
    """Return how a program fails on a configuration (or on the plain machine); None if it does not."""
    configurations = [] if configuration is PLAIN else [configuration]
    match = compare_batch([program], configurations, Tally(), reference=configuration is PLAIN)
    return next((f for f in match if f.configuration is configuration), None)


def shrink(failure: Failure, *, tries: int = 250, checked: Check | None = None) -> Failure:
    """Return the failure of a smaller program, of the same kind.

    Operations are replaced by an operand or by an argument with their value, outputs are left out, arguments become
    shorter, contiguous, of float64, and of simple numbers, as long as the program fails.

    Parameters
    ----------
    failure : Failure
    tries : int
        The most programs that are tried.
    checked : callable, optional
        Returns the failure of a program, or None; by default :func:`check` on the configuration of `failure`.
    """
    ask: Check = (lambda p: check(p, failure.configuration)) if checked is None else checked
    best = failure
    left = tries
    improved = True
    while improved and left > 0:
        improved = False
        for candidate in _smaller(best.program):
            left -= 1
            match = _same_failure(candidate, best, ask)
            if match is not None:
                best, improved = match, True
                break
            if left <= 0:
                break
    return best


def _same_failure(candidate: Program, failure: Failure, ask: Check) -> Failure | None:
    try:
        evaluate(build(candidate))
    except Unbuildable:
        return None
    match = ask(candidate)
    return match if match is not None and _alike(match, failure) else None


def _alike(match: Failure, failure: Failure) -> bool:
    if match.kind != failure.kind:
        return False
    return match.kind != "error" or match.what.split(":")[:2] == failure.what.split(":")[:2]


def _smaller(program: Program) -> Iterator[Program]:
    """Yield smaller programs, the ones that are likely to be much smaller first."""
    yield from _with_less_wanted(program)
    for number in range(len(program.items) - 1, -1, -1):
        item = program.items[number]
        if isinstance(item, Node):
            for operand in dict.fromkeys(item.operands):
                yield _merged(program, number, operand)
    yield from _cut(program)
    for number, item in enumerate(program.items):
        if isinstance(item, Leaf):
            for simpler in _simpler(item):
                yield _with_item(program, number, simpler)
    yield from _shorter(program)
    yield from _of_float64(program)


def _with_less_wanted(program: Program) -> Iterator[Program]:
    if len(program.outputs) + len(program.gradients) + len(program.updates) > 1:
        for k in program.outputs:
            yield replace(program, outputs=(k,), gradients=(), updates=()).pruned()
        for pair in program.gradients:
            yield replace(program, outputs=(), gradients=(pair,), updates=()).pruned()
        for update in program.updates:
            yield replace(program, outputs=(), gradients=(), updates=(update,)).pruned()
        for k in program.outputs:
            yield replace(program, outputs=tuple(i for i in program.outputs if i != k)).pruned()
        for update in program.updates:
            yield replace(program, updates=tuple(u for u in program.updates if u != update)).pruned()
    for cost, wrt in program.gradients:
        for leaf in wrt if len(wrt) > 1 else ():
            yield replace(program, gradients=((cost, (leaf,)),)).pruned()


def _merged(program: Program, number: int, operand: int) -> Program:
    """Return the program with an operand in place of an operation."""
    moved = [k if k != number else operand for k in range(len(program.items))]
    items: list[Leaf | Node] = []
    for item in program.items:
        if isinstance(item, Node):
            item = replace(item, operands=tuple(moved[k] for k in item.operands))
        items.append(item)
    return replace(
        program,
        items=tuple(items),
        outputs=tuple(moved[k] for k in program.outputs),
        gradients=tuple((moved[cost], wrt) for cost, wrt in program.gradients),
        updates=tuple((leaf, moved[k]) for leaf, k in program.updates),
    ).pruned()


def _cut(program: Program) -> Iterator[Program]:
    """Yield programs with an argument in place of an operation that others use."""
    built = build(program)
    values = evaluate(built)
    used = {k for item in program.items if isinstance(item, Node) for k in item.operands}
    for number in sorted(used, reverse=True):
        if isinstance(program.items[number], Node):
            shape = tuple(built.variables[number].type.shape)
            yield _with_item(program, number, Leaf(values[number], shape))


def _with_item(program: Program, number: int, item: Leaf | Node) -> Program:
    items = list(program.items)
    items[number] = item
    return replace(program, items=tuple(items)).pruned()


def _simpler(leaf: Leaf) -> Iterator[Leaf]:
    if leaf.layout != "c":
        yield replace(leaf, layout="c")
    if leaf.kind != "input":
        yield replace(leaf, kind="input")
    known = tuple(1 if n == 1 else None for n in leaf.shape)
    if known != leaf.shape:
        yield replace(leaf, shape=known)
    for axis, n in enumerate(leaf.value.shape):
        for short in (1, 2):
            if short < n and leaf.shape[axis] is None:
                yield replace(leaf, value=np.ascontiguousarray(np.take(leaf.value, range(short), axis)))
    yield from _plainer(leaf)


def _plainer(leaf: Leaf) -> Iterator[Leaf]:
    """Yield the leaf with simpler numbers."""
    value = leaf.value
    if value.dtype.kind == "b" or not value.size:
        return
    simple: list[Any] = [np.ones_like(value), (np.arange(value.size).reshape(value.shape) + 1).astype(value.dtype)]
    if value.dtype.kind == "f":
        simple.append(np.round(value))
        simple.append(np.round(value, 1))
    for other in simple:
        if np.abs(_sizes(value) - _sizes(other)).max() > 0 and _plainness(other) < _plainness(value):
            yield replace(leaf, value=np.asarray(other, dtype=value.dtype))


def _sizes(value: Any) -> Any:
    return np.nan_to_num(np.abs(value.astype("complex128")), nan=1e9, posinf=1e10, neginf=1e11)


def _plainness(value: Any) -> int:
    return sum(len(repr(x)) for x in value.reshape(-1).tolist()) + len(set(map(repr, value.reshape(-1).tolist())))


def _shorter(program: Program) -> Iterator[Program]:
    """Yield programs in which all dimensions of one length are shorter."""
    lengths = {n for item in program.items if isinstance(item, Leaf) for n in item.value.shape}
    for n in sorted(lengths, reverse=True):
        for short in (1, 2, 3):
            if short < n:
                yield replace(program, items=tuple(_shortened(item, n, short) for item in program.items))


def _shortened(item: Leaf | Node, length: int, short: int) -> Leaf | Node:
    if isinstance(item, Node) or length not in item.value.shape:
        return item
    index = tuple(slice(0, short) if n == length else slice(None) for n in item.value.shape)
    shape = tuple(short if s == length else s for s in item.shape)
    return replace(item, value=np.ascontiguousarray(item.value[index]), shape=shape)


def _of_float64(program: Program) -> Iterator[Program]:
    for name in (*FLOATS[1:], "complex64", "complex128"):
        if any(isinstance(item, Leaf) and item.value.dtype.name == name for item in program.items):
            yield replace(program, items=tuple(_widened(item, name) for item in program.items))


def _widened(item: Leaf | Node, name: str) -> Leaf | Node:
    if isinstance(item, Node) or item.value.dtype.name != name:
        return item
    return replace(item, value=item.value.real.astype("float64"))


# ---- Programs as Python source that fails where they fail

_HEAD = """\
import numpy as np
from numpy import inf, nan

import theano_tensor as tt
from theano_linker_c import In, Mode, Out, function, shared
from theano_linker_c.modes import FAST_RUN
"""


def as_source(failure: Failure) -> str:
    """Return a program in Python that builds the expressions of a failure, and fails as long as it does.

    Examples
    --------
    >>> from theano_testing_workshop.fuzz import NATIVE, Failure, Grammar, as_source, generate
    >>> "function(" in as_source(Failure(generate(3, Grammar().operations), NATIVE, "values", "an example"))
    True
    """
    program = failure.program
    lines = [f"# seed {program.seed}, {failure.configuration.name}, {failure.kind}: {_first_line(failure.what)}", _HEAD]
    extra = {item.operation.imports for item in program.items if isinstance(item, Node)} - {""}
    extra = {line for text in extra for line in text.split("\n")}
    if program.memory.overlaps:
        extra.add("from theano_testing_workshop.fuzz import OVERLAPS")
    lines[1] += "".join(f"{line}\n" for line in sorted(extra))
    lines += _definitions(program)
    outputs = [f"v{i}" for i in program.outputs]
    for cost, wrt in program.gradients:
        leaves = ", ".join(f"v{i}" for i in wrt)
        outputs.append(f"*tt.grad(v{cost}.sum(), [{leaves}], disconnected_inputs='ignore')")
    inputs = leaves_of(program, "input")
    lines.append("")
    lines.append(f"inputs = [{', '.join(f'v{i}' for i in inputs)}]")
    lines.append(f"outputs = [{', '.join(outputs)}]")
    lines.append(f"updates = [{', '.join(f'(v{a}, v{b})' for a, b in program.updates)}]")
    lines += _given(program)
    lines.append("values = given()")
    lines += _placed(_captured(_comparison(failure), failure.configuration.capture), failure)
    return "\n".join(lines) + "\n"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _definitions(program: Program) -> list[str]:
    lines = []
    for i, item in enumerate(program.items):
        if isinstance(item, Node):
            text = item.operation.source([f"v{k}" for k in item.operands], item.options)
        elif item.kind == "constant":
            text = f"tt.constant({_data(item.value)})"
        elif item.kind == "shared":
            broadcasted = tuple(n == 1 for n in item.shape)
            text = f'shared({_data(item.value)}, name="v{i}", broadcastable={broadcasted})'
        else:
            text = f'tt.TensorType("{item.value.dtype.name}", {item.shape})("v{i}")'
        lines.append(f"v{i} = {text}")
    return lines


def _data(value: Any) -> str:
    """Return the source of a contiguous array."""
    text = f'np.array({value.tolist()!r}, dtype="{value.dtype.name}")'
    return text if value.size else f'np.zeros({value.shape}, dtype="{value.dtype.name}")'


def _array_text(item: Any) -> str:
    """Return the source of the array of an argument, laid out as it is."""
    assert isinstance(item, Leaf), "only leaves have arrays"
    text = _data(item.value)
    if not item.value.ndim or item.layout == "c":
        return text
    if item.layout == "fortran":
        return f"np.asfortranarray({text})"
    if item.layout == "flipped":
        return f"np.flip(np.flip({text}).copy())"
    if item.layout == "swapped":
        return f"{text}.astype(np.dtype({item.value.dtype.name!r}).newbyteorder())"
    if item.layout in ("fixed", "broadcast"):
        return f"np.broadcast_to({text}, {item.value.shape})"
    return f"np.repeat({text}, 2, axis=-1)[..., ::2]"


def _given(program: Program) -> list[str]:
    """Return a function that makes the arguments, overlapping as they do."""
    inputs = leaves_of(program, "input")
    stored = [f"v{i}.get_value(borrow=True)" for i in leaves_of(program, "shared")]
    names = dict(zip(leaves_of(program, "shared"), stored, strict=True)) | {i: f"a{i}" for i in inputs}
    lines = ["", "def given():", *(f"    a{i} = {_array_text(program.items[i])}" for i in inputs)]
    lines += [
        f"    a{part} = OVERLAPS[{how!r}]({names[base]})  # where the values allow it"
        for part, base, how in program.memory.overlaps
        if part in inputs
    ]
    return [*lines, f"    return [{', '.join(f'a{i}' for i in inputs)}]", ""]


def _overlapping_storage(program: Program) -> list[str]:
    shared = leaves_of(program, "shared")
    return [
        f"v{part}.set_value(OVERLAPS[{how!r}](v{base}.get_value(borrow=True)), borrow=True)"
        for part, base, how in program.memory.overlaps
        if part in shared and base in shared
    ]


def _donating(program: Program) -> str:
    inputs = (
        f"In(v{i}, mutable=True)" if i in program.memory.donated else f"v{i}" for i in leaves_of(program, "input")
    )
    return f"[{', '.join(inputs)}], [Out(y, borrow={program.memory.borrowed}) for y in outputs]"


def _comparison(failure: Failure) -> list[str]:
    program = failure.program
    mode = failure.configuration.text
    options = 'on_unused_input="ignore", accept_inplace=True'
    donated, overlapping = _donating(program), _overlapping_storage(program)
    capture = failure.configuration.capture
    calls = 2 if program.updates or capture is not None else 1
    if failure.kind in ("error", "crash"):
        return [
            *overlapping,
            f"compiled = function({donated}, updates=updates, mode={mode}, {options})",
            *["compiled(*given())"] * calls,
        ]
    if failure.kind == "gradient":
        return _slope_comparison(program)
    if failure.configuration is PLAIN:
        return [
            f"compiled = function(inputs, outputs[:{len(program.outputs)}], mode={mode}, {options})",
            f"wanted = [{', '.join(_wanted(program))}]",
            "found = compiled(*values)",
            *_assertions(program),
        ]
    stored = f"[{', '.join(f'v{i}.get_value()' for i in leaves_of(program, 'shared'))}]"
    return [
        f"plain = function(inputs, outputs, updates=updates, mode={PLAIN.text}, {options})",
        f"compiled = function({donated}, updates=updates, mode={mode}, {options})",
        f"before = {stored}",
        f"wanted = [np.array(y) for _ in range({calls}) for y in [*plain(*given()), *{stored}]]",
        *(f"v{i}.set_value(before[{k}])" for k, i in enumerate(leaves_of(program, "shared"))),
        *overlapping,
        f"found = [np.array(y) for _ in range({calls}) for y in [*compiled(*given()), *{stored}]]",
        *_assertions(program),
    ]


def _captured(lines: list[str], capture: int | None) -> list[str]:
    """Let lines run while kernel calls are captured."""
    if capture is None:
        return lines
    head = ["from theano_linker_c import capture_after", f"with capture_after({capture}):"]
    return head + [f"    {line}" for line in lines]


def _placed(lines: list[str], failure: Failure) -> list[str]:
    """Let lines run while arguments and shared variables go to a device."""
    device = failure.configuration.device
    if device is None:
        return lines
    program = failure.program
    moved = ", ".join(f"v{i}" for kind in ("input", "shared") for i in leaves_of(program, kind))
    head = [
        "import theano_tensor.device",
        "from theano_testing.device import placed_on",
        f"with placed_on({device!r}, [{moved}]):",
    ]
    return head + [f"    {line}" for line in lines]


def _slope_comparison(program: Program) -> list[str]:
    """Compare the gradients by the arguments, element by element, with differences of the cost."""
    ((cost, wrt),) = program.gradients[:1]
    inputs = leaves_of(program, "input")
    return [
        f'cost = function(inputs, v{cost}.sum(), mode={PLAIN.text}, on_unused_input="ignore")',
        f'found = function(inputs, outputs, mode={PLAIN.text}, on_unused_input="ignore")(*values)',
        f"found = dict(zip({list(wrt)}, found[{len(program.outputs)}:]))",
        f"for number, k in {[(i, inputs.index(i)) for i in wrt if i in inputs]}:",
        "    for place in np.ndindex(values[k].shape):",
        "        step = np.zeros(values[k].shape)",
        "        step[place] = 1e-5",
        "        near = [cost(*(v + s * step if i == k else v for i, v in enumerate(values))) for s in (-1, 1)]",
        "        np.testing.assert_allclose(found[number][place], (near[1] - near[0]) / 2e-5, rtol=1e-3, atol=1e-5)",
    ]


def _wanted(program: Program) -> list[str]:
    try:
        values = evaluate(build(program))
    except Unbuildable:
        return []
    return [_data(values[i]) for i in program.outputs]


def _assertions(program: Program) -> list[str]:
    # A value computed in narrower numbers on the way is no nearer than these are.
    return [
        "for a, b in zip(found, wanted):",
        "    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, a.shape, b.dtype, b.shape)",
        '    near = 0 if b.dtype.kind in "biu" else 1e3 * np.finfo(b.dtype).eps',
        f"    np.testing.assert_allclose(a, b, rtol=max(near, {_narrow_rounding(program)} if near else 0))",
    ]


def _narrow_rounding(program: Program) -> float:
    """Return ten roundings of the narrowest floating point numbers in a program."""
    try:
        built = build(program)
        dtypes = {np.asarray(value).dtype for value in evaluate(built)} | _inner_dtypes(built.outputs)
    except Unbuildable:
        return 0.0
    return max((10 * float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind in "fc"), default=0.0)


def _inner_dtypes(outputs: Sequence[Any]) -> set[Any]:
    """Return the dtypes inside of the ops of a graph that hold graphs."""
    matches: set[Any] = set()
    ops = [v.owner.op for v in ancestors(outputs) if v.owner is not None]
    for op in ops:
        if isinstance(op, GraphOp):
            inside = op.fgraph.outputs
            matches |= {np.dtype(v.type.dtype) for v in ancestors(inside) if hasattr(v.type, "dtype")}
            matches |= _inner_dtypes(inside)
    return matches
