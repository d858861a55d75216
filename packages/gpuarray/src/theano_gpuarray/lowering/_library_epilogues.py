"""Products with their epilogues as one call of cuBLASLt: a row that is added, and an activation."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from theano_graph import config, record
from theano_linker_c.kernels import ElementwiseKernel
from theano_linker_c.scalar import ScalarOp, add, ge, gt, le, lt, maximum, mul, program_of, relu, sqr, sub, switch, tanh

from ..codegen import DeviceOperand, LibraryCall, Recorder
from ..codegen._kernel_writer import contiguous
from ..codegen.products import ProductEpilogueKernel
from ..region import Step, library_product

#: Numbers of the library.
_NONE, _RELU, _BIAS, _GELU = 1, 2, 4, 32
#: The gradient of GELU, times the product; its argument is read.
GELU_GRADIENT = 192
_KEPT, _DROPPED = 1, 2
#: The constants of GELU by tanh: Hendrycks and Gimpel (2016), "Gaussian error linear units", section 2.
_OUTER, _CUBIC = math.sqrt(2 / math.pi), 0.044715
#: Addresses that the library is promised to be multiples of.
_ALIGNMENT = 16
_DTYPES = ("float16", "float32", "float64")
#: The rows of an argument have to be a multiple of this.
_LEADING = 8

#: Ops that are looked for; others have no name.
_OPS: tuple[ScalarOp, ...] = (add, ge, gt, le, lt, maximum, mul, relu, sqr, sub, switch, tanh)
_NAMES = {op: op.name for op in _OPS}
#: The name of an op with its operands, "input" with a number, or "constant" with a value.
_Expression: TypeAlias = tuple[Any, ...]
#: Monomials, each a sorted tuple of factors, with their coefficients.
_Polynomial: TypeAlias = dict[tuple[_Expression, ...], float]


@record
class Epilogue:
    """The epilogue of a product.

    Parameters
    ----------
    number : int
        As the library has it.
    bias : int or None
        Which argument of the scalar op is the row that is added.
    nan : int
        The larger one of NaN and 0: NaN stays (1), it is 0 (2), or nothing is asked (0).
    """

    number: int
    bias: int | None
    nan: int = 0


def epilogue_of(kernel: ProductEpilogueKernel) -> Epilogue | None:
    """Return the epilogue of a product if cuBLASLt has it.

    That is a row that is added, the larger one of the result and 0, and GELU by tanh; one of these, or the first and
    one of the others. Formulas are compared, not values.
    """
    product = kernel.product
    dtypes = {*kernel.input_dtypes, kernel.output_dtype, product.dtype}
    if kernel.product_inputs != 2 or product.kind != "gemm" or len(dtypes) > 1 or product.dtype not in _DTYPES:
        return None
    expressions: list[_Expression] = [("input", k) for k in range(len(kernel.input_dtypes))]
    (result,), first = _expressions(kernel.scalar_op, kernel.input_dtypes, expressions), expressions[0]
    if len(kernel.input_dtypes) == 1:
        number = _activation(result, first)
        return None if number in (None, _NONE) else Epilogue(number, None, _of_nan(result, first, number))
    if len(kernel.input_dtypes) != 2 or kernel.broadcast[0] != (True, False):
        return None
    for inner in (("add", first, expressions[1]), ("add", expressions[1], first)):
        number = _activation(result, inner)
        if number is not None:
            return Epilogue(_BIAS if number == _NONE else number | _BIAS, 1, _of_nan(result, inner, number))
    return None


def _expressions(op: ScalarOp, dtypes: Sequence[str], inputs: Sequence[_Expression]) -> list[_Expression]:
    """Return the results of a scalar op, given its arguments."""
    program = program_of(op, tuple(dtypes))
    values = list(inputs)
    constants: list[_Expression] = [
        ("constant", float(np.frombuffer(raw, dtype)[0])) for dtype, raw in program.constants
    ]
    for step in program.steps:
        values.append((_NAMES.get(step.op, "other"), *(values[k] if k >= 0 else constants[-1 - k] for k in step.args)))
    return [values[k] if k >= 0 else constants[-1 - k] for k in program.outputs]


def gelu_argument(after: Step, product: int, producer: Step) -> int | None:
    """Return the value by which GELU is differentiated, where an elementwise step multiplies that with a product.

    Parameters
    ----------
    after : Step
        Elementwise; its inputs are the product and results of `producer`.
    product : int
        The value that is the product.
    producer : Step
        The elementwise step that computes GELU, and parts of its gradient.
    """
    first, second = producer.task, after.task
    if not isinstance(first, ElementwiseKernel) or not isinstance(second, ElementwiseKernel):
        return None
    dtypes = {*first.input_dtypes, *first.output_dtypes, *second.input_dtypes, *second.output_dtypes}
    if len(dtypes) > 1 or any(any(pattern) for pattern in second.broadcast):
        return None
    inputs: list[_Expression] = [("input", k) for k in range(len(producer.inputs))]
    expressions = dict(zip(producer.outputs, _expressions(first.scalar_op, first.input_dtypes, inputs), strict=True))
    expressions[product] = ("gradient",)
    if any(v not in expressions for v in after.inputs):
        return None
    (result,) = _expressions(second.scalar_op, second.input_dtypes, [expressions[v] for v in after.inputs])
    arguments = (v for v in after.inputs if v != product and _is_gelu_gradient(result, expressions[v]))
    return next(arguments, None)


def _activation(result: _Expression, x: _Expression) -> int | None:
    """Return which function of `x` an expression is, by the number of the library."""
    if result == x:
        return _NONE
    if _is_larger_of_zero(result, x):
        return _RELU
    return _GELU if _is_gelu(result, x) else None


def _of_nan(result: _Expression, x: _Expression, number: int) -> int:
    """Return an activation's value at NaN: comparisons with it are false."""
    if number != _RELU:
        return 0
    name, *args = result
    return _DROPPED if name == "switch" and args[1] == x else _KEPT


