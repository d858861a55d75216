"""The type of arrays on a device, its C code, and the types of the host that a higher layer brings along."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Type, Variable, config, describe, format_error
from theano_linker_c.cop import CLinkerType
from theano_linker_c.program import ArraySpec, array_spec_of
from theano_linker_c.scalar import upcast

from .. import get_include
from .._version import __version__
from ..arrays import GpuArray, asarray, dtype_to_ctype, dtype_to_typecode, may_share_memory
from ..contexts import GpuContext, get_context, list_contexts

# ---- Types of the host

StaticShape = Sequence[int | None]
Maker = Callable[[str, StaticShape], Type]


class _Registered:
    """Holder of the function that makes types of arrays on the host."""

    maker: Maker | None = None


_registered = _Registered()


def register_host_type(maker: Maker) -> Maker:
    """Set the types of arrays on the host; called once by the layer that defines them.

    Parameters
    ----------
    maker : callable
        ``(dtype, shape)`` returns the type of arrays of a dtype and a static shape (None for unknown lengths). Its
        variables tell dtype and shape by `array_spec`.
    """
    _registered.maker = maker
    return maker


def host_type(dtype: str, shape: StaticShape) -> Any:
    """Return the type of arrays on the host of a dtype and a static shape.

    Raises
    ------
    RuntimeError
        If no layer with such types has been imported.
    """
    if _registered.maker is None:
        raise RuntimeError(
            format_error(
                "there is no type of arrays on the host yet", hint="import theano_tensor.device, or theano.gpuarray"
            )
        )
    return _registered.maker(dtype, tuple(shape))


def is_host_array(variable: Variable) -> bool:
    """Tell whether the values of a variable are arrays on the host."""
    return array_spec_of(variable) is not None


def host_spec(variable: Variable) -> ArraySpec:
    """Return dtype and static shape of a variable whose values are arrays on the host.

    Raises
    ------
    TypeError
        If it is none.
    """
    spec = array_spec_of(variable)
    if spec is None:
        raise TypeError(
            format_error(
                f"a variable of type {variable.type.describe()} is no array on the host",
                context=[f"`{variable}`" + (f" made at {variable.origin}" if variable.origin else "")],
                hint="transfer arrays only, with x.transfer(target)",
            )
        )
    return spec


# ---- C code of the types, for C code of ops; see the headers in the folder of `get_include`

Sub = Mapping[str, str]

_HEADERS = (
    "<gpuarray/array.h>",
    "<gpuarray/kernel.h>",
    "<gpuarray/error.h>",
    "<gpuarray/buffer.h>",
    "<gpuarray/types.h>",
    "<gpuarray/util.h>",
    "<gpuarray_api.h>",
    "<gpuarray_helper.h>",
)
#: Version of the texts below.
_VERSION = 1


class _DeviceCode(CLinkerType):
    """The common part of arrays and contexts: the C variable is a pointer to an object."""

    _c_type: str

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer."""
        return f"{self._c_type} *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without an object."""
        return f"{name} = NULL;\n"

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the object."""
        return f"Py_XDECREF((PyObject *){name});\n{name} = NULL;\n"

    def c_headers(self) -> Sequence[str]:
        """Return the headers of arrays, kernels and contexts."""
        return list(_HEADERS)

    def c_header_dirs(self) -> Sequence[str]:
        """Return the folder of the headers."""
        return [get_include()]

    def c_init_code(self) -> Sequence[str]:
        """Return the statement that finds the functions of the headers; where that fails an exception is set."""
        return ["import_pygpu__gpuarray();"]

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of this code and of the headers."""
        return (_VERSION, __version__)


class ArrayCode(_DeviceCode):
    """The C side of arrays on devices: a variable is a ``PyGpuArrayObject *``, or NULL for an output without value."""

    _c_type = "PyGpuArrayObject"
    typecode: int
    ndim: int

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Make the object of a GpuArray, of this dtype and number of dimensions."""
        kind, ndim = (self.typecode, self.ndim) if check_input else (-1, -1)
        return f"""
{name} = pygpu_from_object(py_{name}, {kind}, {ndim});
if ({name} == NULL)
    {sub["fail"]}
"""

    def c_sync(self, name: str, sub: Sub) -> str:
        """Make the GpuArray of the object: the same one where nothing has changed but its elements."""
        return f"""
