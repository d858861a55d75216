"""Scalar ops and types of Theano 1.0 that the layer has no name for, shared numbers, and ops from formulas of SymPy."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from theano_graph import FunctionGraph, config, format_error
from theano_linker_c import SharedVariable
from theano_linker_c.scalar import (
    Composite,
    ScalarConstant,
    ScalarOp,
    ScalarOperators,
    ScalarType,
    Second,
    as_scalar,
    cast as _cast,
    int_div,
    is_complex,
    is_discrete,
    mod,
    part_dtype,
    true_div,
    upcast,
)
from theano_tensor import autocast_float, autocast_int, constant as _constant

# ---- Helpers of `theano.scalar.basic` that programs for Theano 1.0 import

_Type = ScalarType


class IntegerDivisionError(Exception):
    """Two integers were divided with ``/`` where the flag ``int_division`` forbids it."""


class NumpyAutocaster:
    """Which dtype a Python number takes as a constant, as an array without dimensions.

    Parameters
    ----------
    dtypes : sequence of str
        The first that holds a number exactly is taken, else the last.
    """

    def __init__(self, dtypes: Any) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> Any:
        own = getattr(x, "dtype", None)
        if own is not None and str(own) in self.dtypes:
            return np.asarray(x)
        if isinstance(x, float) and config.floatX != "float64" and config.floatX in self.dtypes:
            return np.asarray(x, config.floatX)
        dtypes = [d for d in self.dtypes if d != "float16" or config.floatX == "float16"]
        with np.errstate(all="ignore"):
            candidates = [np.asarray(x).astype(dtype) for dtype in dtypes]
        return next((c for c in candidates if np.all(c == x)), candidates[-1])


def convert(x: Any, dtype: str | None = None) -> Any:
    """Return a number, or a sequence of numbers, as an array: of `dtype`, or of the dtype that a constant takes.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.convert(3).dtype.name, theano.scalar.convert(3, "float32").dtype.name
    ('int8', 'float32')
    """
    if dtype is not None:
        return np.asarray(x).astype(config.floatX if dtype == "floatX" else dtype)
    return np.asarray(_constant(x).data)


def constant(x: Any, name: str | None = None, dtype: str | None = None) -> ScalarConstant:
    """Return a scalar constant; its dtype is `dtype`, or the smallest that holds the number.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.constant(2).dtype, theano.scalar.constant(2, dtype="float32").dtype
    ('int8', 'float32')
    """
    value = convert(x, dtype)
    return ScalarType(value.dtype.name).make_constant(value[()], name=name)


def cast(x: Any, dtype: str) -> Any:
    """Return a scalar converted to `dtype`.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.cast(theano.scalar.ScalarType("int8")(), "float32").dtype
    'float32'
    """
    scalar = as_scalar(x)
    target_dtype = config.floatX if dtype == "floatX" else dtype
    return scalar if scalar.dtype == target_dtype else _cast(target_dtype)(scalar)


def as_common_dtype(*vars: Any) -> Iterator[Any]:
    """Yield variables, all converted to the dtype that holds each of them."""
    dtype = upcast(*(v.dtype for v in vars))
    return (v.astype(dtype) for v in vars)


def int_or_true_div(x_discrete: bool, y_discrete: bool) -> Any:
    """Return the op that ``/`` is for integers or other numbers: for two integers, by the flag ``int_division``.

    Raises
    ------
    IntegerDivisionError
        For two integers if ``int_division`` is 'raise'.
    """
    if not (x_discrete and y_discrete) or config.int_division == "floatX":
        return true_div
    if config.int_division == "raise":
        raise IntegerDivisionError(
            format_error("two integers are divided with /", hint="use // for a whole quotient, or cast one to a float")
        )
    return int_div


def div_proxy(x: Any, y: Any) -> Any:
    """Return ``x / y`` for scalars, with the op that `int_or_true_div` gives."""
    x, y = as_scalar(x), as_scalar(y)
    return int_or_true_div(is_discrete(x.dtype), is_discrete(y.dtype))(x, y)


def mod_check(x: Any, y: Any) -> Any:
    """Return ``x % y`` for scalars; `ComplexError` for complex numbers, which have no remainder."""
    return mod(as_scalar(x), as_scalar(y))


def _multi(*types: ScalarType) -> Any:
    """Return a function of names that makes variables: one for one name, else a list; a list of them for more types."""

    def maker(type_: ScalarType) -> Callable[[Any], Any]:
        def make(names: Any) -> Any:
            return type_(names) if len(names) == 1 else [type_(name) for name in names]

        return make

    variables = [maker(type_) for type_ in types]
    return variables[0] if len(variables) == 1 else variables


ints = _multi(_Type("int64"))
floats = _multi(_Type("float64"))
complexs = _multi(_Type("complex128"))
complexs64 = _multi(_Type("complex64"))
complexs128 = _multi(_Type("complex128"))


def int_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer int64."""
    return (_Type("int64"),)


