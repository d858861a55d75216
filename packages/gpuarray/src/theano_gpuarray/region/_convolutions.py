"""Convolutions as cuDNN computes them: names of algorithms, and the choices for shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from theano_graph import config

from ..codegen import ConvolutionPlan, ConvolutionRequest
from ..contexts import GpuContext, has_cudnn

__all__ = ["planned"]

#: The library's numbers of the algorithms that are named.
_FORWARD = {"none": 0, "small": 1, "large": 2, "fft": 4, "fft_tiling": 5, "winograd": 6, "winograd_non_fused": 7}
_DATA = {"none": 0, "deterministic": 1, "fft": 2, "fft_tiling": 3, "winograd": 4, "winograd_non_fused": 5}
_FILTER = {"none": 0, "deterministic": 1, "fft": 2, "small": 3, "winograd_non_fused": 5, "fft_tiling": 6}
_NUMBERS: Mapping[str, Mapping[str, int]] = {"forward": _FORWARD, "input_grad": _DATA, "weight_grad": _FILTER}
#: Algorithms whose results vary, since they add in any order, and their replacements.
_VARYING: Mapping[str, tuple[int, ...]] = {"forward": (), "input_grad": (0,), "weight_grad": (0, 3)}
_SAFE = {"forward": 0, "input_grad": 1, "weight_grad": 1}

#: For each context, the plan of each request.
_plans: WeakKeyDictionary[GpuContext, dict[Any, ConvolutionPlan | None]] = WeakKeyDictionary()


def planned(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> ConvolutionPlan | None:
    """Choose how cuDNN computes a convolution; choices for shapes are kept.

    Where an algorithm does not work for some operands, or there is no memory for its workspace, the one that needs
    none is taken.

    Parameters
    ----------
    context : GpuContext
    request : ConvolutionRequest
    deterministic : bool
        Whether algorithms that do not always give the same are left out.

    Returns
    -------
    ConvolutionPlan or None
        None where there is no library, or none of its algorithms works.

    Raises
    ------
    DeviceError
        If the library fails otherwise.
    """
    if not has_cudnn(context):
        return None
    plans = _plans.setdefault(context, {})
    key = request, _precision(request), deterministic
    if key not in plans:
        plans[key] = _plan(context, request, deterministic)
    return plans[key]


def _precision(request: ConvolutionRequest) -> str:
    """Return how precise sums are: those of float16 are of float32."""
    if request.dtype == "float32" and config.gpuarray.tf32:
        return "tf32"
    return "float64" if request.dtype == "float64" else "float32"


def _plan(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> ConvolutionPlan | None:
    description = (
        request.task,
        request.dtype,
        _precision(request),
        request.images,
        request.filters,
        request.top,
        request.zeros,
        request.strides,
        request.dilations,
        request.groups,
        request.flip,
    )
    most = context.total_memory - context.statistics()["in_use"]
    for kind, algorithm in _tries(context, request, deterministic):
        plan = context.native.plan_convolution(description, kind, algorithm, deterministic, most)
        if plan is not None:
            if request.chosen is not None:
                request.chosen.algorithms.setdefault(context, plan[0])
            return ConvolutionPlan(description, *plan)
    return None


def _tries(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> Iterator[tuple[str, int]]:
    """Yield the ways of choosing an algorithm, the one that is asked for first."""
    number = _NUMBERS[request.task].get(request.algorithm)
    if request.chosen is not None and context in request.chosen.algorithms:
        number = request.chosen.algorithms[context]
    if number is not None:
        varies = deterministic and number in _VARYING[request.task]
        yield "fixed", _SAFE[request.task] if varies else number
    else:
        kind, _, _ = request.algorithm.partition("_")  # "guess" or "time"
        yield kind, 0
    yield "fixed", _SAFE[request.task] if deterministic else 0