def _is_zero(x: _Expression) -> bool:
    return x == ("constant", 0.0)


def _is_positive(x: _Expression, of: _Expression) -> bool:
    """Tell whether an expression is ``of > 0``, or the like with or without 0 itself."""
    if x[0] in ("gt", "ge"):
        return bool(x[1] == of and _is_zero(x[2]))
    return bool(x[0] in ("lt", "le") and _is_zero(x[1]) and x[2] == of)


def _is_larger_of_zero(result: _Expression, x: _Expression) -> bool:
    name, *args = result
    match name:
        case "relu":
            return args == [x]
        case "maximum":
            return len(args) == 2 and any(a == x and _is_zero(b) for a, b in (args, args[::-1]))
        case "mul":
            return len(args) == 2 and any(a == x and _is_positive(b, x) for a, b in (args, args[::-1]))
        case "switch":
            condition, then, other = args
            if _is_positive(condition, x):
                return then == x and _is_zero(other)
            # Where the condition says that it is below 0.
            name, *sides = condition
            below = name in ("lt", "le") and sides[0] == x and _is_zero(sides[1])
            return below and _is_zero(then) and other == x
        case _:
            return False


def _is_gelu(result: _Expression, x: _Expression) -> bool:
    polynomial = _polynomial(result, x)
    curve = _curve(polynomial, x)
    return polynomial is not None and curve is not None and _close(polynomial, {(x,): 0.5, _sorted(x, curve): 0.5})


def _curve(found: _Polynomial | None, x: _Expression) -> _Expression | None:
    """Return the only value of tanh in a polynomial if it is that of GELU."""
    curves = {factor for monomial in found or () for factor in monomial if factor[0] == "tanh"}
    if len(curves) != 1:
        return None
    (curve,) = curves
    inner = _polynomial(curve[1], x)
    is_right = inner is not None and _close(inner, {(x,): _OUTER, (x, x, x): _OUTER * _CUBIC})
    return curve if is_right else None


def _is_gelu_gradient(result: _Expression, x: _Expression) -> bool:
    """Tell whether an expression is the derivative of GELU at `x`, times a gradient."""
    polynomial = _polynomial(result, x)
    t = _curve(polynomial, x)
    if polynomial is None or t is None:
        return False
    # With t = tanh(c x + c k x^3): (1 + t) / 2 + x (1 - t^2) c (1 + 3 k x^2) / 2.
    g, line, cube = ("gradient",), _OUTER / 2, 1.5 * _OUTER * _CUBIC
    pattern = {
        (g,): 0.5,
        _sorted(g, t): 0.5,
        _sorted(g, x): line,
        _sorted(g, x, t, t): -line,
        _sorted(g, x, x, x): cube,
        _sorted(g, x, x, x, t, t): -cube,
    }
    return _close(polynomial, pattern)


def _close(found: _Polynomial, wanted: _Polynomial) -> bool:
    return found.keys() == wanted.keys() and all(abs(found[m] - c) <= 1e-6 * abs(c) for m, c in wanted.items())


def _sorted(*factors: _Expression) -> tuple[_Expression, ...]:
    return tuple(sorted(factors, key=repr))


