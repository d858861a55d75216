"""True division, reciprocal, and floor division and remainder with Python's rule of signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import config

from ._contract._cvalue import CValue, c_cast, c_helper
from ._contract._derivative import differentiable, zero_like
from ._contract._dtypes import is_complex, is_discrete, upcast
from ._contract._op import BinaryScalarOp, FloatFunction, UfuncOp, UnaryScalarOp, arraywise, dtype_name, quiet
from ._contract._preferences import upcast_out
from ._contract._record import REALS, ScalarRecord


class TrueDiv(FloatFunction, BinaryScalarOp):
    """Quotient as a float; that of integers is computed in float64 and has the dtype of the flag ``floatX``."""

    name = "true_div"
    output_types_preference = staticmethod(upcast_out)
    follows_floatx = True
    ufunc = np.true_divide
    cost = 4

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """``floatX`` for integers, else the common dtype of the inputs."""
        return (config.floatX if all(map(is_discrete, dtypes)) else upcast(*dtypes),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Divide in the common dtype, integers in float64."""
        dtypes = [dtype_name(value) for value in values]
        common = upcast(*dtypes)
        quotient = np.true_divide(*values, dtype="float64" if is_discrete(common) else common)
        return quotient.astype(self.result_dtypes(*dtypes)[0], copy=False)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide in the result's dtype, integers in float64."""
        if all(is_discrete(arg.dtype) for arg in args):
            a, b = (c_cast(arg, "float64") for arg in args)
            return c_cast(CValue(f"({a} / {b})", "float64"), result)
        a, b = (c_cast(arg, result) for arg in args)
        return c_helper("true_div", result, a, b) if is_complex(result) else f"{a} / {b}"


class Reciprocal(FloatFunction, UnaryScalarOp):
    """One divided by the number; integers give float64."""

    name = "inv"
    ufunc = np.reciprocal
    cost = 4

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Divide one by the argument."""
        x = c_cast(args[0], result)
        return c_helper("inv", result, x) if is_complex(result) else f"1 / {x}"


class _Division(UfuncOp):
    nin = 2
    cost = 15

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype; int8 for two truth values."""
        self.refuse_complex(dtypes)
        common = upcast(*dtypes)
        return ("int8" if common == "bool" else common,)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the helper that follows the sign rule and never traps."""
        return c_helper(type(self).name, result, *(c_cast(arg, result) for arg in args))


class IntDiv(_Division, BinaryScalarOp):
    """Quotient rounded down; an integer divided by zero gives 0, as in NumPy."""

    name = "int_div"
    ufunc = np.floor_divide


class Mod(_Division, BinaryScalarOp):
    """Remainder with the sign of the divisor; an integer modulo zero gives 0, as in NumPy."""

    name = "mod"
    ufunc = np.remainder


true_div = TrueDiv()
reciprocal = Reciprocal()
int_div = IntDiv()
mod = Mod()


@differentiable(TrueDiv)
def _true_div(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed / inputs[1], -(seed * output / inputs[1])]


@differentiable(Reciprocal)
def _reciprocal(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [-(seed * output * output)]


@differentiable(IntDiv)
def _int_div(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [zero_like(x) for x in inputs]


@differentiable(Mod)
def _mod(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed, -(seed * int_div(*inputs))]


RECORDS = (
    ScalarRecord(true_div, np.true_divide, REALS),
    ScalarRecord(reciprocal, lambda x: np.true_divide(1, x, dtype=np.result_type(x, np.float32)), REALS),
    ScalarRecord(int_div, np.floor_divide, REALS, smooth=False),
    ScalarRecord(mod, np.remainder, REALS, smooth=False),
)
