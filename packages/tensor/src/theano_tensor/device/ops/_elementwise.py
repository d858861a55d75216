"""Elementwise ops, reductions and permuted dimensions on devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from theano_gpuarray.arrays import SIZE, SSIZE, GpuArray
from theano_gpuarray.codegen.text import memory_type, store, with_helpers
from theano_gpuarray.kernel_base import Kernel
from theano_gpuarray.types import device_kernel
from theano_graph import Apply, TheanoError, format_error
from theano_linker_c.kernels import Reduction
from theano_linker_c.scalar import (
    Composite,
    CValue,
    ScalarOp,
    c_cast,
    c_literal,
    c_loaded,
    c_type,
    upgrade_to_float_no_complex,
)
from theano_linker_c.scalar.special import Erfcinv, Erfinv

from ..._core._dtypes import AxisLike
from ...elemwise import DimShuffle, Elemwise
from ...reduce import CAReduceDtype
from ...reduce._reduce import Reduce
from ...rewrites import FusedReduce
from .._table import NamedDeviceOp, stands_for

# ---- The kernel of reductions along the last axes, and C code that launches it

#: Work-items of a group at most.
_ITEMS = 256
#: Work-groups at most; each takes rows in turns.
_GROUPS = 4096


def _name(count: int) -> str:
    return f"reduce_0{'1' * count}"


def reduction_kernel(reduction: Reduction, pre: ScalarOp | None, dtype: str, count: int, name: str) -> Kernel:
    """Return the kernel that reduces the last `count` axes of an array with one more.

    Parameters
    ----------
    reduction : Reduction
    pre : ScalarOp, optional
        The op applied to elements first.
    dtype : str
        Of the elements.
    count : int
    name : str
        A name that no other node has.
    """
    acc = reduction.acc_dtype
    kind = memory_type(acc)
    offset = " + ".join(["x_offset", "row * x_step0", *(f"i{d} * x_step{d}" for d in range(1, count + 1))])
    element = c_cast(
        CValue(f"({c_loaded(f'*(GLOBAL_MEM const {memory_type(dtype)} *)(x + {offset})', dtype)})", dtype), acc
    )
    if pre is not None:
        element = pre.c_expression([CValue(element, acc)], acc)

    def joined(a: str, b: str) -> str:
        return f"({c_type(acc)})({reduction.combine.c_expression([CValue(a, acc), CValue(b, acc)], acc)})"

    split = []
    for d in reversed(range(1, count + 1)):
        split += [f"const ga_ssize i{d} = (ga_ssize)(rest % n{d});", f"rest /= n{d};"]
    result = f"*(GLOBAL_MEM {memory_type(reduction.output_dtype)} *)(z + z_offset + row * z_step0)"
    lines = [
        f"LOCAL_MEM {kind} totals[{_ITEMS}];",
        f"const ga_size m = {' * '.join(f'n{d}' for d in range(1, count + 1))};",
        "for (ga_ssize row = GID_0; row < (ga_ssize)n0; row += GDIM_0) {",
        f"  {kind} total = {c_literal(reduction.seed, acc)};",
        "  for (ga_size i = LID_0; i < m; i += LDIM_0) {",
        "    ga_size rest = i;",
        *(f"    {line}" for line in split),
        f"    const {kind} element = {element};",
        f"    total = {joined('total', 'element')};",
        "  }",
        "  totals[LID_0] = total;",
        "  for (uint32_t s = LDIM_0; s > 1; s = (s + 1) / 2) {",
        "    local_barrier();",
        "    if (LID_0 < s / 2)",
        f"      totals[LID_0] = {joined('totals[LID_0]', 'totals[LID_0 + (s + 1) / 2]')};",
        "  }",
        "  if (LID_0 == 0)",
        f"    {store(result, CValue('totals[0]', acc), reduction.output_dtype)}",
        "  local_barrier();",
        "}",
    ]
    parameters = [
        *(f"const ga_size n{d}" for d in range(count + 1)),
        "GLOBAL_MEM const char *x",
        "const ga_ssize x_offset",
        *(f"const ga_ssize x_step{d}" for d in range(count + 1)),
        *("GLOBAL_MEM char *z", "const ga_ssize z_offset", "const ga_ssize z_step0"),
    ]
    body = "\n".join(f"  {line}" for line in lines)
    text = with_helpers(f"({', '.join(parameters)}) {{\n{body}\n}}\n")
    before, _, function = text.rpartition("\n\n")
    code = f"{before}\n\nKERNEL void {_name(count)}{function}"
    steps = [SSIZE] * (count + 2)
    return Kernel(
        code,
        [*[SIZE] * (count + 1), GpuArray, *steps, GpuArray, SSIZE, SSIZE],
        _name(count),
        Kernel.get_flags(dtype, acc, reduction.output_dtype),
        objvar=f"k_{_name(count)}_{name}",
    )


def reduction_launch(count: int, name: str, x: str, z: str, fail: str) -> str:
    """Return C code that launches the kernel on an array `x` and its result `z`, which is there."""
    axes = range(count + 1)
    arguments = [
        *(f"PyGpuArray_DIM({x}, {d})" for d in axes),
        *(f"{x}->ga.data", f"(ssize_t){x}->ga.offset"),
        *(f"PyGpuArray_STRIDE({x}, {d})" for d in axes),
        *(f"{z}->ga.data", f"(ssize_t){z}->ga.offset", f"PyGpuArray_STRIDE({z}, 0)"),
    ]
    kernel = _name(count)
    return f"""
{{
    size_t theano_groups = PyGpuArray_DIM({x}, 0), theano_items = {_ITEMS}, theano_most = 0;
    size_t theano_elements = {" * ".join(f"PyGpuArray_DIM({x}, {d})" for d in axes[1:])};
    int theano_code = gpukernel_property(k_{kernel}_{name}.k, GA_KERNEL_PROP_MAXLSIZE, &theano_most);
    if (theano_items > theano_most)
        theano_items = theano_most;
    if (theano_items > theano_elements)
        theano_items = theano_elements == 0 ? 1 : theano_elements;
    if (theano_groups > {_GROUPS})
        theano_groups = {_GROUPS};
    if (theano_code == GA_NO_ERROR && theano_groups > 0)
        theano_code = {kernel}_call(1, &theano_groups, &theano_items, 0,
            {", ".join(arguments)});
    if (theano_code != GA_NO_ERROR) {{
        PyErr_Format(PyExc_RuntimeError, "kernel {kernel}: %s", GpuKernel_error(&k_{kernel}_{name}, theano_code));
        {fail}
    }}
}}
"""


# ---- Elementwise ops, reductions and permuted dimensions on devices

#: How many operands one launch of an elementwise kernel takes at most, by the bytes that they take as arguments.
_ARGUMENT_BYTES = 4096
_POINTER_BYTES = 8
#: How many axes the kernel of `c_code_reduce_01X` takes.
_MOST_AXES = 3


class SupportCodeError(TheanoError):
    """An op whose code needs features that the code of kernels on devices cannot have."""


@stands_for(Elemwise)
class GpuElemwise(NamedDeviceOp):
    """Apply a scalar op to each element, on a device.

    Parameters
    ----------
    scalar_op : ScalarOp
    inplace_pattern : mapping of int to int, optional
        For the number of an output, that of the input whose memory it may overwrite.
    name : str, optional
        Name for printing.
    nfunc_spec : tuple, optional
    openmp : bool, optional
        See :class:`~theano_tensor.elemwise.Elemwise`.
    """

    host_op: Elemwise

    def __init__(
        self,
        scalar_op: ScalarOp,
        inplace_pattern: Mapping[int, int] | None = None,
        name: str | None = None,
        nfunc_spec: object = None,
        openmp: bool | None = None,
    ) -> None:
        super().__init__(Elemwise(scalar_op, inplace_pattern, name, nfunc_spec, openmp))

    @property
    def scalar_op(self) -> ScalarOp:
        """The scalar op."""
        return self.host_op.scalar_op

    @property
    def inplace_pattern(self) -> Mapping[int, int]:
        """Which outputs may overwrite which inputs."""
        return self.host_op.inplace_pattern

    @property
    def nfunc_spec(self) -> Any:
        """Name, number of inputs and number of outputs of a NumPy function that does the same; None without one."""
        return self.host_op.nfunc_spec

    def __str__(self) -> str:
        if self.host_op.label is not None:
            return f"Gpu{self.host_op.label}" if self.host_op.label.startswith("Elemwise") else self.host_op.label
        pattern = sorted(self.inplace_pattern.items())
        if pattern or isinstance(self.scalar_op, Composite):
            return f"GpuElemwise{{{self.scalar_op}}}{pattern}<gpuarray>"
        return f"GpuElemwise{{{self.scalar_op},no_inplace}}"


def max_inputs_to_GpuElemwise(node_or_outputs: Any) -> int:  # the documented name
    """Return how many inputs an elementwise kernel can take, so that its arguments fit in those of one launch.

    Parameters
    ----------
    node_or_outputs : Apply or list of Variable
        The node, or its outputs.
    """
    outputs = node_or_outputs.outputs if isinstance(node_or_outputs, Apply) else node_or_outputs
    ndim: int = outputs[0].type.ndim
    # Each operand is a pointer, an offset and a stride for each dimension; the lengths are there once.
    operand = _POINTER_BYTES * (2 + ndim)
    return (_ARGUMENT_BYTES - _POINTER_BYTES * (1 + ndim)) // operand - len(outputs)


class _Reduction(NamedDeviceOp):
    """The base of reductions of axes by a scalar op."""

    host_op: Any

    @property
    def scalar_op(self) -> ScalarOp:
        """The scalar op that joins two elements."""
        op: ScalarOp = self.host_op.scalar_op
        return op

    @property
    def axis(self) -> tuple[int, ...] | None:
        """The axes that disappear; None for all."""
        axes: tuple[int, ...] | None = self.host_op.axis
        return axes

    def _details(self) -> str:
        return "" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}"


@stands_for(Reduce)
class GpuCAReduceCuda(_Reduction):
    """Reduce axes by a scalar op, on a device.

    Parameters
    ----------
    scalar_op : ScalarOp
        Joins two elements.
    axis : None, int or sequence of int
        Axes that disappear; None for all.
    reduce_mask : sequence of int, optional
        In place of `axis`: for each dimension 1 where it disappears.
    dtype, acc_dtype : str, optional
        Of the result, and in which elements are joined.
    pre_scalar_op : ScalarOp, optional
        With one input: applied to elements before they are joined.
    """

    __props__ = ("host_op", "pre_scalar_op")
    pre_scalar_op: ScalarOp | None = None
    reduce_mask: tuple[int, ...] | None = None

    def __init__(
        self,
        scalar_op: ScalarOp,
        axis: AxisLike = None,
        reduce_mask: Sequence[int] | None = None,
        dtype: str | None = None,
        acc_dtype: str | None = None,
        pre_scalar_op: ScalarOp | None = None,
    ) -> None:
        if reduce_mask is not None:
            masked = tuple(i for i, flag in enumerate(reduce_mask) if flag)
            if axis is not None and _as_tuple(axis) != masked:
                raise ValueError(
                    format_error(
                        f"GpuCAReduceCuda: axis={axis} and reduce_mask={tuple(reduce_mask)} are different axes",
                        hint="give one of them",
                    )
                )
            axis = masked
        if pre_scalar_op is not None and pre_scalar_op.nin not in (-1, 1):
            raise TypeError(
                format_error(
                    f"GpuCAReduceCuda: {pre_scalar_op} does not take one number", hint="pass a unary scalar op"
                )
            )
        super().__init__(CAReduceDtype(scalar_op, axis, dtype, acc_dtype))
        if reduce_mask is not None:
            self.reduce_mask = tuple(int(bool(flag)) for flag in reduce_mask)
        self.pre_scalar_op = pre_scalar_op

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to an array; the op before the reduction is a node of its own, which fusion may join with it."""
        (x,) = inputs
        if self.pre_scalar_op is None:
            return super().make_node(x)
        return self._plain().make_node(GpuElemwise(self.pre_scalar_op)(x))

    def gpu_kernels(self, node: Apply, name: str) -> list[Kernel]:
        """Return the kernel that :meth:`c_code_reduce_01X` launches, for all axes of a node but the first.

        Raises
        ------
        TypeError
            If other axes are reduced.
        """
        x = node.inputs[0].type
        kernel: Any = device_kernel(self._plain().make_node(*node.inputs))
        if kernel.axes != tuple(range(1, x.ndim)) or not 1 <= len(kernel.axes) <= _MOST_AXES:
            raise TypeError(
                format_error(
                    f"{self}: there is no kernel for axes {kernel.axes} of {x.ndim} dimensions",
                    hint="reduce one to three axes, all but the first",
                )
            )
        return [reduction_kernel(kernel.reductions[0], self.pre_scalar_op, x.dtype, len(kernel.axes), name)]

    def c_code_reduce_01X(  # the documented name
        self, sio: TextIO, node: Apply, name: str, x: str, z: str, fail: str, N: int
    ) -> None:
        """Write C code that reduces the last axes of an array by the kernel of :meth:`gpu_kernels`.

        Parameters
        ----------
        sio : file
            Where the code is written to.
        node : Apply
        name : str
            The name for which `gpu_kernels` was asked.
        x, z : str
            The C variables of the array and of the result, which has its memory.
        fail : str
            The statement that leaves the code.
        N : {1, 2, 3}
            How many axes are reduced.

        Raises
        ------
        ValueError
            For another number of axes.
        """
        if N not in range(1, _MOST_AXES + 1):
            raise ValueError(format_error(f"{self}: N={N}", hint="use 1 for the pattern 01, 2 for 011, 3 for 0111"))
        sio.write(reduction_launch(N, name, x, z, fail))

    def _plain(self) -> GpuCAReduceCuda:
        """Return the op without its op on elements."""
        return GpuCAReduceCuda.of(self.host_op)

    def supports_c_code(self, inputs: Sequence[Any]) -> bool:
        """Tell whether there is a kernel for this reduction of some inputs."""
        try:
            self.make_node(*inputs)
        except (TypeError, ValueError, TheanoError):
            return False
        return True

    def __str__(self) -> str:
        pre = "" if self.pre_scalar_op is None else f"pre={self.pre_scalar_op},red="
        return f"GpuCAReduceCuda{{{pre}{self.scalar_op}}}{self._details()}"