def _polynomial(result: _Expression, x: _Expression) -> _Polynomial | None:
    """Return an expression as a polynomial of `x`, of values of tanh and of a gradient; None where it is none."""
    if result == x or result[0] in ("tanh", "gradient"):
        return {(result,): 1.0}
    name, *args = result
    if name == "constant":
        return {(): args[0]}
    if name not in ("add", "mul", "sqr", "sub"):
        return None
    parts = [_polynomial(arg, x) for arg in (args * 2 if name == "sqr" else args)]
    total: _Polynomial = {(): 1.0} if name in ("mul", "sqr") else {}
    for k, part in enumerate(parts):
        if part is None:
            return None
        if name in ("mul", "sqr"):
            total = _product(total, part)
            continue
        sign = -1.0 if name == "sub" and k else 1.0
        for monomial, c in part.items():
            total[monomial] = total.get(monomial, 0.0) + sign * c
    return total


def _product(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    terms: _Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            key = _sorted(*m, *n)
            terms[key] = terms.get(key, 0.0) + c * d
    return terms


def epilogue_by_library(
    kernel: ProductEpilogueKernel, recorder: Recorder, operands: Sequence[DeviceOperand]
) -> DeviceOperand | None:
    """Compute a product with its epilogue by cuBLASLt; None where there is none for these operands.

    Parameters
    ----------
    kernel : ProductEpilogueKernel
    recorder : Recorder
    operands : sequence of DeviceOperand
        The factors, and the row.
    """
    epilogue = epilogue_of(kernel)
    if epilogue is None:
        return None
    a, b, *more = operands
    row = more[0] if more else None
    if row is not None and (row.shape != (1, b.shape[1]) or not row.contiguous):
        return None
    # Where there is no row, any address stands in its place.
    return product_by_library(recorder, epilogue.number, a, b, a if row is None else row, nan=epilogue.nan)


@record
class Scaled:
    """The addend of a product, with the factors of both.

    Parameters
    ----------
    z : DeviceOperand
    alpha, beta : float
        Of the product, and of `z`.
    """

    z: DeviceOperand
    alpha: float
    beta: float


def product_by_library(
    recorder: Recorder,
    epilogue: int,
    a: DeviceOperand,
    b: DeviceOperand,
    row: DeviceOperand,
    added: Scaled | None = None,
    nan: int = 0,
    argument: DeviceOperand | None = None,
) -> DeviceOperand | None:
    """Compute a product with an epilogue by cuBLASLt; None where there is none for these operands.

    Parameters
    ----------
    recorder : Recorder
    epilogue : int
        As the library has it.
    a, b : DeviceOperand
        Matrices.
    row : DeviceOperand
        The added row, or the target of the gradient by it.
    added : Scaled, optional
    nan : int
        See :class:`Epilogue`.
    argument : DeviceOperand, optional
        The differentiated value: of the shape of the product.
    """
    if a.shape[1] != b.shape[0] or not min(*a.shape, *b.shape) or any(x.offset % _ALIGNMENT for x in (a, b, row)):
        return None
    z = DeviceOperand(0, a.dtype, (a.shape[0], b.shape[1]), (b.shape[1] * a.itemsize, a.itemsize))
    product = library_product(z, a, b)
    if product is None or (added is not None and added.z.shape != z.shape):
        return None
    if argument is not None and not _is_argument(argument, z):
        return None
    m, n, k, _ = product.sizes
    leading = product.a.leading, product.b.leading, product.z.leading
    tf32 = int(a.dtype == "float32" and config.gpuarray.tf32)
    factors = (1.0, 0.0) if added is None else (added.alpha, added.beta)
    numbers = (int(product.a.transposed), int(product.b.transposed), m, n, k, *leading, epilogue, tf32)
    call = LibraryCall("epilogue", a.dtype, (*numbers, *map(_bits, factors), nan))
    size = recorder.workspace(call)
    if size is None:
        return None
    work = recorder.empty("uint8", (size,))
    result = recorder.empty(a.dtype, z.shape) if added is None else contiguous(recorder, added.z, copied=True)
    recorder.call(call, [a, b, result, row, work, *([] if argument is None else [argument])])
    return result


def _is_argument(x: DeviceOperand, z: DeviceOperand) -> bool:
    """Tell whether the library reads an array as the argument of its derivative."""
    fits = x.shape == z.shape and x.dtype == z.dtype and x.contiguous
    return fits and z.shape[1] % _LEADING == 0 and x.offset % _ALIGNMENT == 0


def _bits(number: float) -> int:
    """Return the bits of a number as one that the runtime takes."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits


__all__ = ["GELU_GRADIENT", "Scaled", "epilogue_by_library", "epilogue_of", "gelu_argument", "product_by_library"]
