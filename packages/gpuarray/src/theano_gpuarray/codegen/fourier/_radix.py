"""Short transforms as straight text, and how long ones are made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["Butterfly", "radices"]

#: Lengths of short transforms, those that are preferred first.
_RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
#: Names of a real and an imaginary part.
_Number = tuple[str, str]


def radices(n: int) -> tuple[int, ...] | None:
    """Return short lengths whose product is `n`; None where it has a larger prime factor.

    Examples
    --------
    >>> radices(60)
    (4, 3, 5)
    >>> radices(34) is None
    True
    """
    factors: list[int] = []
    for r in _RADICES:
        while n % r == 0:
            factors.append(r)
            n //= r
    return tuple(factors) if n == 1 else None


class Butterfly:
    """Write the statements of a transform of a few complex numbers.

    Parameters
    ----------
    kind : str
        The type of C.
    sign : {-1, 1}
        Of the exponent.

    Attributes
    ----------
    lines : list of str
    """

    def __init__(self, kind: str, sign: int) -> None:
        self.kind, self.sign = kind, sign
        self.lines: list[str] = []
        self._count = 0

    def transform(self, values: Sequence[_Number]) -> list[_Number]:
        """Return the names of the transform of some numbers."""
        n = len(values)
        if n <= 1:
            return list(values)
        p = next(q for q in range(2, n + 1) if n % q == 0)
        if p == n:
            return self._pair(values) if n == 2 else self._prime(values)
        m = n // p
        parts = [self.transform(values[q::p]) for q in range(p)]
        results: list[_Number] = [("", "")] * n
        for k in range(m):
            row = [self._turned(parts[q][k], q * k, n) for q in range(p)]
            for j, value in enumerate(self.transform(row)):
                results[k + m * j] = value
        return results

    def _new(self, real: str, imaginary: str) -> _Number:
        self._count += 1
        names = f"u{self._count}", f"w{self._count}"
        self.lines.append(f"const {self.kind} {names[0]} = {real}, {names[1]} = {imaginary};")
        return names

    def _pair(self, values: Sequence[_Number]) -> list[_Number]:
        (a, b), (c, d) = values
        return [self._new(f"{a} + {c}", f"{b} + {d}"), self._new(f"{a} - {c}", f"{b} - {d}")]

    def _prime(self, values: Sequence[_Number]) -> list[_Number]:
        """Add up pairs of numbers whose factors are conjugate."""
        n, (a, b) = len(values), values[0]
        pairs = [(values[j], values[n - j]) for j in range(1, (n + 1) // 2)]
        sums = [self._new(f"{x[0]} + {y[0]}", f"{x[1]} + {y[1]}") for x, y in pairs]
        gaps = [self._new(f"{x[0]} - {y[0]}", f"{x[1]} - {y[1]}") for x, y in pairs]
        results = [self._new(" + ".join([a, *(s[0] for s in sums)]), " + ".join([b, *(s[1] for s in sums)]))] * n
        for k in range(1, (n + 1) // 2):
            angles = [2 * math.pi * (j * k % n) / n for j in range(1, (n + 1) // 2)]
            cosines = [self._literal(math.cos(t)) for t in angles]
            sines = [self._literal(self.sign * math.sin(t)) for t in angles]
            even = self._new(
                *(
                    " + ".join([v, *(f"{c} * {s[i]}" for c, s in zip(cosines, sums, strict=True))])
                    for i, v in enumerate((a, b))
                )
            )
            odd = self._new(*(" + ".join(f"{c} * {g[i]}" for c, g in zip(sines, gaps, strict=True)) for i in (0, 1)))
            results[k] = self._new(f"{even[0]} - {odd[1]}", f"{even[1]} + {odd[0]}")
            results[n - k] = self._new(f"{even[0]} + {odd[1]}", f"{even[1]} - {odd[0]}")
        return results

    def _turned(self, value: _Number, power: int, n: int) -> _Number:
        """Return a number times a power of the root of unity of order `n`."""
        a, b = value
        quarter, remainder = divmod(4 * power % (4 * n), n)
        if remainder == 0:
            turned = [(a, b), (f"-{b}", a), (f"-{a}", f"-{b}"), (b, f"-{a}")]
            real, imaginary = turned[(self.sign * quarter) % 4]
            return value if quarter == 0 else self._new(real, imaginary)
        t = 2 * math.pi * power / n
        c, s = self._literal(math.cos(t)), self._literal(self.sign * math.sin(t))
        return self._new(f"{a} * {c} - {b} * {s}", f"{a} * {s} + {b} * {c}")

    def _literal(self, value: float) -> str:
        return f"({value!r}{'' if self.kind == 'double' else 'f'})"
