"""What programs ask of devices: this version has none, and says so, so that programs take their way on the CPU.

>>> import theano.gpuarray
>>> theano.gpuarray.pygpu_activated, theano.gpuarray.dnn.dnn_available(None)
(False, False)
"""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from . import basic_ops as basic_ops, dnn as dnn, subtensor as subtensor, type as type
from .basic_ops import as_gpuarray_variable as as_gpuarray_variable
from .type import (
    ContextNotDefined as ContextNotDefined, GpuArrayConstant as GpuArrayConstant,
    GpuArraySharedVariable as GpuArraySharedVariable, GpuArrayType as GpuArrayType,
    GpuArrayVariable as GpuArrayVariable, get_context as get_context,
    gpuarray_shared_constructor as gpuarray_shared_constructor, reg_context as reg_context,
)
# isort: on
# fmt: on
# End of the names of names.toml.

import logging
from typing import Any, NamedTuple

from theano_graph import Variable

_logger = logging.getLogger("theano.gpuarray")
error = _logger.error
info = _logger.info

#: The library of arrays on devices: not used.
pygpu = None
#: Whether a device is in use.
pygpu_activated = False
theano_gpu_is_already_active = False


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
    major, minor, rest = version_string.split(".", 2)
    patch = int(rest.split("+")[0].split(".")[0])
    return PygpuVersion(int(major), int(minor), patch, f"{int(major)}.{int(minor)}.{rest}")


def transfer(x: Variable, target: Any) -> Variable | None:
    """Return `x` on a device; None if there is no device of this name."""
    try:
        get_context(target)
    except ContextNotDefined:
        return None
    return as_gpuarray_variable(x, target)


def init_dev(dev: str, name: Any = None, preallocate: float | None = None) -> None:
    """Prepare a device.

    Raises
    ------
    RuntimeError
        Always: this version has no devices.
    """
    raise RuntimeError(f"device {dev!r} cannot be used: this version of Theano runs functions on the CPU only")


def use(
    device: str,
    force: bool = False,
    default_to_move_computation_to_gpu: bool = True,
    move_shared_to_gpu: bool = True,
    preallocate: float | None = None,
) -> None:
    """Let functions run on a device.

    Parameters
    ----------
    device : str
        Empty for none.
    force, default_to_move_computation_to_gpu, move_shared_to_gpu, preallocate
        How it would be used.

    Raises
    ------
    RuntimeError
        If `device` names one: this version has no devices.
    """
    if device:
        init_dev(device, preallocate=preallocate)
