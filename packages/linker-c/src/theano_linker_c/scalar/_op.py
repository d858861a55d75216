"""The contract of scalar ops, and the families that most of them belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, Op, TheanoError, compose

from ._cvalue import CValue, NoNativeForm, c_builtin, c_call, c_cast, c_rounded, c_type
from ._dtypes import is_complex, is_discrete, upcast, upcast_to_float
from ._type import ScalarType, as_scalar

#: Floating-point signals are results here (inf, nan), never warnings: both machines behave alike.
quiet = np.errstate(all="ignore")


class ScalarTypeError(TheanoError, TypeError):
    """A scalar op was applied to a wrong number of inputs, or to dtypes that it does not work on."""


class ScalarOp(Op):
    """A function of numbers that knows its dtype rule, its NumPy form, its C form and its cost.

    Equality is by class and ``__props__``. A subclass sets `name` and `nin`, and defines `result_dtypes`, `impl` and
    `c_expression`; its gradient is registered with `differentiable`.

    Examples
    --------
    >>> from theano_linker_c.scalar import add
    >>> add.result_dtypes("int8", "float32")
    ('float32',)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    #: Printed name, also the name of the function that users call.
    name: str = ""
    #: Number of inputs; -1 for ops that take any number from one.
    nin: int = 1
    nout: int = 1
    commutative: ClassVar[bool] = False
    associative: ClassVar[bool] = False
    #: Whether the result for float16 inputs needs no rounding, since it is one of them or their difference in sign.
    exact: ClassVar[bool] = False
    #: Rough number of cycles that one element takes in a vectorised loop.
    cost: int = 1

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Give the dtypes of the outputs for inputs of `dtypes`; TypeError where the op does not work on them."""
        raise ScalarTypeError(compose(f"{type(self).__name__} has no dtype rule", mend="define result_dtypes"))

    def impl(self, *values: Any) -> Any:
        """Compute the op elementwise on arrays or NumPy scalars; a tuple for several outputs."""
        raise ScalarTypeError(compose(f"{type(self).__name__} has no NumPy form", mend="define impl"))

    def evaluate(self, *values: Any) -> Any:
        """Compute the op elementwise: `impl`, unless that works on single numbers."""
        return self.impl(*values)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Give C text for the value, of dtype `result`; `NoNativeForm` where there is none."""
        raise NoNativeForm(f"{self} has no C form")

    def c_statements(self, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
        """Give C statements that define a variable for each result: here, for one result, from `c_expression`."""
        if self.nout != 1:
            raise NoNativeForm(f"{self} has {self.nout} results; it runs in Python")
        (dtype,) = self.result_dtypes(*(arg.dtype for arg in args))
        text = self.c_expression(args, dtype)
        if dtype == "float16" and not self.exact:
            text = c_rounded(text, "float32")
        return [f"const {c_type(dtype)} {names[0]} = {text};"]

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Give C text for the beginning of the file: headers and functions that the statements need."""
        return ()

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the op to scalar variables or numbers."""
        scalars = [as_scalar(value) for value in inputs]
        self.check_count(len(scalars))
        dtypes = self.result_dtypes(*(scalar.dtype for scalar in scalars))
        return Apply(self, scalars, [ScalarType(dtype).make_variable() for dtype in dtypes])

    def check_count(self, count: int) -> None:
        """Raise unless `count` inputs are right for this op."""
        if count != self.nin and not (self.nin < 0 < count):
            wanted = f"{self.nin}" if self.nin >= 0 else "at least 1"
            raise ScalarTypeError(
                compose(f"{self} takes {wanted} inputs, not {count}", mend=f"pass {wanted} numbers or scalar variables")
            )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute the values and store them."""
        values = self.evaluate(*inputs)
        results = values if self.nout > 1 else (values,)
        for storage, value in zip(output_storage, results, strict=True):
            storage[0] = value

    def refuse(self, dtypes: Sequence[str], reason: str, mend: str) -> ScalarTypeError:
        """Make the error for dtypes that the op does not work on."""
        return ScalarTypeError(compose(f"{self}: {reason} (got {', '.join(dtypes)})", mend=mend))

    def refuse_complex(self, dtypes: Sequence[str]) -> None:
        """Raise if one of `dtypes` is complex."""
        if any(is_complex(dtype) for dtype in dtypes):
            raise self.refuse(dtypes, "complex numbers are not supported", "take the real or imaginary part first")


def dtype_name(value: Any) -> str:
    """Give the dtype name of an array, NumPy scalar or number."""
    dtype = getattr(value, "dtype", None)
    return str(np.asarray(value).dtype.name if dtype is None else dtype.name)


class UfuncOp(ScalarOp):
    """An op whose NumPy form is a universal function with the result's dtype for its loop."""

    ufunc: ClassVar[Callable[..., Any]]

    @quiet
    def impl(self, *values: Any) -> Any:
        """Call the universal function in the result's dtype."""
        dtype = self.result_dtypes(*(dtype_name(value) for value in values))[0]
        return type(self).ufunc(*values, dtype=dtype)


class FloatFunction(UfuncOp):
    """A function with real values such as ``exp``: discrete inputs count as float64."""

    #: Name in the C library; the loops call its vector form where there is one.
    c_function: ClassVar[str] = ""
    complex_ok: ClassVar[bool] = True
    cost = 10

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Floats stay, discrete types give float64."""
        if not self.complex_ok:
            self.refuse_complex(dtypes)
        return (upcast_to_float(*dtypes),)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function in the result's precision."""
        return c_call(self.c_function or self.name, result, *(c_cast(arg, result) for arg in args))


class Arithmetic(UfuncOp):
    """An op whose result has the common dtype of its inputs."""

    nin = 2
    bool_ok: ClassVar[bool] = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the inputs."""
        common = upcast(*dtypes)
        if common == "bool" and not self.bool_ok:
            raise self.refuse(dtypes, "not defined for bool", "use `invert` or `xor`, or cast to int8 first")
        return (common,)


class Comparison(ScalarOp):
    """A test of two numbers with a bool result."""

    nin = 2
    ufunc: ClassVar[Callable[..., Any]]
    symbol: ClassVar[str] = ""
    orders: ClassVar[bool] = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Always bool."""
        if self.orders:
            self.refuse_complex(dtypes)
        return ("bool",)

    @quiet
    def impl(self, *values: Any) -> Any:
        """Compare in NumPy."""
        return type(self).ufunc(*values)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare in the common dtype; int64 against uint64 exactly."""
        a, b = args
        common = upcast(a.dtype, b.dtype)
        if common == "float16":
            common = "float32"  # int8 and float16 compare in float16, whose values a float holds
        if common == "float64" and is_discrete(a.dtype) and is_discrete(b.dtype):
            return self._mixed_signs(a, b)
        return f"{c_cast(a, common)} {self.symbol} {c_cast(b, common)}"

    def _mixed_signs(self, a: CValue, b: CValue) -> str:
        """Compare a signed with an unsigned 64-bit number: below zero the sign decides."""
        unsigned = f"((uint64_t){a.text} {self.symbol} (uint64_t){b.text})"
        if a.dtype.startswith("u"):
            return f"({b.text} < 0 ? (1 {self.symbol} 0) : {unsigned})"
        return f"({a.text} < 0 ? (0 {self.symbol} 1) : {unsigned})"


class Bitwise(UfuncOp):
    """An op on the bits of integers, or on truth values."""

    nin = 2
    symbol: ClassVar[str] = ""

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the inputs, which must be discrete."""
        common = upcast(*dtypes)
        if not is_discrete(common) or any(not is_discrete(dtype) for dtype in dtypes):
            raise self.refuse(
                dtypes, "works on bool and integers only", "compare with zero first, or cast to an integer"
            )
        return (common,)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join the arguments with the operator."""
        return f" {self.symbol} ".join(c_cast(arg, result) for arg in args)


class Rounding(ScalarOp):
    """A function that gives a whole number of the input's own dtype."""

    exact = True
    ufunc: ClassVar[Callable[..., Any]]
    c_function: ClassVar[str] = ""

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the input."""
        self.refuse_complex(dtypes)
        return (upcast(*dtypes),)

    @quiet
    def impl(self, *values: Any) -> Any:
        """Round floats; integers are whole already."""
        (value,) = values
        dtype = dtype_name(value)
        if is_discrete(dtype):
            return np.array(value, dtype=dtype)[()]
        return type(self).ufunc(value)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function that compilers expand in place."""
        if is_discrete(result):
            return args[0].text
        return c_builtin(self.c_function, result, args[0].text)


__all__ = [
    "Arithmetic",
    "Bitwise",
    "Comparison",
    "FloatFunction",
    "Rounding",
    "ScalarOp",
    "ScalarTypeError",
    "UfuncOp",
    "dtype_name",
    "quiet",
]
