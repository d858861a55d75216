"""Variables whose values are on a device, and conversion to them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray
from theano_gpuarray.contexts import get_context, list_contexts, moves_shared
from theano_gpuarray.types import (
    GpuArrayType,
    GpuContextType,
    GpuFromHost,
    HostFromGpu,
    host_from_gpu,
    register_host_type,
)
from theano_graph import Apply, Constant, Variable, config, format_error
from theano_linker_c import SharedVariable, register_shared_constructor

from .._core._convert import CONVERTERS, TensorSharedVariable, as_tensor_variable, register_transfer, value_refused
from .._core._dtypes import COMPLEX_DTYPES
from .._core._type import CONVERSIONS, Tensor, TensorType, tensor_type
from .._protocols._operators import TensorOperators

# ---- Variables whose values are on a device; they have all operators of tensors

#: Stands for an argument that was not given, where None has a meaning.
_NOT_SET: Any = object()
_SMALL_BYTES = 256


class DeviceTensor(TensorOperators, Variable):
    """A symbolic array on a device: a variable, a constant or a shared variable.

    Operators and methods are those of tensors. Their results are expressions on the host, which rewriting moves to the
    device.
    """

    __slots__ = ()
    type: GpuArrayType  # type: ignore[assignment]  # it has the interface of a TensorType

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{self.owner.op}.{self.index}"
        return f"<{self.type!r}>"

    def _as_TensorVariable(self) -> Tensor:  # the name by which programs ask
        """Return the variable on the host."""
        moved: Tensor = host_from_gpu(self)
        return moved

    def _as_GpuArrayVariable(self, context_name: Hashable) -> Variable:  # as above
        """Return the variable in a context."""
        moved: Variable = GpuArrayType(self.type.dtype, self.type.shape, context_name).convert_variable(self)
        return moved


class GpuArrayVariable(DeviceTensor):
    """A symbolic array on a device that is neither a constant nor shared."""

    __slots__ = ()


class GpuArrayConstant(DeviceTensor, Constant):
    """An array on a device that never changes, in an expression."""

    __slots__ = ("_signature",)

    def __init__(self, type: GpuArrayType, data: Any, name: str | None = None) -> None:
        Constant.__init__(self, type, type.filter(data), name)
        self._signature: Hashable = None

    def signature(self) -> Hashable:
        """Return a key that is equal for equal constants of one type."""
        if self._signature is None:
            data = np.ascontiguousarray(self.data)
            raw = data.tobytes() if data.nbytes <= _SMALL_BYTES else hashlib.blake2b(data.data, digest_size=20).digest()
            self._signature = (self.type, data.shape, raw)
        return self._signature

    def equals(self, other: object) -> bool:
        """Tell whether `other` is a constant of the same type, shape and bytes."""
        return isinstance(other, GpuArrayConstant) and other.signature() == self.signature()

    def __str__(self) -> str:
        return self.name if self.name is not None else f"GpuArrayConstant{{{np.asarray(self.data)}}}"

    def __repr__(self) -> str:
        return str(self)


class GpuArraySharedVariable(DeviceTensor, SharedVariable):
    """A shared variable whose value is on a device.

    Parameters
    ----------
    name : str or None
    type : GpuArrayType
    value : GpuArray or array_like
    strict : bool
    allow_downcast : bool, optional
    container : Container, optional
        See :class:`~theano_linker_c.SharedVariable`.
    """

    __slots__ = ("_gives_device_arrays",)

    def __init__(
        self,
        name: Any,
        type: Any,
        value: Any = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        container: Any = None,
    ) -> None:
        super().__init__(name, type, value, strict, allow_downcast, container)
        #: Whether the value that came first was on a device: values are then given as such.
        self._gives_device_arrays = isinstance(value, GpuArray)

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the value.

        Parameters
        ----------
        borrow : bool
            True: the result may be the stored array itself, where an array on the device is returned.
        return_internal_type : bool
            True: the array on the device. False (default): an array on the host, unless the variable was made of an
            array on a device.
        """
        value: GpuArray = self.container.value
        if not (return_internal_type or self._gives_device_arrays):
            return np.asarray(value)
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value by an array on the host, which is transferred, or on a device.

        Parameters
        ----------
        new_value : GpuArray or array_like
        borrow : bool
            Whether an array on the device may itself be stored, not a copy.

        Raises
        ------
        TypeError, ValueError
            If the value does not fit; the old one stays.
        """
        # The transfer copies values of the host.
        copied = borrow or not isinstance(new_value, GpuArray)
        try:
            super().set_value(new_value, borrow=copied)
        except (TypeError, ValueError) as error:
            raise value_refused(self, error) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_revived, (type(self), self.type.context_name), self.__getstate__())

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to 0."""
        self.container.value = self.type.value_zeros(tuple(self.container.value.shape))

    def clone(self, name: str | None = None) -> Any:
        """Return another variable on the same container."""
        twin = self.__class__(self.name if name is None else name, self.type, container=self.container)
        twin._gives_device_arrays = self._gives_device_arrays
        twin.origin = self.origin
        if self.has_tag():
            twin.tag = self.tag.copy()
        return twin


