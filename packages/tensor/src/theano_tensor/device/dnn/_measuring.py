"""Measures implementations of a convolution on the device where it runs, for operands of its shapes."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from theano_gpuarray.arrays import asarray
from theano_gpuarray.contexts import get_context
from theano_gpuarray.region import run_kernel
from theano_gpuarray.types import device_kernel
from theano_graph import Apply, Constant, Op, Variable, config, describe

from ...nnet.convolution import BaseAbstractConv, get_conv_output_shape

__all__ = ["fastest", "known_shapes"]

_RUNS = 3


def fastest(node: Apply, candidates: Mapping[str, Op]) -> Op | None:
    """Return the op that takes the least time on the device.

    Parameters
    ----------
    node : Apply
        A convolution on a device.
    candidates : mapping of str to Op
        The candidates, by names that the flag ``metaopt.verbose`` shows.

    Returns
    -------
    Op or None
        None where there is no candidate, or the shapes of the operands are not known. They are where types tell them,
        the arguments `input_shape` and `filter_shape` of convolutions, or test values.
    """
    shapes = known_shapes(node)
    if shapes is None:
        _tell(1, f"conv_meta: the shapes of {describe(node.outputs[0])} are not known, and nothing was measured")
        return None
    name = node.outputs[0].type.context_name
    rng = np.random.default_rng(0)
    values: list[Any] = []
    for v, shape in zip(node.inputs, shapes, strict=True):
        if isinstance(shape, np.ndarray):
            values.append(shape)
        else:
            values.append(asarray(rng.normal(size=shape).astype(v.type.dtype), context=get_context(name)))
    times = {label: _seconds(op, node, values) for label, op in candidates.items()}
    for label, seconds in times.items():
        _tell(2, f"conv_meta: {seconds * 1e6:.0f} us by {label} for {describe(node.outputs[0])}")
    best = min(times, key=lambda label: times[label], default=None)
    return None if best is None else candidates[best]


def _seconds(op: Any, node: Apply, values: list[Any]) -> float:
    """Return the least time of some runs, after one that compiles kernels."""
    name = node.outputs[0].type.context_name
    context = get_context(name)
    kernel = device_kernel(op.applied(node.op.host_node(node), node.inputs, context_name=name))
    best = float("inf")
    for run in range(_RUNS + 1):
        context.synchronize()
        begin = time.perf_counter()
        run_kernel(kernel, context, values)
        context.synchronize()
        if run:
            best = min(best, time.perf_counter() - begin)
    return best


def known_shapes(node: Apply) -> list[Any] | None:
    """Return the shapes of the arrays that a convolution on a device reads, and lengths that it is given.

    Returns
    -------
    list of (tuple of int or ndarray), or None
        Arrays where the operand is a vector of lengths; None where something is not known.
    """
    host: BaseAbstractConv = node.op.host_op
    images, filters = _complete(host.imshp), _complete(host.kshp)
    arrays = [_shape_of(v) for v in node.inputs[:2]]
    if len(node.inputs) == 2:
        shapes = [arrays[0] or images, arrays[1] or filters]
        return None if None in shapes else shapes
    lengths = _value_of(node.inputs[2])
    by_filters = "gradWeights" in type(host).__name__
    result, other = (filters, images) if by_filters else (images, filters)
    if lengths is None and result is not None:
        lengths = np.asarray(result[2:])
    first = arrays[0] or other
    if first is None or lengths is None:
        return None
    top = arrays[1]
    if top is None and images is not None and filters is not None:
        top = tuple(get_conv_output_shape(images, filters, host.border_mode, host.subsample, host.filter_dilation))
    return None if top is None else [first, top, np.asarray(lengths, "int64")]


def _complete(shape: Any) -> tuple[int, ...] | None:
    return None if shape is None or any(n is None for n in shape) else tuple(int(n) for n in shape)


def _shape_of(variable: Variable) -> tuple[int, ...] | None:
    """Return the shape that a type tells, or a test value has."""
    lengths = _complete(getattr(variable.type, "shape", None))
    if lengths is None:
        value = _value_of(variable)
        lengths = None if value is None else tuple(np.shape(value))
    return lengths


def _value_of(variable: Variable) -> Any:
    if isinstance(variable, Constant):
        return variable.data
    shared = getattr(variable, "get_value", None)
    if shared is not None:
        return shared(borrow=True)
    test_value = getattr(variable.tag, "test_value", None) if variable.has_tag() else None
    # A transferred variable has the test value of its source.
    node = variable.owner
    if test_value is None and node is not None and len(node.inputs) == 1 and type(node.op).__name__ == "GpuFromHost":
        return _value_of(node.inputs[0])
    return test_value


def _tell(level: int, text: str) -> None:
    if config.metaopt.verbose >= level:
        print(text, file=sys.stderr)
