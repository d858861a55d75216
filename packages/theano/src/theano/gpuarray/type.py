"""Types, variables and contexts of devices."""

from __future__ import annotations

from typing import Any

from theano_gpuarray.arrays import array
from theano_gpuarray.contexts import (
    get_context,
    list_contexts,
)
from theano_gpuarray.types import (
    GpuArrayType,
)
from theano_graph import config


def GpuArray_unpickler(npa: Any, ctx_name: Any) -> Any:  # the name in pickles of Theano 1.0
    """Return the array of a pickle: in its context, or on the host where the flag `unpickle_gpu_on_cpu` permits that.

    Parameters
    ----------
    npa : ndarray
    ctx_name : str or None
    """
    if ctx_name not in list_contexts() and config.experimental.unpickle_gpu_on_cpu:
        return npa
    return array(npa, context=get_context(ctx_name))


def values_eq_approx_remove_inf(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an infinite element."""
    return GpuArrayType.values_eq_approx(a, b, True)


def values_eq_approx_remove_nan(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an element that is NaN."""
    return GpuArrayType.values_eq_approx(a, b, False, True)


def values_eq_approx_remove_inf_nan(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an element that is infinite or NaN."""
    return GpuArrayType.values_eq_approx(a, b, True, True)


values_eq_approx = GpuArrayType.values_eq_approx
