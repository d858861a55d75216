"""Elementwise operations: the whole scalar vocabulary, casts, and small expressions that rewriting looks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarRecord
from theano_tensor.elemwise import Elemwise

from .._draw import ALL, COMPLEX, DISCRETE, FLOATS, INTEGERS, REALS, Draw, NoOperands
from .._program import Operation, Options

#: Drawn more often: the subject of most rules.
_COMMON = {
    **dict.fromkeys(("add", "mul", "sub", "true_div"), 6.0),
    **dict.fromkeys(("neg", "exp", "log", "sqr", "sqrt", "switch", "pow", "sigmoid", "inv"), 2.5),
    **dict.fromkeys(("tanh", "abs", "maximum", "minimum", "log1p", "softplus", "eq", "lt", "second"), 1.5),
}
_COMPLEX_OK = frozenset(
    [
        "add",
        "sub",
        "mul",
        "true_div",
        "neg",
        "sqr",
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "abs",
        "real",
        "imag",
        "conj",
        "angle",
        "inv",
        "eq",
        "neq",
        "switch",
        "second",
        "identity",
        "pow",
    ]
)


def elementwise_operations() -> list[Operation]:
    """Return an operation for each record of the scalar vocabulary, and those of this module."""
    names = {value.scalar_op: name for name, value in vars(tt).items() if isinstance(value, Elemwise)}
    matches = [
        _elementwise(record, names[record.op])
        for record in scalar.records
        if record.op in names and not isinstance(record.op, scalar.Cast)
    ]
    return [*matches, *(_cast(dtype) for dtype in ALL), *_mixed(), *_idioms()]


def _elementwise(record: ScalarRecord, name: str) -> Operation:
    reference = _second if record.op is scalar.second else _broadcasting(record.reference)
    return Operation(
        name=name,
        build=Elemwise(record.op),
        reference=reference,
        draw=_operands_for(record),
        weight=_COMMON.get(record.op.name, 0.7),
        promotes=record.op is not scalar.switch,
        ulp=max(16.0, 2 * record.ulp),
    )


def _broadcasting(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference for operands that broadcast of one for vectors of one length."""
    if isinstance(reference, np.ufunc):
        return reference

    def whole(*argument: Any) -> Any:
        shape = np.broadcast_shapes(*(x.shape for x in argument))
        return np.asarray(reference(*(np.broadcast_to(x, shape).reshape(-1) for x in argument))).reshape(shape)

    return whole


def _second(x: Any, y: Any) -> Any:
    return np.broadcast_arrays(x, y)[1]


def _operands_for(record: ScalarRecord) -> Callable[[Draw], tuple[Sequence[int], Options]]:
    dtypes: Sequence[str] = (*record.dtypes, "float16") if "float64" in record.dtypes else record.dtypes
    if record.op.name in _COMPLEX_OK:
        dtypes = (*dtypes, *COMPLEX)
    anything = (record.low, record.high) == (-5.0, 5.0)

    def draw(d: Draw) -> tuple[Sequence[int], Options]:
        first = d.pick(dtypes) if anything else d.within(record.low, record.high, dtypes)
        operands = [first]
        for _ in range(record.nin - 1):
            other = d.partner(d.one_of(operands), dtypes, low=record.low, high=record.high)
            if not all(d.combine(other, k) for k in operands):
                raise NoOperands
            operands.append(other)
        if len(operands) == 2 and d.chance(0.5):
            operands.reverse()
        return operands, {}

    return draw


def _cast(dtype: str) -> Operation:
    def draw(d: Draw) -> tuple[Sequence[int], Options]:
        if dtype in COMPLEX:
            return [d.pick(ALL)], {}
        if dtype not in INTEGERS:
            return [d.pick(REALS)], {}
        info = np.iinfo(dtype)
        # The result for numbers that the dtype does not hold is left to the processor.
        return [d.pick(REALS, where=lambda i: d.dtype(i) in DISCRETE or _between(d.values[i], info.min, info.max))], {}

    return Operation(
        name=f"cast_{dtype}",
        build=lambda x: tt.cast(x, dtype),
        reference=lambda x: _converted(x, dtype),
        draw=draw,
        text=lambda names, _: f"tt.cast({names[0]}, {dtype!r})",
        weight=0.4,
    )


def _converted(x: Any, dtype: str) -> Any:
    if dtype in INTEGERS and x.dtype.kind == "f" and not _between(x, np.iinfo(dtype).min, np.iinfo(dtype).max):
        raise ValueError(f"C does not say which {dtype} these numbers become")
    return x.astype(dtype)


def _between(value: Any, low: int, high: int) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.all((value > float(low) - 1) & (value < float(high))))


def _mixed() -> list[Operation]:
    def both(dtypes: Sequence[str]) -> Callable[[Draw], tuple[Sequence[int], Options]]:
        def draw(d: Draw) -> tuple[Sequence[int], Options]:
            first = d.pick(dtypes)
            return [first, d.partner(first, dtypes)], {}

        return draw

    def one(dtypes: Sequence[str]) -> Callable[[Draw], tuple[Sequence[int], Options]]:
        return lambda d: ([d.pick(dtypes)], {})

    return [
        Operation("sinc", tt.sinc, np.sinc, one(FLOATS), promotes=True, ulp=64),
        Operation("isclose", tt.isclose, np.isclose, both(FLOATS), weight=0.5),
        Operation("zeros_like", tt.zeros_like, np.zeros_like, one(ALL), weight=0.5),
        Operation("ones_like", tt.ones_like, np.ones_like, one(ALL), weight=0.5),
        Operation("complex", tt.complex, lambda x, y: x + 1j * np.asarray(y, "complex128"), both(FLOATS), weight=0.2),
        Operation("add_n", _add_all, _add_all, _several, text=_summed, weight=1.5),
        Operation("mul_n", _multiply_all, _multiply_all, _several, text=_multiplied, weight=1.5),
    ]


