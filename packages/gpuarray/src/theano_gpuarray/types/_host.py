"""The types of arrays on the host, which a higher layer brings along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Type, Variable, format_error
from theano_linker_c.program import ArraySpec, array_spec_of

__all__ = ["host_type", "is_host_array", "register_host_type"]

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
