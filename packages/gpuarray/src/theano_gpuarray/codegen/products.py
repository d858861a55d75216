"""Products of vectors, matrices and stacks of matrices, scaled and added to something, and their epilogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel, MatrixProductKernel, memory_type
from theano_linker_c.scalar import CValue, ScalarOp, c_stored, c_type, program_of

from ._form import DeviceOperand, NoDeviceForm, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, broadcast_to, contiguous, loaded, on_device
from ._tiles import TiledProduct, launch_product, launch_thin

_DTYPES = ("float16", "float32", "float64")
#: Positions and byte offsets below this are computed with 32 bits.
_NARROW = 2**31 - 2**20


@record
class ProductEpilogueKernel(Kernel):
    """A scalar op over the result of a matrix product and further arrays: a product with its epilogue.

    Inputs are those of the product, then the further arrays.

    Parameters
    ----------
    product : MatrixProductKernel
    product_inputs : int
        How many inputs the product has.
    scalar_op : ScalarOp
        Of one result; its first argument is the element of the product.
    input_dtypes : tuple of str
        Of all its arguments.
    broadcast : tuple of tuple of bool
        For each further array, which dimensions broadcast.
    output_dtype : str
    """

    product: MatrixProductKernel
    product_inputs: int
    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    output_dtype: str


@dataclass(frozen=True)
class _Operands:
    """A product as stacks of matrices: factors of shapes (batch, m, k) and (batch, k, n)."""

    a: DeviceOperand
    b: DeviceOperand
    z: DeviceOperand | None
    alpha: Operand | None
    beta: Operand | None
    shape: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Rows, columns, inner length and batch."""
        return self.a.shape[1], self.b.shape[2], self.a.shape[2], self.a.shape[0]


def _supports(kernel: MatrixProductKernel) -> bool:
    return kernel.dtype in _DTYPES


def _supports_epilogue(kernel: ProductEpilogueKernel) -> bool:
    try:
        text = KernelWriter("epilogue")
        text.add(*_epilogue(kernel))
        text.preamble += program_of(kernel.scalar_op, kernel.input_dtypes).preamble
        return _supports(kernel.product) and bool(text.text.text)
    except NoDeviceForm:
        return False


def _mismatch(what: str, hint: str) -> ValueError:
    return ValueError(format_error(what, hint=hint))


def _check_inner(kind: str, n_inputs: int, x: DeviceOperand, y: DeviceOperand) -> None:
    """Raise ValueError, as the ops do on the CPU, if inner lengths differ."""
    if kind == "batched":
        if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
            raise _mismatch(
                f"batched_dot: shapes {x.shape} and {y.shape} do not fit",
                "the first dimensions must be equal, and the last of x and the second of y",
            )
    elif kind == "ger" or x.shape[-1] == y.shape[0]:
        return
    elif kind == "gemm":
        raise _mismatch(
            f"Shape mismatch: x has {x.shape[1]} cols (and {x.shape[0]} rows) but y has {y.shape[0]} rows "
            f"(and {y.shape[1]} cols)",
            "the columns of x and the rows of y must be as many; transpose one of them",
        )
    elif kind == "gemv" and n_inputs > 2:
        raise _mismatch(
            f"Shape mismatch: A has {x.shape[1]} cols (shape {x.shape}) but x has {y.shape[0]} elements",
            "the columns of A and the elements of x must be as many; transpose A",
        )
    else:
        raise _mismatch(
            f"Shape mismatch: x has {x.shape[-1]} {'cols' if x.ndim == 2 else 'elements'} (shape {x.shape})"
            f" but y has {y.shape[0]} {'rows' if y.ndim == 2 else 'elements'} (shape {y.shape})",
            "the last dimension of x and the first of y must have the same length; transpose one of them",
        )


_NAMES = {"gemm": "Gemm", "gemv": "Gemv", "ger": "Ger", "vecmat": "Gemv", "dot": "Dot"}