class GpuCAReduceCPY(_Reduction):
    """Reduce axes by a scalar op, on a device; see :class:`GpuCAReduceCuda`.

    Parameters
    ----------
    scalar_op : ScalarOp
    axis : None, int or sequence of int
    dtype, acc_dtype : str, optional
    """

    host_classes = (CAReduceDtype,)

    def __init__(
        self, scalar_op: ScalarOp, axis: AxisLike = None, dtype: str | None = None, acc_dtype: str | None = None
    ) -> None:
        super().__init__(CAReduceDtype(scalar_op, axis, dtype, acc_dtype))

    def __str__(self) -> str:
        return f"GpuReduce{{{self.scalar_op}}}{self._details()}"


GpuCAReduce = GpuCAReduceCPY


@stands_for(FusedReduce)
class GpuFusedReduce(NamedDeviceOp):
    """Reductions of elementwise results in one pass, on a device.

    With one reduction it is shown as the :class:`GpuCAReduceCuda` with a `pre_scalar_op` that it stands for.
    """

    host_op: FusedReduce

    def __str__(self) -> str:
        if self.host_op.n_kept or len(self.host_op.reductions) != 1:
            return super().__str__()
        (reduction,) = self.host_op.reductions
        axes = "" if reduction.axis is None else f"{{{', '.join(map(str, reduction.axis))}}}"
        return f"GpuCAReduceCuda{{pre={self.host_op.scalar_op},red={reduction.scalar_op}}}{axes}"