def _revived(cls: Any, context_name: Hashable) -> Any:
    """Make the variable of a pickle; on the host where its device is not there and a flag permits that."""
    here = context_name in list_contexts() or not config.experimental.unpickle_gpu_on_cpu
    kind: Any = cls if here else TensorSharedVariable
    return kind.__new__(kind)


GpuArrayType.variable_class = GpuArrayVariable
GpuArrayType.constant_class = GpuArrayConstant
GpuArrayType.Variable = GpuArrayVariable
GpuArrayType.Constant = GpuArrayConstant
GpuArrayType.SharedVariable = GpuArraySharedVariable
GpuContextType.variable_class = Variable


@register_host_type
def _host_type(dtype: str, shape: Iterable[int | None]) -> TensorType:
    return tensor_type(TensorType(dtype, shape=()).dtype if dtype == "floatX" else dtype, shape)


def _on_host(variable: Variable) -> Tensor | None:
    """Return a variable on a device moved to the host; None for other variables."""
    if not isinstance(variable.type, GpuArrayType):
        return None
    moved: Tensor = host_from_gpu(variable)
    return moved


CONVERTERS.append(_on_host)
CONVERSIONS["from_device"] = _on_host


def gpu_supported(data: Any) -> bool:
    """Tell whether arrays of the dtype of `data` can be on a device: all but complex ones.

    Parameters
    ----------
    data : object with dtype and ndim
    """
    return str(data.dtype) not in COMPLEX_DTYPES


def move_to_gpu(data: Any) -> bool:
    """Tell whether something with `dtype` and `ndim` is moved to devices by default: no numbers, nothing complex."""
    return bool(gpu_supported(data) and data.ndim > 0)


@register_shared_constructor
def gpuarray_shared_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    broadcastable: Iterable[bool] | None = None,
    target: Any = _NOT_SET,
) -> GpuArraySharedVariable:
    """Share an array on a device.

    Parameters
    ----------
    value : numpy.ndarray or GpuArray
    name : str, optional
    strict, allow_downcast
        How later values are converted.
    borrow : bool
        Whether an array on the device is stored itself, not a copy.
    broadcastable : sequence of bool, optional
        No dimension broadcasts by default, as later values may have other lengths.
    target : str or None, optional
        The name of a context. Where it is not given, arrays go to the default device if shared variables are kept
        there, and stay where they are otherwise.

    Raises
    ------
    TypeError
        If the value is no array, or belongs on the host, so that other constructors are tried.
    ContextNotDefined
        If there is no context of the name.
    """
    if not isinstance(value, (np.ndarray, GpuArray)):
        raise TypeError(format_error(f"{type(value).__name__} is no array"))
    if target == "cpu" or not gpu_supported(value):
        raise TypeError(format_error(f"an array of dtype {value.dtype} with target {target!r} is not for a device"))
    if target is _NOT_SET:
        target = _default_target(value)
    context = get_context(target)
    pattern = (False,) * value.ndim if broadcastable is None else tuple(broadcastable)
    kind = GpuArrayType(np.dtype(value.dtype).name, pattern, target)
    stored = value
    if isinstance(value, GpuArray):
        stored = value if borrow else copy.deepcopy(value)
    else:
        stored = asarray(kind.host.filter(value), context=context)
    shared = GpuArraySharedVariable(name, kind, stored, strict, allow_downcast)
    shared._gives_device_arrays = isinstance(value, GpuArray)
    return shared


def _default_target(value: Any) -> Hashable:
    if isinstance(value, GpuArray):
        name: Hashable = value.context.name
        return name
    if not (moves_shared() and move_to_gpu(value)):
        raise TypeError(format_error("this value is not kept on a device by default"))
    if value.dtype == np.float64 and not get_context(None).properties.doubles:
        raise TypeError(format_error("the device has no float64"))
    return None


# ---- From variables and values to variables on a device


def as_gpuarray_variable(x: Any, context_name: Hashable) -> Any:
    """Return `x` as a variable in a context.

    Parameters
    ----------
    x : Variable, Apply, number, array_like or GpuArray
        Variables are transferred where they are elsewhere, values become constants.
    context_name : str or None
        The name of the context, such as :func:`infer_context_name` gives it.

    Returns
    -------
    Variable
        `x` itself where it is there already.

    Raises
    ------
    ContextNotDefined
        If there is no such context.
    TypeError
        If `x` is no array.
    """
    if isinstance(x, Apply):
        x = x.default_output()
    if isinstance(x, Variable) and x.owner is not None and isinstance(x.owner.op, HostFromGpu):
        x = x.owner.inputs[0]
    method = getattr(x, "_as_GpuArrayVariable", None)
    if method is not None:
        return method(context_name)
    variable = as_tensor_variable(x)
    kind = GpuArrayType(variable.type.dtype, variable.type.shape, context_name)
    if isinstance(variable, Constant):
        return kind.make_constant(variable.data)
    return GpuFromHost(context_name)(variable)


def transfer(x: Variable, target: Any) -> Variable | None:
    """Return `x` moved to a context; None if there is none of this name, so that others are asked."""
    try:
        is_context = target in list_contexts()
    except TypeError:  # no name of a context
        return None
    moved: Variable | None = as_gpuarray_variable(x, target) if is_context else None
    return moved


register_transfer(transfer)