def _understood(kernel: MatrixProductKernel, recorder: Recorder, operands: Sequence[Operand]) -> _Operands:
    """Return factors, their scale and their summand."""
    count, kind = len(operands), kernel.kind
    z, alpha, beta = None, None, None
    if kernel.accumulates(count):
        first, alpha, left, right, *others = operands
        z, beta = on_device(recorder, first), others[0] if others else np.ones((), "float64")
    else:
        left, right, *factors = operands
        alpha = factors[0] if factors else None
    x, y = on_device(recorder, left), on_device(recorder, right)
    _check_inner(kind, count, x, y)
    if kind == "batched":
        shape: tuple[int, ...] = (x.shape[0], x.shape[1], y.shape[2])
        a, b = x, y
    else:
        shape = x.shape + y.shape if kind == "ger" else x.shape[:-1] + y.shape[1:]
        a, b = _first_stack(kind, x), _second_stack(kind, y)
    if z is not None and z.shape != shape:
        raise _mismatch(
            f"{_NAMES[kind]}: a product of shape {shape} cannot be added to an array of shape {z.shape}",
            "give both the same shape: no dimension broadcasts here",
        )
    return _Operands(a, b, z, alpha, beta, shape)


def _first_stack(kind: str, x: DeviceOperand) -> DeviceOperand:
    if kind in ("gemv", "gemm"):
        return x.view((1, *x.shape), (0, *x.strides))
    (n,), (step,) = x.shape, x.strides
    return x.view((1, n, 1), (0, step, 0)) if kind == "ger" else x.view((1, 1, n), (0, 0, step))


def _second_stack(kind: str, y: DeviceOperand) -> DeviceOperand:
    if kind in ("vecmat", "gemm"):
        return y.view((1, *y.shape), (0, *y.strides))
    (n,), (step,) = y.shape, y.strides
    return y.view((1, 1, n), (0, 0, step)) if kind == "ger" else y.view((1, n, 1), (0, step, 0))


def _as_stack(kind: str, x: DeviceOperand) -> DeviceOperand:
    """Return an array of the shape of the result, as (batch, m, n)."""
    if kind == "batched":
        return x
    shape, strides = {
        0: ((1, 1, 1), (0, 0, 0)),
        1: ((1, 1, *x.shape), (0, 0, *x.strides)) if kind == "vecmat" else ((1, *x.shape, 1), (0, *x.strides, 0)),
        2: ((1, *x.shape), (0, *x.strides)),
    }[x.ndim]
    return x.view(shape, strides)


