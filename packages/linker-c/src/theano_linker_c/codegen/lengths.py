"""Lengths and strides in C code: whole numbers that are known, or products of C variables."""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import record

__all__ = ["ONE", "ZERO", "Length", "as_length", "product_of"]


@record
class Length:
    """A product of a known factor and of names of C variables, in normal form: equal products are equal objects.

    Parameters
    ----------
    factor : int
    names : tuple of str
        Sorted; empty where the number is known.

    Examples
    --------
    >>> n = Length(1, ("n",))
    >>> str(n * Length(3)), Length(2) * Length(3) == Length(6)
    ('3 * n', True)
    """

    factor: int
    names: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it is a number."""
        return not self.names

    def __mul__(self, other: Length) -> Length:
        factor = self.factor * other.factor
        return Length(factor, tuple(sorted(self.names + other.names)) if factor else ())

    def __str__(self) -> str:
        if not self.names:
            return "(-9223372036854775807 - 1)" if self.factor == -(2**63) else str(self.factor)
        names = " * ".join(self.names)
        if self.factor == 1:
            return names
        return f"-{names}" if self.factor == -1 else f"{self.factor} * {names}"

    @property
    def atom(self) -> str:
        """Text that can stand beside any operator."""
        text = str(self)
        return text if text.isidentifier() or text.isdigit() else f"({text})"


ZERO, ONE = Length(0), Length(1)


def as_length(value: int | Length) -> Length:
    """Return a number as a length."""
    return value if isinstance(value, Length) else Length(int(value))


def product_of(lengths: Iterable[Length]) -> Length:
    """Return the product of lengths, 1 of none."""
    total = ONE
    for length in lengths:
        total = total * length
    return total
