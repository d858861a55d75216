"""An array type and a few ops, enough to run programs without any tensor layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Op, Type, Variable
from theano_linker_c.kernels import (
    ElementwiseKernel,
    Kernel,
    MatrixProductKernel,
    Reduction,
    ReductionKernel,
    TransposeKernel,
    native_kernel,
)
from theano_linker_c.program import ArraySpec, Hooks, Machine, Program, PythonMachine, lower, native_machine
from theano_linker_c.scalar import ScalarOp, identity
from theano_linker_c.targets import PYTHON


class ArrayType(Type):
    """Arrays of one dtype and static shape; 1 broadcasts."""

    def __init__(self, dtype: str, shape: Sequence[int | None]) -> None:
        self.dtype, self.shape = dtype, tuple(shape)

    def array_spec(self) -> ArraySpec:
        return ArraySpec(self.dtype, self.shape)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        array = np.asarray(value, self.dtype)
        if array.ndim != len(self.shape):
            raise TypeError(f"{len(self.shape)} dimensions are wanted, got {array.ndim}")
        return array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def check_shapes(types: Sequence[Any], values: Sequence[Any]) -> None:
    for d in range(len(types[0].shape)):
        lengths = {v.shape[d] for t, v in zip(types, values, strict=True) if t.shape[d] != 1}
        if len(lengths) > 1:
            raise ValueError(f"lengths {sorted(lengths)} of axis {d} differ in {[v.shape for v in values]}")


class Elementwise(Op):
    def __init__(self, scalar_op: ScalarOp) -> None:
        self.scalar_op = scalar_op

    def make_node(self, *inputs: Any) -> Apply:
        ndim = len(inputs[0].type.shape)
        (dtype,) = self.scalar_op.result_dtypes(*(x.type.dtype for x in inputs))
        shape = [1 if all(x.type.shape[d] == 1 for x in inputs) else None for d in range(ndim)]
        return Apply(self, list(inputs), [ArrayType(dtype, shape).make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        check_shapes([x.type for x in node.inputs], inputs)
        result: Any = self.scalar_op.impl(*inputs)
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        output_storage[0][0] = np.array(np.broadcast_to(result, shape), node.outputs[0].type.dtype)


class Reduce(Op):
    def __init__(self, combine: ScalarOp, axes: Sequence[int], start: Any) -> None:
        self.combine, self.axes, self.start = combine, tuple(axes), start

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        shape = [n for d, n in enumerate(x.type.shape) if d not in self.axes]
        return Apply(self, [x], [ArrayType(x.type.dtype, shape).make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        functions: dict[str, Any] = {"add": np.sum, "mul": np.prod, "maximum": np.max, "minimum": np.min}
        result = functions[self.combine.name](inputs[0], axis=self.axes)
        output_storage[0][0] = np.asarray(result, node.outputs[0].type.dtype)


class Product(Op):
    """Of ``(a, b)``, ``(a, b, alpha)``, ``(z, alpha, a, b)`` or ``(z, alpha, a, b, beta)``."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def make_node(self, *inputs: Any) -> Apply:
        ndim = {"dot": 0, "gemv": 1, "vecmat": 1, "gemm": 2, "ger": 2}[self.kind]
        return Apply(self, list(inputs), [ArrayType(inputs[0].type.dtype, [None] * ndim).make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        a, b = inputs[2:4] if len(inputs) > 3 else inputs[:2]
        result = np.asarray(np.outer(a, b) if self.kind == "ger" else np.dot(a, b))
        if len(inputs) > 2:
            result = result * (inputs[2] if len(inputs) == 3 else inputs[1])
        if len(inputs) > 3:
            beta = inputs[4] if len(inputs) == 5 else 1
            if inputs[0].shape != result.shape:
                raise ValueError(f"shapes {inputs[0].shape} and {result.shape} cannot be added")
            result = result if beta == 0 else inputs[0] * beta + result
        output_storage[0][0] = result


class Shuffle(Op):
    def __init__(self, order: Sequence[int | None], drop: Sequence[int] = ()) -> None:
        self.order, self.drop = tuple(order), tuple(drop)

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        shape = [1 if axis is None else x.type.shape[axis] for axis in self.order]
        return Apply(self, [x], [ArrayType(x.type.dtype, shape).make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        if any(x.shape[d] != 1 for d in self.drop):
            raise ValueError(f"axes {self.drop} of shape {x.shape} are not all of length 1")
        references = [axis for axis in self.order if axis is not None]
        moved = x.squeeze(self.drop).transpose(np.argsort(np.argsort(references)) if not self.drop else None)
        output_storage[0][0] = np.expand_dims(moved, [d for d, axis in enumerate(self.order) if axis is None])


class Python(Op):
    """Runs any function, without native form."""

    def __init__(self, function: Any, out: Type) -> None:
        self.function, self.out_type = function, out

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [self.out_type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = self.function(*inputs)


@native_kernel.register(Elementwise)
def _elementwise(node: Apply) -> Kernel:
    types = [x.type for x in node.inputs]
    broadcast = tuple(tuple(n == 1 for n in t.shape) for t in types)
    out = node.outputs[0].type
    op: Any = node.op
    return ElementwiseKernel(op.scalar_op, tuple(t.dtype for t in types), (out.dtype,), broadcast, len(out.shape))


@native_kernel.register(Reduce)
def _reduce(node: Apply) -> Kernel:
    x, op = node.inputs[0].type, node.op
    assert isinstance(op, Reduce), "registered for Reduce"
    flags = (tuple(n == 1 for n in x.shape),)
    acc = "float64" if x.dtype == "float32" else x.dtype
    reductions = (Reduction(op.combine, acc, x.dtype, op.start),)
    return ReductionKernel(identity, (x.dtype,), (), reductions, flags, len(x.shape), op.axes)


@native_kernel.register(Product)
def _product(node: Apply) -> Kernel:
    op: Any = node.op
    return MatrixProductKernel(op.kind, node.inputs[0].type.dtype)


@native_kernel.register(Shuffle)
def _shuffle(node: Apply) -> Kernel:
    op: Any = node.op
    return TransposeKernel(op.order, op.drop)


def array(dtype: str, *shape: int | None, name: str | None = None) -> Any:
    return ArrayType(dtype, shape).make_variable(name)


def program_of(inputs: Sequence[Variable], outputs: Sequence[Variable], **kwargs: Any) -> Program:
    return lower(FunctionGraph(inputs, outputs), **kwargs)


def hooks_of(program: Program, single: bool = True) -> Hooks:
    def on_input(index: int, value: Any) -> Any:
        operand: Any = program.inputs[index].variable.type
        return operand.filter(value)

    def on_irregular(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if len(args) + len(kwargs) != len(program.inputs):
            raise TypeError(f"{len(program.inputs)} arguments are wanted, got {len(args) + len(kwargs)}")
        return (*args, *kwargs.values())

    return Hooks(on_irregular, on_input, single=single)


def machines(inputs: Sequence[Variable], outputs: Sequence[Variable], **kwargs: Any) -> tuple[Machine, Machine]:
    """Return the native and the Python machine for one graph."""
    single = len(outputs) == 1
    native = program_of(inputs, outputs, **kwargs)
    plain = program_of(inputs, outputs, **(kwargs | {"target": PYTHON}))
    return native_machine(native, hooks_of(native, single)), PythonMachine(plain, hooks_of(plain, single))