@register_device_form(MatrixProductKernel, supports=_supports)
def _product(kernel: MatrixProductKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    product_operands = _understood(kernel, recorder, operands)
    target, holds_z = _target(kernel, recorder, product_operands, operands)
    if (product_operands.z is None or holds_z) and _by_library(kernel, recorder, product_operands, target):
        return [target]
    # Where z has that memory, each of its elements is read by the work-item that writes it.
    _launch(kernel, recorder, product_operands, target, target if holds_z else product_operands.z, None, ())
    return [target]


def _target(
    kernel: MatrixProductKernel, recorder: Recorder, product_operands: _Operands, operands: Sequence[Operand]
) -> tuple[DeviceOperand, bool]:
    """Return where the product is put, and whether z stands there."""
    z = product_operands.z
    if z is not None:
        others = [o for o in operands[1:] if isinstance(o, DeviceOperand)]
        if z.contiguous and recorder.may_overwrite(z) and all(o.slot != z.slot for o in others):
            return z, True
        # Libraries add in place; kernels here read z and write elsewhere, which saves the copy.
        if recorder.properties.driver == "cuda":
            return contiguous(recorder, z, copied=True), True
    return recorder.empty(kernel.dtype, product_operands.shape), False


def _by_library(
    kernel: MatrixProductKernel, recorder: Recorder, product_operands: _Operands, target: DeviceOperand
) -> bool:
    """Try a library; it is not asked for products of vectors, which wait for memory alone."""
    rows, columns, inner, _ = product_operands.sizes
    if min(rows, columns, inner) < 2:
        return False
    alpha, beta = (_factor(f, d) for f, d in ((product_operands.alpha, 1.0), (product_operands.beta, 0.0)))
    matrices = [_as_stack(kernel.kind, target), product_operands.a, product_operands.b]
    if kernel.kind != "batched":
        matrices = [m.view(m.shape[1:], m.strides[1:]) for m in matrices]
    return recorder.product(matrices[0], matrices[1], matrices[2], alpha, beta)


def _factor(factor: Operand | None, default: float) -> float | DeviceOperand:
    if factor is None:
        return default
    return factor if isinstance(factor, DeviceOperand) else float(np.asarray(factor))


@register_device_form(ProductEpilogueKernel, supports=_supports_epilogue)
def _product_with_epilogue(
    kernel: ProductEpilogueKernel, recorder: Recorder, operands: Sequence[Operand]
) -> Sequence[Operand]:
    product_operands = _understood(kernel.product, recorder, operands[: kernel.product_inputs])
    more = [on_device(recorder, x) for x in operands[kernel.product_inputs :]]
    for x, pattern in zip(more, kernel.broadcast, strict=True):
        if any(n != (1 if flag else m) for n, m, flag in zip(x.shape, product_operands.shape, pattern, strict=True)):
            raise _mismatch(
                f"elementwise: an array of shape {x.shape} does not fit a product of shape {product_operands.shape}",
                "only dimensions that are declared broadcastable broadcast",
            )
    result = recorder.empty(kernel.output_dtype, product_operands.shape)
    arrays = [_as_stack(kernel.product.kind, broadcast_to(x, product_operands.shape)) for x in more]
    _launch(kernel.product, recorder, product_operands, result, product_operands.z, kernel, arrays)
    return [result]


def _launch(
    kernel: MatrixProductKernel,
    recorder: Recorder,
    product_operands: _Operands,
    result: DeviceOperand,
    z: DeviceOperand | None,
    epilogue: ProductEpilogueKernel | None,
    more: Sequence[DeviceOperand],
) -> None:
    """Launch a product of our own."""
    dtype = "float64" if kernel.dtype == "float64" else "float32"
    rows, columns, inner, batch = product_operands.sizes
    out = _as_stack(kernel.kind, result)
    added = None if z is None else _as_stack(kernel.kind, z)
    narrow = max(product_operands.sizes) < _NARROW and all(
        x is None or _reach(x) < _NARROW for x in (product_operands.a, product_operands.b, out, added, *more)
    )
    letter = "i" if narrow else "q"
    # With one row it is the second factor, transposed, that has rows.
    flipped = rows == 1 and columns > 1
    names = ("row", "column") if not flipped else ("column", "row")

    def declare(writer: KernelWriter) -> None:
        for name, operand in (("p", product_operands.a), ("q", product_operands.b)):
            writer.array(name, operand)
            writer.numbers(f"{name}s", operand.strides, letter)

    def declare_result(writer: KernelWriter) -> None:
        if epilogue is not None:
            writer.preamble += program_of(epilogue.scalar_op, epilogue.input_dtypes).preamble
        for name, factor in (("alpha", product_operands.alpha), ("beta", product_operands.beta)):
            if isinstance(factor, DeviceOperand):
                writer.array(name, factor)
            elif factor is not None:
                writer.number(name, float(np.asarray(factor)), "d" if dtype == "float64" else "f")
        for name, operand in (("z", added), ("out", out), *((f"m{k}", x) for k, x in enumerate(more))):
            if operand is not None:
                writer.array(name, operand, written=name == "out")
                writer.numbers(f"{name}s", operand.strides, letter)

    first = [_read(kernel.dtype, "p", ("batch", names[0], "inner"))]
    second = [_read(kernel.dtype, "q", ("batch", "inner", names[1]))]
    sizes = (columns, rows, inner, batch) if flipped else (rows, columns, inner, batch)
    close = [
        x.shape[-1] == 1 or abs(x.strides[-1]) <= abs(x.strides[-2]) for x in (product_operands.a, product_operands.b)
    ]
    store = _store(kernel, dtype, product_operands, added is not None, epilogue, names)
    product = TiledProduct(
        "product",
        dtype,
        sizes,
        declare,
        second if flipped else first,
        first if flipped else second,
        declare_result,
        store,
        (not close[1], not close[0]) if flipped else (close[0], close[1]),
        narrow=narrow,
    )
    (launch_thin if min(rows, columns) == 1 and max(inner, 1) > 1 else launch_product)(recorder, product)


def _reach(x: DeviceOperand) -> int:
    """Return how many bytes the elements of an array lie from the first one, at most."""
    return sum(abs(step) * n for step, n in zip(x.strides, x.shape, strict=True))


def add_product(recorder: Recorder, z: DeviceOperand, a: DeviceOperand, b: DeviceOperand, factor: float) -> None:
    """Add products to stacks of matrices, in place: ``z += factor * a @ b``.

    Parameters
    ----------
    recorder : Recorder
    z, a, b : DeviceOperand
        Of shapes (batch, m, n), (batch, m, k) and (batch, k, n), and of one dtype; any layout.
    factor : float
    """
    if not z.size or not a.size or recorder.product(z, a, b, factor, 1.0):
        return
    one, number = (np.asarray(value, z.dtype) for value in (1.0, factor))
    product_operands = _Operands(a, b, z, number, one, z.shape)
    _launch(MatrixProductKernel("batched", z.dtype), recorder, product_operands, z, z, None, ())


def _place(name: str, positions: Sequence[str]) -> str:
    return f"{name} + {name}_at + " + " + ".join(f"{j} * {name}s{d}" for d, j in enumerate(positions))


def _read(dtype: str, name: str, positions: Sequence[str]) -> str:
    element = f"*(GLOBAL_MEM const {memory_type(dtype)} *)({_place(name, positions)})"
    return f"value = {loaded(dtype, element).text};"


def _scalar(dtype: str, name: str, factor: Operand) -> str:
    if not isinstance(factor, DeviceOperand):
        return name
    return loaded(dtype, f"*(GLOBAL_MEM const {memory_type(dtype)} *)({name} + {name}_at)").text


def _store(
    kernel: MatrixProductKernel,
    wide: str,
    product_operands: _Operands,
    has_z: bool,
    epilogue: ProductEpilogueKernel | None,
    names: tuple[str, str],
) -> list[str]:
    """Return the statements that scale the sum, add z, apply the epilogue, and store the result."""
    kind, positions = c_type(wide), ("batch", *names)
    lines = [f"{kind} result = sum;"]
    if product_operands.alpha is not None:
        lines.append(f"result *= {_scalar(kernel.dtype, 'alpha', product_operands.alpha)};")
    if has_z and product_operands.beta is not None:
        z = loaded(kernel.dtype, f"*(GLOBAL_MEM const {memory_type(kernel.dtype)} *)({_place('z', positions)})").text
        factor = _scalar(kernel.dtype, "beta", product_operands.beta)
        # z is not read where its factor is 0.
        lines.append(f"if ({factor} != 0) result += {factor} * {z};")
    memory = memory_type(kernel.dtype if epilogue is None else epilogue.output_dtype)
    target = f"*(GLOBAL_MEM {memory} *)({_place('out', positions)})"
    if epilogue is None:
        return [*lines, f"{target} = {c_stored(CValue('result', wide), kernel.dtype)};"]
    return [*lines, *_epilogue(epilogue, wide, target, positions)]


def _epilogue(
    kernel: ProductEpilogueKernel,
    wide: str = "float32",
    target: str = "result",
    positions: Sequence[str] = ("0", "0", "0"),
) -> list[str]:
    """Return the statements that apply the scalar op to ``result`` and the further arrays."""
    lines = [f"const {c_type(kernel.input_dtypes[0])} x0 = {_as_element('result', wide, kernel.input_dtypes[0])};"]
    for k, dtype in enumerate(kernel.input_dtypes[1:]):
        element = f"*(GLOBAL_MEM const {memory_type(dtype)} *)({_place(f'm{k}', positions)})"
        lines.append(f"const {c_type(dtype)} x{k + 1} = {loaded(dtype, element).text};")
    values = [CValue(f"x{k}", dtype) for k, dtype in enumerate(kernel.input_dtypes)]
    statements, results = program_of(kernel.scalar_op, kernel.input_dtypes).emit(values, "t")
    return [*lines, *statements, f"{target} = {c_stored(results[0], kernel.output_dtype)};"]


def _as_element(text: str, wide: str, dtype: str) -> str:
    """Return the text of a sum as an element of `dtype` would have it."""
    if dtype != "float16":
        return text
    return loaded(dtype, c_stored(CValue(text, wide), dtype)).text


__all__ = ["ProductEpilogueKernel", "TiledProduct", "add_product", "launch_product"]
