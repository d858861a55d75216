"""Scalar programs as formulas: what is printed for the functions that fusion makes."""

from __future__ import annotations

from ._program import ScalarProgram, ScalarStep

_INFIX = {"add": "+", "mul": "*", "sub": "-", "true_div": "/", "int_div": "//", "mod": "%", "pow": "**"}
#: What programs and manuals know some functions as; the others are known by the name of the op.
_KNOWN_AS = {
    "abs": "Abs",
    "and_": "AND",
    "eq": "EQ",
    "ge": "GE",
    "gt": "GT",
    "invert": "Invert",
    "isinf": "IsInf",
    "isnan": "IsNan",
    "le": "LE",
    "lt": "LT",
    "neq": "NEQ",
    "or_": "OR",
    "round_half_away_from_zero": "RoundHalfAwayFromZero",
    "round_half_to_even": "RoundHalfToEven",
    "sigmoid": "scalar_sigmoid",
    "softplus": "scalar_softplus",
    "switch": "Switch",
    "xor": "XOR",
}
#: A value that is used several times is written out each time if it is no longer than this.
_SHORT = 60
_LONG = 400


def formulas(program: ScalarProgram) -> list[str]:
    """Write the results with operators and calls; long values that are used again are named ``t0``, ... once."""
    uses: dict[int, int] = {}
    for number in [*(n for step in program.steps for n in step.args), *program.outputs]:
        uses[number] = uses.get(number, 0) + 1
    texts = [f"i{i}" for i in range(len(program.input_dtypes))]

    def text_of(number: int) -> str:
        return texts[number] if number >= 0 else f"Constant{{{program.constant(number)}}}"

    shared: list[str] = []
    for i, step in enumerate(program.steps):
        number = len(program.input_dtypes) + i
        text = _formula(step, [text_of(n) for n in step.args])
        named = len(text) > _LONG or (len(text) > _SHORT and uses.get(number, 0) > 1)
        if named and number not in program.outputs:
            shared.append(f"t{len(shared)} = {text}")
            text = f"t{len(shared) - 1}"
        texts.append(text)
    return [*shared, *(text_of(n) for n in program.outputs)]


def _formula(step: ScalarStep, args: list[str]) -> str:
    name = str(step.op)
    if name in _INFIX and len(args) > 1:
        return f"({f' {_INFIX[name]} '.join(args)})"
    if name == "neg":
        return f"(-{args[0]})"
    return f"{_KNOWN_AS.get(name, name)}({', '.join(args)})"
