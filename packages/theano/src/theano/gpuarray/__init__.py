"""Arrays and ops on devices, by their documented names.

Programs need none of these: with the flag ``device``, functions and shared variables use a device by themselves.

>>> import theano.gpuarray
>>> print(theano.gpuarray.elemwise.GpuElemwise(theano.scalar.exp))
GpuElemwise{exp,no_inplace}
"""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from . import dnn as dnn, linalg as linalg
from theano_gpuarray.contexts import (
    init_dev as init_dev, list_contexts as list_contexts, use as use, ContextNotDefined as ContextNotDefined,
    get_context as get_context, reg_context as reg_context,
)
from theano_tensor.device import (
    transfer as transfer, as_gpuarray_variable as as_gpuarray_variable, GpuArrayConstant as GpuArrayConstant,
    GpuArraySharedVariable as GpuArraySharedVariable, GpuArrayVariable as GpuArrayVariable,
    gpuarray_shared_constructor as gpuarray_shared_constructor,
)
from theano_gpuarray.types import GpuArrayType as GpuArrayType

if TYPE_CHECKING:
    from . import (
        basic_ops as basic_ops, blas as blas, blocksparse as blocksparse, ctc as ctc, elemwise as elemwise,
        extra_ops as extra_ops, fft as fft, fp16_help as fp16_help, kernel_codegen as kernel_codegen,
        multinomial as multinomial, neighbours as neighbours, nnet as nnet, opt as opt, opt_util as opt_util,
        pool as pool, pygpu as pygpu, reduction as reduction, rng_mrg as rng_mrg, sort as sort, subtensor as subtensor,
        type as type,
    )
# isort: on
# fmt: on
# End of the names of names.toml.

import logging
from typing import Any, NamedTuple

from .._names import lazy_names

_logger = logging.getLogger("theano.gpuarray")
error = _logger.error
info = _logger.info


class PygpuVersion(NamedTuple):
    """The parts of a version of the library of arrays on devices."""

    major: int
    minor: int
    patch: int
    fullversion: str


def pygpu_parse_version(version_string: str) -> PygpuVersion:
    """Return the parts of a version of the library of arrays on devices.

    Examples
    --------
    >>> from theano import gpuarray
    >>> gpuarray.pygpu_parse_version("0.7.6+20.g9cec614")[:3]
    (0, 7, 6)
    """
    major, minor, remainder = version_string.split(".", 2)
    patch = int(remainder.split("+")[0].split(".")[0])
    return PygpuVersion(int(major), int(minor), patch, f"{int(major)}.{int(minor)}.{remainder}")


_name_of_table, __dir__ = lazy_names(__name__, __package__, {})


def __getattr__(name: str) -> Any:
    """Tell by two historical names whether a device is in use; the others are in the table of names."""
    if name in ("pygpu_activated", "theano_gpu_is_already_active"):
        return bool(list_contexts())
    return _name_of_table(name)