if ({name} != NULL) {{
    PyObject *theano_result = pygpu_as_object({name});
    if (theano_result == NULL)
        {sub["fail"]}
    Py_XDECREF(py_{name});
    py_{name} = theano_result;
}} else {{
    Py_XDECREF(py_{name});
    py_{name} = Py_NewRef(Py_None);
}}
"""


class ContextCode(_DeviceCode):
    """The C side of contexts: a variable is a ``PyGpuContextObject *``, and its member `ctx` a ``gpucontext *``."""

    _c_type = "PyGpuContextObject"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Make the object of a GpuContext."""
        return f"""
{name} = pygpu_context_from_object(py_{name});
if ({name} == NULL)
    {sub["fail"]}
"""


# ---- The type of arrays

_WORKED_OUT = frozenset({"_hash", "_exact"})


class GpuArrayType(ArrayCode, Type):
    """Arrays of one dtype, number of dimensions and broadcast pattern, in the memory of one context.

    Parameters
    ----------
    dtype : str
        The name of a dtype of NumPy, or ``"floatX"``.
    broadcastable : sequence of bool, or of (int or None)
        For each dimension whether its length is 1, or its length, None where it is known at run time only.
    context_name : str, optional
        The name of the context; None is that of the flag ``device``.
    name : str, optional
        Name of the type itself, for printing.

    Raises
    ------
    ContextNotDefined
        If there is no such context.

    Invariants
    ----------
    Two types are equal if dtype, broadcast pattern and context are; further known lengths refine a type.

    Examples
    --------
    >>> from theano.gpuarray.type import GpuArrayType, reg_context
    >>> from theano.gpuarray.pygpu.gpuarray import init
    >>> reg_context("columns", init("null0"))
    >>> GpuArrayType("float32", (False, True), "columns")
    GpuArrayType<columns>(float32, (False, True))
    """

    #: The classes of its variables; the layer with operators on variables sets them.
    Variable: type[Any] = Variable
    Constant: type[Any]
    SharedVariable: type[Any]

    def __init__(
        self,
        dtype: str,
        broadcastable: Iterable[bool | int | None],
        context_name: Hashable = None,
        name: str | None = None,
    ) -> None:
        get_context(context_name)
        # The type on the host defines dtypes and lengths.
        host = host_type(dtype, tuple(_length(entry) for entry in broadcastable))
        self.dtype: str = host.dtype
        self.shape: tuple[int | None, ...] = tuple(host.shape)
        self.context_name = context_name
        self.name = name
        self._work_out()

    def _work_out(self) -> None:
        self._exact = (type(self), self.dtype, self.shape, self.context_name)
        self._hash = hash((type(self), self.dtype, self.broadcastable, self.context_name))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_revived, (type(self), self.__getstate__()))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in _WORKED_OUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._work_out()

    # ---- meaning

    @property
    def ndim(self) -> int:  # type: ignore[override]  # worked out here
        """Number of dimensions."""
        return len(self.shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its length is statically 1."""
        return tuple([length == 1 for length in self.shape])

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype as NumPy has it."""
        return np.dtype(self.dtype)

    @property
    def context(self) -> GpuContext:
        """The context of the name `context_name`."""
        return get_context(self.context_name)

    @property
    def typecode(self) -> int:  # type: ignore[override]  # worked out here
        """The number of the dtype in C code."""
        return dtype_to_typecode(self.dtype)

    @property
    def host(self) -> Any:
        """The type of arrays on the host of the same dtype and static shape."""
        return host_type(self.dtype, self.shape)

    def dtype_specs(self) -> tuple[type, str, str]:
        """Return the class of its numbers in Python, the name of the dtype in C, and NumPy's constant for it."""
        names: tuple[type, str, str] = self.host.dtype_specs()
        return names

    def c_element_type(self) -> str:
        """Return the type of an element in kernels, as ``ga_float``."""
        return dtype_to_ctype(self.dtype)

    def clone(
        self,
        dtype: str | None = None,
        broadcastable: Iterable[bool | int | None] | None = None,
        context_name: Hashable = "same",
    ) -> GpuArrayType:
        """Return a type with another dtype, broadcast pattern (or static shape) or context."""
        return type(self)(
            self.dtype if dtype is None else dtype,
            self.shape if broadcastable is None else broadcastable,
            self.context_name if context_name == "same" else context_name,
            self.name,
        )

    # ---- comparison

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and isinstance(other, GpuArrayType)
            and self.dtype == other.dtype
            and self.broadcastable == other.broadcastable
            and self.context_name == other.context_name
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def exact(self) -> Hashable:
        """Class, dtype, static lengths and context."""
        return self._exact

    def is_super(self, other: Type) -> bool:
        """Tell whether `other` has the same dtype and context, and a shape that equals or refines this one."""
        return (
            type(other) is type(self)
            and isinstance(other, GpuArrayType)
            and (self.dtype, self.context_name, self.ndim) == (other.dtype, other.context_name, other.ndim)
            and all(mine is None or mine == theirs for mine, theirs in zip(self.shape, other.shape, strict=True))
        )

    # ---- values

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> GpuArray:
        """Return `value` as an array of this type.

        Parameters
        ----------
        value : GpuArray or array_like
        strict : bool
            If true, only an array in this context, of exactly this dtype and number of dimensions will do.
        allow_downcast : bool, optional
            Whether a conversion may lose precision; see the `filter` of tensors.

        Returns
        -------
        GpuArray
            `value` itself where it is of this type already; otherwise it is transferred and converted.

        Raises
        ------
        TypeError
            If the dtype or the shape does not fit, or the value is symbolic.
        """
        if isinstance(value, GpuArray):
            array = self._converted(value, strict, allow_downcast)
        elif strict and not isinstance(value, Variable):
            raise TypeError(self._refusal(value, "strict is set, so only an array on this device will do"))
        else:
            # The type on the host finds faults of a value, and knows which conversions lose nothing.
            array = asarray(self.host.filter(value, allow_downcast=allow_downcast), context=self.context)
        self._check_shape(array)
        return array

    def _converted(self, value: GpuArray, strict: bool, allow_downcast: bool | None) -> GpuArray:
        context = self.context
        dtype = np.dtype(value.dtype).name
        if value.context is not context:
            if strict:
                raise TypeError(self._refusal(value, "strict is set, and the array is in another context"))
            value = value.transfer(context)
        if dtype == self.dtype:
            return value
        if strict:
            raise TypeError(self._refusal(value, "strict is set, so only an array of this very dtype will do"))
        if not allow_downcast and upcast(self.dtype, dtype) != self.dtype:
            raise TypeError(self._refusal(value, f"converting from {dtype} to {self.dtype} may lose precision"))
        return value.astype(self.dtype)

    def _check_shape(self, array: GpuArray) -> None:
        if len(array.shape) != self.ndim:
            raise TypeError(
                self._refusal(array, f"wrong number of dimensions: expected {self.ndim}, got {len(array.shape)}")
            )
        for axis, (length, got) in enumerate(zip(self.shape, array.shape, strict=True)):
            if length is not None and length != got:
                kind = "broadcastable dimension" if length == 1 else "dimension"
                raise TypeError(self._refusal(array, f"{kind} {axis} must have length {length}, got {got}"))

    def _refusal(self, value: Any, reason: str) -> str:
        if isinstance(value, (GpuArray, np.ndarray)):
            location = "on a device" if isinstance(value, GpuArray) else "on the host"
            what = f"an array {location} of dtype {value.dtype} and shape {tuple(value.shape)}"
        else:
            what = f"{value!r:.60} ({type(value).__name__})"
        return format_error(
            f"{what} is not a value of type {self.describe()}: {reason}",
            hint=f"pass an array of dtype {self.dtype} with {self.ndim} dimension{'s' * (self.ndim != 1)}, or convert "
            "it yourself with astype",
        )

    def value_zeros(self, shape: tuple[int, ...]) -> GpuArray:
        """Return an array of zeros of this dtype in this context."""
        return asarray(np.zeros(shape, self.dtype), context=self.context)

    @staticmethod
    def values_eq(a: GpuArray, b: GpuArray) -> bool:
        """Tell whether two arrays have the same dtype, shape and values, as those of tensors on the host do."""
        return bool(_host_of(a).values_eq(np.asarray(a), np.asarray(b)))

    @staticmethod
    def values_eq_approx(a: GpuArray, b: GpuArray, *args: Any, **kwargs: Any) -> bool:
        """Tell whether two arrays have the same dtype and shape, and values equal up to rounding."""
        return bool(_host_of(a).values_eq_approx(np.asarray(a), np.asarray(b), *args, **kwargs))

    @staticmethod
    def may_share_memory(a: object, b: object) -> bool:
        """Tell whether two arrays may use the same memory."""
        return isinstance(a, GpuArray) and isinstance(b, GpuArray) and may_share_memory(a, b)

    def get_shape_info(self, value: GpuArray) -> tuple[int, ...]:
        """Return the shape, from which :meth:`get_size` works out the memory."""
        return tuple(value.shape)

    def get_size(self, shape_info: tuple[int, ...]) -> int:
        """Return the bytes of a value of a shape."""
        return int(np.prod(shape_info, dtype=np.int64)) * self.numpy_dtype.itemsize

    # ---- variables

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        """Return `other`, a variable or a plain value, as a variable of this type; a transfer is no conversion.

        Raises
        ------
        TypeError
            If `other` is a variable of another dtype or number of dimensions, or a value that the type refuses.
        """
        if isinstance(other, Variable) and other.type != self and _has(other.type, self.dtype, self.ndim):
            other = self._here(other)
        return super().filter_variable(other, allow_convert)

    def _here(self, var: Any) -> Any:
        """Return a variable in this context."""
        if not isinstance(var.type, GpuArrayType):
            return _conversions["from_host"](var, self.context_name)
        here = var.type.context_name == self.context_name
        return var if here else _conversions["between"](var, self.context_name)

    def convert_variable(self, var: Any) -> Any:
        """Return `var`, transferred to this context where it is elsewhere; None if dtype or dimensions do not fit."""
        if self.is_super(var.type):
            return var
        kind = var.type
        if not _has(kind, self.dtype, self.ndim):
            return None
        if any(a is not None and b is not None and a != b for a, b in zip(self.shape, kind.shape, strict=True)):
            return None
        if not isinstance(kind, GpuArrayType):
            narrowed = self.host.convert_variable(var)
            return None if narrowed is None else self._here(narrowed)
        var = self._here(var)
        if self.is_super(var.type):
            return var
        # An op on the host narrows a static shape; its check costs a transfer, which rewriting removes.
        return self.convert_variable(_conversions["to_host"](var))

    # ---- printing

    def describe(self) -> str:
        """Return dtype, static shape and context, as ``float32[None, 3] on dev0``."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}] on context {self.context_name}"

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        return f"GpuArrayType<{self.context_name}>({self.dtype}, {self.broadcastable})"


#: The transfers, which are ops over this type; their module fills it.
_conversions: dict[str, Any] = {}


def set_conversions(from_host: Any, to_host: Any, between: Any) -> None:
    """Say how variables are transferred: ``from_host(x, name)``, ``to_host(x)``, ``between(x, name)``."""
    _conversions.update(from_host=from_host, to_host=to_host, between=between)


def _revived(cls: Any, state: dict[str, Any]) -> Any:
    """Make the type of a pickle; that of the host where its context is not there and a flag permits that."""
    if state["context_name"] not in list_contexts() and config.experimental.unpickle_gpu_on_cpu:
        return host_type(state["dtype"], state["shape"])
    kind = cls.__new__(cls)
    kind.__setstate__(state)
    return kind


def context_of(variable: Variable) -> Hashable:
    """Return the name of the context that a variable is in.

    Raises
    ------
    TypeError
        If it is on the host.
    """
    if isinstance(variable.type, GpuArrayType):
        return variable.type.context_name
    raise TypeError(
        format_error(
            "a variable is not on a device", context=[describe(variable)], hint="transfer it with x.transfer(name)"
        )
    )


def _has(kind: Any, dtype: str, ndim: int) -> bool:
    """Tell whether a type is one of arrays of a dtype and a number of dimensions."""
    return getattr(kind, "dtype", None) == dtype and len(getattr(kind, "shape", ())) == ndim


def _length(entry: Any) -> int | None:
    if entry is None or isinstance(entry, (bool, np.bool_)):
        return 1 if entry else None
    return int(entry)


def _host_of(a: GpuArray) -> Any:
    return host_type(np.dtype(a.dtype).name, (None,) * a.ndim)


__all__ = ["host_type", "is_host_array", "register_host_type", "ArrayCode", "ContextCode", "GpuArrayType"]
