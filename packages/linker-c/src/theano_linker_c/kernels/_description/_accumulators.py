"""The accumulator of a reduction: its starting value, and its C text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from theano_graph import format_error, record

from ...scalar import CValue, ScalarOp, ScalarTypeError, c_cast, c_literal, c_type, is_complex, is_discrete
from ._source import CWriter, memory_type

__all__ = ["can_reduce", "reduction_seed"]

#: Operators of OpenMP's reduction clause, by the name of the op that joins elements.
_CLAUSES: Mapping[str, str] = MappingProxyType(
    {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}
)


def can_reduce(combine: ScalarOp, acc_dtype: str) -> bool:
    """Say whether `combine` can be one of several reductions, in an accumulator of `acc_dtype`.

    Examples
    --------
    >>> from theano_linker_c.scalar import add
    >>> can_reduce(add, "float64"), can_reduce(add, "complex128")
    (True, False)
    """
    return combine.name in _CLAUSES and not is_complex(acc_dtype) and acc_dtype != "float16"


def reduction_seed(combine: ScalarOp, dtype: str) -> float | int:
    """Give the value that changes nothing when it is joined by `combine` with a value of `dtype`.

    Raises
    ------
    TypeError
        If `combine` is not add, mul, maximum, minimum, and_, or_ or xor.

    Examples
    --------
    >>> from theano_linker_c.scalar import maximum
    >>> reduction_seed(maximum, "float64")
    -inf
    """
    name = combine.name
    if name in ("add", "or_", "xor"):
        return 0
    if name == "mul":
        return 1
    if name == "and_":
        return 1 if dtype == "bool" else int(np.array(-1).astype(dtype))
    if name in ("maximum", "minimum"):
        lowest = name == "maximum"
        if dtype == "bool":
            return int(not lowest)
        if is_discrete(dtype):
            return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
        return float("-inf") if lowest else float("inf")
    raise ScalarTypeError(
        format_error(f"a reduction with {combine} has no starting value", hint="give the kernel an identity")
    )


@record
class Accumulator:
    """One reduction in the generated text: its number, its joining op, its dtype, and its pointer."""

    number: int
    combine: ScalarOp
    dtype: str
    #: The pointer to the total, and the pointer to its lost part.
    total: int
    lost: int

    @property
    def part(self) -> str:
        return f"part{self.number}"

    @property
    def nan(self) -> str:
        return f"nan{self.number}"

    @property
    def scalar(self) -> str:
        return memory_type(self.dtype)

    @property
    def clause(self) -> str | None:
        """The operator of OpenMP's reduction clause, if there is one; of truth values, "or" is the sum.

        A product of complex numbers is no ``*`` of C, and compilers differ in their treatment of complex sums.
        """
        clause = None if is_complex(self.dtype) else _CLAUSES.get(self.combine.name)
        return {"+": "|", "*": "&"}.get(clause or "", clause) if self.dtype == "bool" else clause

    @property
    def tracks_nan(self) -> bool:
        return self.clause in ("max", "min") and not is_discrete(self.dtype)

    @property
    def compensates(self) -> bool:
        return self.clause == "+" and not is_discrete(self.dtype)

    @property
    def rounds(self) -> bool:
        """Whether its operands are rounded."""
        return self.clause not in ("max", "min") and not is_discrete(self.dtype)

    @property
    def seed(self) -> str:
        return c_literal(reduction_seed(self.combine, self.dtype), self.dtype)

    def joined(self, a: str, b: str) -> str:
        """Give the C text of `a` combined with `b`."""
        args = [CValue(a, self.dtype), CValue(b, self.dtype)]
        return f"({c_type(self.dtype)})({self.combine.c_expression(args, self.dtype)})"

    def clauses(self) -> Iterator[str]:
        """Give the clauses of the vectorised loop."""
        if self.clause is not None:
            yield f"reduction({self.clause}: {self.part})"
        if self.tracks_nan:
            yield f"reduction(|: {self.nan})"

    def start(self, writer: CWriter) -> None:
        """Declare the total of a block. An op without a clause has no neutral value: it goes on with the total."""
        start = self.place(self.total) if self.clause is None else self.seed
        writer.line(f"{self.scalar} {self.part} = {start};")
        if self.tracks_nan:
            writer.line(f"int32_t {self.nan} = 0;")

    def add(self, writer: CWriter, value: CValue, masked: bool) -> None:
        """Reduce the value of an element into the total of its block, unless it is `masked` and one to leave out."""
        name = f"v{self.number}"
        text = c_cast(value, self.dtype)
        text = f"at >= 0 ? {text} : {self.seed}" if masked else text
        writer.line(f"const {c_type(self.dtype)} {name} = {text};")
        if self.clause is None:
            writer.line(f"{self.part} = {self.joined(self.part, name)};")
        elif self.clause in ("max", "min"):
            sign = ">" if self.clause == "max" else "<"
            writer.line(f"{self.part} = {name} {sign} {self.part} ? {name} : {self.part};")
            if self.tracks_nan:
                writer.line(f"{self.nan} |= {name} != {name};")
        else:
            writer.line(f"{self.part} {self.clause}= {name};")

    def finish(self, writer: CWriter) -> None:
        """Join the total of a block with that of the blocks before."""
        if self.tracks_nan:
            suffix = "f" if self.dtype == "float32" else ""
            writer.line(f'if ({self.nan}) {self.part} = __builtin_nan{suffix}("");')
        total, part, k = self.place(self.total), self.part, self.number
        if self.compensates:
            lost = self.place(self.lost)
            writer.line(
                f"const {self.scalar} old{k} = {total}, given{k} = {part} - {lost}, sum{k} = old{k} + given{k};"
            )
            # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
            writer.line(f"{lost} = sum{k} - sum{k} == 0 ? (sum{k} - old{k}) - given{k} : 0;")
            writer.line(f"{total} = sum{k};")
        else:
            writer.line(f"{total} = {part if self.clause is None else self.joined(total, part)};")

    def place(self, index: int) -> str:
        """Give the C text of the accumulator's number behind one of the pointers."""
        return f"*({self.scalar} *)data[{index}]"
