"""Scalar programs as formulas: the printed form of fused functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Any

from ._normal_form import ScalarProgram

#: Operators that formulas have between or before their operands; all else is written as a function.
_SYMBOLS = MappingProxyType(
    {"add": "+", "sub": "-", "neg": "-", "mul": "*", "true_div": "/", "int_div": "//", "mod": "%", "pow": "**"}
)
#: How other ops are called in formulas where that is not their name.
_CALLED = MappingProxyType(
    {
        **{name: name.strip("_").upper() for name in ("and_", "eq", "ge", "gt", "le", "lt", "neq", "or_", "xor")},
        "abs": "Abs",
        "invert": "Invert",
        "isinf": "IsInf",
        "isnan": "IsNan",
        "switch": "Switch",
        "sigmoid": "scalar_sigmoid",
        "softplus": "scalar_softplus",
        "round_half_to_even": "RoundHalfToEven",
        "round_half_away_from_zero": "RoundHalfAwayFromZero",
    }
)
#: Characters from which on the values that are used several times are named instead of being written again.
_LONG = 400


def formulas(program: ScalarProgram) -> list[str]:
    """Write the results as formulas; where they are long, values that are used several times are named ``t0``, ..."""
    written = _written(program, ())
    if written is not None:
        return written
    uses: dict[int, int] = {}
    for number in [*(n for step in program.steps for n in step.args), *program.outputs]:
        uses[number] = uses.get(number, 0) + 1
    repeated = {number for number, count in uses.items() if count > 1}
    return _written(program, repeated) or []


def _written(program: ScalarProgram, repeated: Collection[int]) -> list[str] | None:
    """Write the results, those of `repeated` once; return None where nothing may be named and the text is long."""
    count = len(program.input_dtypes)
    texts = [f"i{i}" for i in range(count)]
    shared: list[str] = []
    for number, step in enumerate(program.steps, count):
        text = _call(step.op, [texts[n] if n >= 0 else _constant(program, n) for n in step.args])
        if len(text) > _LONG and not repeated:
            return None
        if (number in repeated or len(text) > _LONG) and number not in program.outputs:
            shared.append(f"t{len(shared)} = {text}")
            text = f"t{len(shared) - 1}"
        texts.append(text)
    return [*shared, *(texts[n] if n >= 0 else _constant(program, n) for n in program.outputs)]


def _call(op: Any, arguments: Sequence[str]) -> str:
    text = str(op)
    symbol = _SYMBOLS.get(text)
    if symbol is None:
        return f"{_CALLED.get(text, text)}({', '.join(arguments)})"
    return f"({f' {symbol} '.join(arguments)})" if len(arguments) > 1 else f"({symbol}{arguments[0]})"


def _constant(program: ScalarProgram, number: int) -> str:
    return f"Constant{{{program.constant(number)}}}"