def float_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64."""
    return (_Type("float64"),)


def _refuse_complex(types: tuple[ScalarType, ...]) -> None:
    if any(is_complex(t.dtype) for t in types):
        raise TypeError(format_error("complex numbers are not supported", hint="take the real part first"))


def int_out_nocomplex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer int64; TypeError for complex numbers."""
    _refuse_complex(types)
    return int_out(*types)


def float_out_nocomplex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64; TypeError for complex numbers."""
    _refuse_complex(types)
    return float_out(*types)


def real_out(type: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the parts of complex numbers; others stay."""
    return (_Type(part_dtype(type.dtype)),)


def round_half_away_from_zero_(a: Any) -> Any:
    """Round a number to the nearest whole one, of two equally near to that further from zero.

    Examples
    --------
    >>> import theano
    >>> theano.scalar.round_half_away_from_zero_(-2.5)
    -3.0
    """
    return float(np.floor(a + 0.5) if a > 0 else np.ceil(a - 0.5))


round_half_away_from_zero_vec64 = np.vectorize(round_half_away_from_zero_, doc="Round an array.", otypes=["float64"])
round_half_away_from_zero_vec32 = np.vectorize(round_half_away_from_zero_, doc="Round an array.", otypes=["float32"])


def round_half_away_from_zero_vec(a: Any) -> Any:
    """Round an array to whole numbers, of two equally near to the one further from zero."""
    single = getattr(a, "dtype", None) == np.float32
    return (round_half_away_from_zero_vec32 if single else round_half_away_from_zero_vec64)(a)


class Compositef32:
    """Changes scalar graphs so that they compute in float32 instead of float16."""

    def apply(self, fgraph: FunctionGraph) -> tuple[list[Any], list[Any]]:
        """Return inputs and outputs of a graph equal to `fgraph`, without float16."""
        composite = Composite(fgraph.inputs, fgraph.outputs).clone_float32()
        return composite.inputs, composite.outputs


#: SciPy is always there.
imported_scipy_special = True
composite_f32 = Compositef32()
_autocasters = autocast_float, autocast_int
convert_to_bool = _cast("bool")
convert_to_int8 = _cast("int8")
convert_to_int16 = _cast("int16")
convert_to_int32 = _cast("int32")
convert_to_int64 = _cast("int64")
convert_to_uint8 = _cast("uint8")
convert_to_uint16 = _cast("uint16")
convert_to_uint32 = _cast("uint32")
convert_to_uint64 = _cast("uint64")
convert_to_float16 = _cast("float16")
convert_to_float32 = _cast("float32")
convert_to_float64 = _cast("float64")
convert_to_complex64 = _cast("complex64")
convert_to_complex128 = _cast("complex128")


# ---- Numbers that functions share


class ScalarSharedVariable(ScalarOperators, SharedVariable):
    """A scalar that carries a value, seen by every function that uses it."""

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The element type's name."""
        kind: Any = self.type
        return str(kind.dtype)


def shared(value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None) -> Any:
    """Return a shared scalar for a number: int64 or float64 unless it is a NumPy scalar.

    Raises
    ------
    TypeError
        If `value` is no number.

    Examples
    --------
    >>> import theano
    >>> theano.shared(3, name="n").dtype
    'int64'
    """
    if not isinstance(value, (np.number, float, int, complex)):
        raise TypeError(format_error(f"{value!r} is no number", hint="use theano.shared for arrays"))
    number = np.asarray(value)[()]
    return ScalarSharedVariable(ScalarType(number.dtype.name), number, name, strict, allow_downcast)


