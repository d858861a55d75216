"""And, or, exclusive or and inversion: of truth values, or of the bits of integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._contract._cvalue import CValue
from ._contract._derivative import without_derivative
from ._contract._op import BinaryBitOp, UnaryBitOp
from ._contract._record import DISCRETE, ScalarRecord


class And(BinaryBitOp):
    """Bits that are set in both; of truth values, whether both are true."""

    name = "and_"
    ufunc = np.bitwise_and
    symbol = "&"
    commutative = True
    associative = True


class Or(BinaryBitOp):
    """Bits that are set in one of the two; of truth values, whether one is true."""

    name = "or_"
    ufunc = np.bitwise_or
    symbol = "|"
    commutative = True
    associative = True


class Xor(BinaryBitOp):
    """Bits that are set in exactly one of the two; of truth values, whether they differ."""

    name = "xor"
    ufunc = np.bitwise_xor
    symbol = "^"
    commutative = True
    associative = True


class Invert(UnaryBitOp):
    """All bits flipped; of a truth value its negation."""

    name = "invert"
    nin = 1
    ufunc = np.invert

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Write ``!`` for bool and ``~`` for integers."""
        return f"{'!' if result == 'bool' else '~'}{args[0].text}"


and_ = And()
or_ = Or()
xor = Xor()
invert = Invert()

without_derivative(And, Or, Xor, Invert)

RECORDS = (
    ScalarRecord(and_, np.bitwise_and, DISCRETE, smooth=False),
    ScalarRecord(or_, np.bitwise_or, DISCRETE, smooth=False),
    ScalarRecord(xor, np.bitwise_xor, DISCRETE, smooth=False),
    ScalarRecord(invert, np.invert, DISCRETE, smooth=False),
)
