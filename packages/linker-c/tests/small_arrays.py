"""Arrays, ops with and without native kernels, shared arrays: enough to run functions without a tensor layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op, Type, Variable
from theano_linker_c import Mode, SharedVariable, function, register_shared_constructor
from theano_linker_c.kernels import ElementwiseKernel, Kernel, native_kernel
from theano_linker_c.program import ArraySpec
from theano_linker_c.scalar import ScalarOp, add as scalar_add, log as scalar_log, mul as scalar_mul, sub as scalar_sub

#: Linkers of both machines.
LINKERS = ("cvm", "vm")


class Arrays(Type):
    """Arrays of one dtype and number of axes."""

    def __init__(self, dtype: str = "float64", ndim: int = 1) -> None:
        self.dtype, self.ndim = dtype, ndim

    def array_spec(self) -> ArraySpec:
        return ArraySpec(self.dtype, (None,) * self.ndim)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if strict and not (isinstance(value, np.ndarray) and value.dtype == self.dtype and value.ndim == self.ndim):
            raise TypeError(f"{type(value).__name__} is no array of {self.dtype} with {self.ndim} axes")
        array = np.asarray(value, self.dtype)
        if array.ndim != self.ndim:
            raise TypeError(f"{self.ndim} axes are wanted, got {array.ndim}")
        return array

    def values_eq(self, a: Any, b: Any) -> bool:
        return bool(np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True))

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        return bool(np.shape(a) == np.shape(b) and np.allclose(a, b, equal_nan=True))

    def may_share_memory(self, a: Any, b: Any) -> bool:
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and bool(np.shares_memory(a, b))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arrays) and (self.dtype, self.ndim) == (other.dtype, other.ndim)

    def __hash__(self) -> int:
        return hash((self.dtype, self.ndim))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(['None'] * self.ndim)}]"


class Elementwise(Op):
    """A scalar op on arrays of equal shapes, with a native kernel."""

    __props__ = ("scalar_op",)

    def __init__(self, scalar_op: ScalarOp) -> None:
        self.scalar_op = scalar_op

    def make_node(self, *inputs: Any) -> Apply:
        (dtype,) = self.scalar_op.result_dtypes(*(x.type.dtype for x in inputs))
        return Apply(self, list(inputs), [Arrays(dtype, inputs[0].type.ndim)()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        if len({x.shape for x in inputs}) > 1:
            raise ValueError(f"shapes differ: {[x.shape for x in inputs]}")
        kind: Any = node.outputs[0].type
        output_storage[0][0] = np.asarray(self.scalar_op.impl(*inputs), kind.dtype)

    def __str__(self) -> str:
        return f"Elementwise{{{self.scalar_op.name}}}"


@native_kernel.register(Elementwise)
def _elementwise(node: Apply) -> Kernel:
    op: Any = node.op
    kinds: list[Any] = [v.type for v in node.inputs]
    out: Any = node.outputs[0].type
    flat = tuple((False,) * out.ndim for _ in kinds)
    return ElementwiseKernel(op.scalar_op, tuple(t.dtype for t in kinds), (out.dtype,), flat, out.ndim)


class Python(Op):
    """Any function of arrays, without native form. Nodes with equal functions and maps are equal."""

    __props__ = ("compute", "out", "views", "destroys")

    def __init__(
        self,
        compute: Callable[..., Any],
        out: Type | None = None,
        views: tuple[int, ...] = (),
        destroys: tuple[int, ...] = (),
    ) -> None:
        self.compute, self.out, self.views, self.destroys = compute, out, views, destroys
        self.view_map: Mapping[int, Sequence[int]] = {0: list(views)} if views else {}
        self.destroy_map: Mapping[int, Sequence[int]] = {0: list(destroys)} if destroys else {}

    def make_node(self, *inputs: Any) -> Apply:
        out = inputs[0].type if self.out is None else self.out
        return Apply(self, list(inputs), [out.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = self.compute(*inputs)

    def __str__(self) -> str:
        return f"Python{{{self.compute.__name__}}}"


add, mul, sub, log = (Elementwise(op) for op in (scalar_add, scalar_mul, scalar_sub, scalar_log))


def vector(name: str | None = None, dtype: str = "float64") -> Any:
    """Return a variable with one axis."""
    return Arrays(dtype, 1)(name)


def number(name: str | None = None, dtype: str = "float64") -> Any:
    """Return a variable without axes."""
    return Arrays(dtype, 0)(name)


def constant(value: Any) -> Any:
    """Return a constant array."""
    array = np.asarray(value)
    return Arrays(array.dtype.name, array.ndim).make_constant(array)


class SharedArray(SharedVariable):
    """A shared array of this module's type."""


@register_shared_constructor
def shared_small_array(value: Any, name: str | None = None, strict: bool = False, **others: Any) -> SharedVariable:
    """Share arrays."""
    if not isinstance(value, np.ndarray):
        raise TypeError("not an array")
    return SharedArray(Arrays(value.dtype.name, value.ndim), value.copy(), name, strict)


def compiled(
    inputs: Sequence[Variable], outputs: Any, linker: Any = "cvm", optimizer: Any = "None", **others: Any
) -> Any:
    """Return a function without rewrites on one linker."""
    return function(list(inputs), outputs, mode=Mode(linker, optimizer), **others)