def _several(d: Draw) -> tuple[Sequence[int], Options]:
    terms = [d.pick(FLOATS)]
    for _ in range(d.between(2, 3)):
        other = d.partner(d.one_of(terms), FLOATS)
        if not all(d.combine(other, k) for k in terms):
            raise NoOperands
        terms.append(other)
    return terms, {}


def _add_all(*terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _multiply_all(*factors: Any) -> Any:
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def _summed(names: Sequence[str], _: Options) -> str:
    return " + ".join(names)


def _multiplied(names: Sequence[str], _: Options) -> str:
    return " * ".join(names)


#: Expressions in one or two variables that rules of the pipeline recognise; `m` is the module that computes.
_PATTERNS = (
    "m.log(1 + m.exp(x))",
    "m.log(1 - 1 / (1 + m.exp(-x)))",
    "1 / (1 + m.exp(-x))",
    "1 - 1 / (1 + m.exp(x))",
    "m.exp(m.log(x))",
    "m.log(m.exp(x))",
    "m.expm1(m.log1p(x))",
    "m.log1p(m.exp(x))",
    "m.exp(x) - 1",
    "m.log(1 + x)",
    "x * y / x",
    "x / y * y",
    "(x + y) - x",
    "x - (y - x)",
    "-(-x)",
    "-(x - y)",
    "x * x * x",
    "x ** 2 * x ** -1",
    "x ** 0.5",
    "x ** 3",
    "x ** 0",
    "m.sqrt(x) ** 2",
    "m.sqrt(x * x)",
    "m.exp(x) * m.exp(y)",
    "m.exp(x) / m.exp(y)",
    "m.log(x * y)",
    "m.log(x / y)",
    "m.log(x ** 2)",
    "2 * (3 * x) * 4",
    "(x / 3) / y",
    "x / (y / 2)",
    "(2 * x + 3) - 3",
    "abs(x * y)",
    "abs(abs(x))",
    "m.maximum(x, x)",
    "m.maximum(m.minimum(x, 1), -1)",
    "0 * x + y",
    "x * 1 + 0",
    "(x > 0) * x",
    "(x >= x) + (y < y)",
    "m.where(x > 0, x, x)",
    "m.where(x > 0, m.log(x), y)",
    "m.where(m.isnan(x), 0, x)",
    "m.exp(x) / m.exp(x).sum(-1, keepdims=True)",
    "m.log(m.exp(x) / m.exp(x).sum(-1, keepdims=True))",
    "m.log(m.exp(x).sum(-1))",
    "m.exp(x).sum() * m.exp(-x)",
    "(3 * x).sum(0)",
    "(-x).sum()",
    "(x / 4).mean(0)",
    "(-x).max(-1)",
    "(x * 2).prod(-1)",
    "(x + x.sum(0)).sum(0)",
    "m.exp(x.max(-1))",
    "x.sum(-1).sum()",
    "x.T.T + x",
    "m.cosh(x) - m.sinh(x)",
    "m.sin(x) ** 2 + m.cos(x) ** 2",
    "m.tanh(x) * (1 - m.tanh(x) ** 2)",
    "m.log1p(-m.exp(-x))",
    "m.sqrt(x) * m.sqrt(y)",
    "1 / m.sqrt(x)",
    "(x - x.mean(-1, keepdims=True)) / m.sqrt(x.var(-1, keepdims=True) + 1)",
)


def _idioms() -> list[Operation]:
    return [_idiom(pattern) for pattern in _PATTERNS]


def _idiom(pattern: str) -> Operation:
    """Return the operation of an expression in `x`, at times `y`, which both modules understand."""
    code = compile(pattern, f"<{pattern}>", "eval")
    binary = "y" in code.co_names
    positive = any(part in pattern for part in ("m.log(x", "sqrt(x)", "** -1", "** 0.5"))
    reduces = "-1" in pattern.replace("** -1", "").replace(", -1)", "") or "(0)" in pattern

    def draw(d: Draw) -> tuple[Sequence[int], Options]:
        low = 0.01 if positive else -5.0
        if reduces:
            first = d.pick(FLOATS, (1, 2, 3), where=(lambda i: d.values[i].size > 0) if d.chance(0.7) else None)
        else:
            first = d.within(low, 20.0, FLOATS)
        return [first, d.partner(first, (d.dtype(first),), low=low)] if binary else [first], {}

    def run(module: Any) -> Callable[..., Any]:
        return lambda *argument: eval(code, {"m": module, "abs": abs}, dict(zip("xy", argument, strict=False)))

    def text(names: Sequence[str], _: Options) -> str:
        renamed = dict(zip(("x", "y", "m"), (*names, "tt") if binary else (*names, "", "tt"), strict=False))
        return "(" + re.sub(r"\b[xym]\b", lambda match: renamed[match.group()], pattern) + ")"

    return Operation(pattern, run(tt), run(np), draw, text=text, weight=0.35, promotes="where" not in pattern, ulp=64)