# ---- A scalar op whose C code SymPy writes. SymPy is imported when such an op is made

imported_sympy = find_spec("sympy") is not None
_NUMBERS = itertools.count()
_DTYPES = {"double": "float64", "float": "float32", "int": "int64"}


def include_line(line: str) -> bool:
    """Tell whether a line of C includes a header."""
    return "#include" in line


def sympy_dtype(expr: Any) -> str:
    """Return the C type of a formula's value."""
    dtype: str = importlib.import_module("sympy.utilities.codegen").get_default_datatype(expr).cname
    return dtype


def theano_dtype(expr: Any) -> ScalarType:
    """Return the scalar type of a formula's value."""
    return ScalarType(_DTYPES[sympy_dtype(expr)])


class SymPyCCode(ScalarOp):
    """Compute a formula of SymPy.

    Parameters
    ----------
    inputs : list of sympy.Symbol
        The symbols for the inputs of the op.
    expr : sympy.Expr
    name : str, optional
        Of the function in C; made up by default.

    Examples
    --------
    ::

        from sympy.abc import x, y
        xt, yt = theano.scalar.floats("xy")
        total = SymPyCCode([x, y], x + y)(xt, yt)
    """

    def __init__(self, inputs: Sequence[Any], expr: Any, name: str | None = None) -> None:
        super().__init__(name=name or f"sympy_func_{next(_NUMBERS)}")
        self.inputs = list(inputs)
        self.nin = len(self.inputs)
        self.expr = expr

    def _lines(self) -> list[str]:
        codegen = importlib.import_module("sympy.utilities.codegen").codegen
        (_, code), _ = codegen((self.name, self.expr), "C", "project_name", header=False, argument_sequence=self.inputs)
        lines: list[str] = code.split("\n")
        return lines

    def c_support_code(self) -> str:
        """Return the function that SymPy writes."""
        return "\n".join(line for line in self._lines() if not include_line(line))

    def c_headers(self) -> list[str]:
        """Return the headers that it needs."""
        lines = [line for line in self._lines() if include_line(line) and "project_name" not in line]
        return [line.replace("#include", "").strip() for line in lines]

    def c_code(self, node: Any, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """Call the function."""
        return f"{outputs[0]} = {self.name}({', '.join(inputs)});"

    def impl(self, *values: Any) -> Any:
        """Compute the formula for numbers."""
        sympy = importlib.import_module("sympy")
        function = sympy.lambdify(self.inputs, self.expr, "math")
        return np.dtype(theano_dtype(self.expr).dtype).type(function(*values))

    def output_types(self, types: Sequence[ScalarType]) -> list[ScalarType]:
        """Return the type that SymPy gives the formula."""
        if len(types) != self.nin:
            what = f"{self} takes {self.nin} inputs, not {len(types)}"
            raise TypeError(format_error(what, hint="pass one for each symbol"))
        return [theano_dtype(self.expr)]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Return the formula's derivatives, as such ops, times the gradient of the result."""
        parts = [
            SymPyCCode(self.inputs, self.expr.diff(symbol), name=f"{self.name}_grad_{i}")(*inputs)
            for i, symbol in enumerate(self.inputs)
        ]
        (gradient,) = output_gradients
        return [part if _is_one(gradient) else gradient * part for part in parts]

    def _info(self) -> tuple[Any, ...]:
        return type(self), self.name, tuple(self.inputs), self.expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymPyCCode) and self._info() == other._info()

    def __hash__(self) -> int:
        return hash(self._info())


def _is_one(variable: Any) -> bool:
    """Tell whether a gradient is the number 1, with which differentiating begins: perhaps filled into another value."""
    node = variable.owner
    filled = node.inputs[1] if node is not None and isinstance(node.op, Second) else variable
    return bool(getattr(filled, "data", None) == 1)