@stands_for(DimShuffle)
class GpuDimShuffle(NamedDeviceOp):
    """Permute the dimensions of an array on a device, insert and drop dimensions of length 1; a view.

    Parameters
    ----------
    input_broadcastable : sequence of bool
        For each dimension of the input, whether its length is known to be 1.
    new_order : sequence of (int or "x")
        For each dimension of the result that of the input, or ``"x"`` for a new one.
    inplace : bool
        Whether the result is a view; the op of a device makes one either way, which nobody can tell.
    """

    host_op: DimShuffle

    def __init__(
        self, input_broadcastable: Sequence[bool], new_order: Sequence[int | str], inplace: bool = True
    ) -> None:
        super().__init__(DimShuffle(input_broadcastable, new_order))
        self.inplace = bool(inplace)

    inplace: bool = True

    @property
    def new_order(self) -> tuple[int | str, ...]:
        """For each dimension of the result that of the input, or "x"."""
        return self.host_op.new_order

    @property
    def input_broadcastable(self) -> tuple[bool, ...]:
        """For each dimension of the input, whether its length has to be known to be 1."""
        return self.host_op.input_broadcastable

    def __str__(self) -> str:
        order = ",".join(map(str, self.new_order))
        return f"{'Inplace' * self.inplace}GpuDimShuffle{{{order}}}"


class GpuErfinv(Erfinv):
    """The inverse of the error function, as a scalar op for devices."""


class GpuErfcinv(Erfcinv):
    """The inverse of the complementary error function, as a scalar op for devices."""


gpu_erfinv = GpuErfinv(upgrade_to_float_no_complex, name="gpu_erfinv")
gpu_erfcinv = GpuErfcinv(upgrade_to_float_no_complex, name="gpu_erfcinv")
gpu_ca_reduce_cuda = GpuCAReduceCuda


def _as_tuple(axis: Any) -> tuple[int, ...]:
    return (int(axis),) if isinstance(axis, int) else tuple(int(a) for a in axis)


__all__ = [
    "GpuCAReduce",
    "GpuCAReduceCPY",
    "GpuCAReduceCuda",
    "GpuDimShuffle",
    "GpuElemwise",
    "GpuErfcinv",
    "GpuErfinv",
    "GpuFusedReduce",
    "SupportCodeError",
    "gpu_ca_reduce_cuda",
    "gpu_erfcinv",
    "gpu_erfinv",
    "max_inputs_to_GpuElemwise",
]
