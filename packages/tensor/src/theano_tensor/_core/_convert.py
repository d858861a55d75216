"""From Python objects and scalars to tensor variables; shared variables, and variables moved to devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from theano_graph import (
    Apply,
    Op,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
    warn_of_comparison,
)
from theano_linker_c import SharedVariable, register_shared_constructor
from theano_linker_c.scalar import ScalarType, register_scalar_conversion

from .._errors import AsTensorError, NotNumericError, ShapeError
from .._protocols._methods import call, operation
from ._dtypes import DTypeLike, TensorLike, canonical_dtype, dtype_name, dtype_of_number, refuse_mask
from ._type import Tensor, TensorConstant, TensorType, tensor_type

# ---- From Python objects to tensor variables


def as_tensor_variable(x: object, name: str | None = None, ndim: int | None = None) -> Tensor:
    """Return `x` as a tensor variable.

    Parameters
    ----------
    x : tensor variable, Apply, number, array_like, or sequence with variables in it
        Variables are returned as they are, numbers and arrays become constants (copied), sequences with variables
        are stacked.
        An Apply stands for its default output.
    name : str, optional
        Name of a constant that is made.
    ndim : int, optional
        Number of dimensions of the result: missing ones are added on the left, surplus ones are dropped there if
        broadcastable.

    Returns
    -------
    Tensor

    Raises
    ------
    TypeError
        If `x` is of another kind.
    ValueError
        If `ndim` cannot be had.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.as_tensor_variable(3).dtype
    'int8'
    """
    if isinstance(x, Tensor):
        variable = x
    elif isinstance(x, Apply):
        return as_tensor_variable(x.default_output(), name, ndim)
    elif isinstance(x, Variable):
        variable = _other_variable(x)
    elif isinstance(x, (list, tuple)) and _contains_variable(x):
        variable = call("stack", x)
    else:
        variable = constant(x, name=name)
    return variable if ndim is None or variable.type.ndim == ndim else _with_ndim(variable, ndim)


#: Functions that try to turn a variable of another type into a tensor variable; None means "not mine".
CONVERTERS: list[Any] = []


def _other_variable(x: Variable) -> Tensor:
    for converter in CONVERTERS:
        converted = converter(x)
        if isinstance(converted, Tensor):
            return converted
    raise AsTensorError(
        format_error(
            f"a variable of type {x.type.describe()} is not a tensor",
            context=[describe(x)],
            hint="use an op that takes this type, or convert it to a tensor first",
        )
    )


def _contains_variable(values: Iterable[Any]) -> bool:
    stack = [values]
    while stack:
        for value in stack.pop():
            if isinstance(value, Variable):
                return True
            if isinstance(value, (list, tuple)):
                stack.append(value)
    return False


def _with_ndim(x: Tensor, ndim: int) -> Tensor:
    have = x.type.ndim
    if have < ndim:
        return x.dimshuffle(["x"] * (ndim - have) + list(range(have)))
    surplus = have - ndim
    if not all(x.type.broadcastable[:surplus]):
        raise ValueError(
            format_error(
                f"a tensor of {have} dimensions cannot be taken as one of {ndim}",
                context=[describe(x)],
                hint="only leading dimensions of length 1 can be dropped; use reshape or flatten for others",
            )
        )
    return x.dimshuffle(list(range(surplus, have)))


def constant(
    x: object, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
) -> TensorConstant:
    """Return a constant with the value of `x`.

    Parameters
    ----------
    x : number or array_like
        A Python int takes the smallest integer dtype that holds it. A Python float is float32 where that is exact,
        otherwise float64 (with floatX=float32 always float32). Arrays keep their dtype, and sequences take the one
        that NumPy gives them, or floatX where they hold nothing; they are copied.
    name : str, optional
    ndim : int, optional
        Number of dimensions; missing ones are added on the left.
    dtype : str, optional
        Wanted dtype, in place of these rules.

    Returns
    -------
    TensorConstant
        Its static shape is the shape of `x`, so dimensions of length 1 broadcast.

    Raises
    ------
    TypeError
        If `x` holds no numbers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.constant(1000).dtype, T.constant(0.5).dtype, T.constant(0.1).dtype
    ('int16', 'float32', 'float64')
    """
    floatx = config.floatX
    if isinstance(x, Variable):
        if isinstance(x, TensorConstant):
            return x
        raise TypeError(
            format_error(f"`{x}` is not a constant", context=[describe(x)], hint="as_tensor_variable accepts variables")
        )
    warn_of_comparison(x)
    array: Any
    if dtype is not None:
        array = np.array(_numeric_array(x), dtype=canonical_dtype(dtype, floatx))
    elif isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        array = np.array(x, dtype=dtype_of_number(x, floatx, config.cast_policy))
    else:
        array = np.array(_numeric_array(x))
        if array.size == 0 and not hasattr(x, "dtype"):
            # NumPy's dtype of an empty list says nothing.
            array = array.astype(floatx)
    if ndim is not None and array.ndim < ndim:
        array = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    array.flags.writeable = False
    return TensorConstant(tensor_type(dtype_name(array.dtype), array.shape), array, name=name)


def _numeric_array(x: object) -> Any:
    refuse_mask(x)
    try:
        array = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise AsTensorError(
            format_error(f"{x!r} cannot be made an array: {error}", hint="give all rows the same length")
        ) from error
    if array.dtype.kind not in "biufc":
        raise _no_numbers(x, array)
    return array


def _no_numbers(x: object, array: np.ndarray[Any, Any]) -> AsTensorError:
    """Return the error about something without numbers; NumPy's functions put variables into arrays of objects."""
    text = repr(x)
    held = [v for v in array.flat if isinstance(v, Variable)][:1] if array.dtype == object else []
    what, hint = "holds no numbers", "pass a tensor variable, a number or an array of numbers"
    if held:
        what = "is an array of objects, and one of them is a variable"
        hint = "pass the list itself, or T.stack(list), in place of numpy.array(list)"
    elif array.dtype == object and not array.ndim:
        what = "is an array of an object"
        hint = f"{hint}; of variables, T.zeros_like, T.ones_like and T.fill make tensors, and those of NumPy do not"
    return AsTensorError(
        format_error(
            f"Cannot convert {text if len(text) < 60 else text[:56] + '...'} ({type(x).__name__}) "
            f"to TensorType: it cannot be made a tensor, as it {what}",
            context=[describe(v) for v in held],
            hint=hint,
        )
    )


# ---- From a tensor without dimensions to a scalar, and back: the two kinds of variables that hold one number


class ScalarFromTensor(Op):
    """The number in a tensor without dimensions, as a scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.ScalarFromTensor()(T.dscalar("x")).type
    Scalar(float64)
    """

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a tensor; ShapeError if it has dimensions."""
        tensor = as_tensor_variable(x)
        if tensor.type.ndim:
            raise ShapeError(
                format_error(
                    f"ScalarFromTensor: the tensor has {tensor.type.ndim} dimensions, expected none",
                    context=[describe(tensor)],
                    hint="take one element, as x[0]",
                )
            )
        return Apply(self, [tensor], [ScalarType(tensor.type.dtype).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Take the number out."""
        output_storage[0][0] = inputs[0][()]


class TensorFromScalar(Op):
    """A scalar as a tensor without dimensions.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.TensorFromScalar()(theano.scalar.ScalarType("float32")("s")).type
    TensorType(float32, scalar)
    """

    __props__ = ()

    def make_node(self, s: Variable) -> Apply[Self]:
        """Apply to a scalar; TypeError if it is something else."""
        if not isinstance(s, Variable) or not isinstance(s.type, ScalarType):
            raise TypeError(
                format_error(
                    "TensorFromScalar: the argument is no scalar",
                    context=[describe(s) if isinstance(s, Variable) else repr(s)],
                    hint="make tensors of numbers and arrays with as_tensor_variable",
                )
            )
        return Apply(self, [s], [tensor_type(s.type.dtype, ()).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Make an array of the number."""
        output_storage[0][0] = np.asarray(inputs[0])


scalar_from_tensor = ScalarFromTensor()


@register_scalar_conversion
def _number_in_tensor(variable: Variable) -> Any:
    is_number = isinstance(variable.type, TensorType) and variable.type.ndim == 0
    return scalar_from_tensor(variable) if is_number else None


tensor_from_scalar = TensorFromScalar()


def _tensor_of_number(variable: Variable) -> Any:
    return tensor_from_scalar(variable) if isinstance(variable.type, ScalarType) else None


CONVERTERS.append(_tensor_of_number)


@pullback.register(ScalarFromTensor)
def _pullback_to_scalar(node: Apply[ScalarFromTensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [tensor_from_scalar(cotangents[0])]


@pullback.register(TensorFromScalar)
def _pullback_to_tensor(node: Apply[TensorFromScalar], cotangents: list[Variable]) -> list[Variable | None]:
    return [scalar_from_tensor(cotangents[0])]


@pushforward.register(ScalarFromTensor)
def _pushforward_to_scalar(node: Apply[ScalarFromTensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else scalar_from_tensor(tangents[0])]


@pushforward.register(TensorFromScalar)
def _pushforward_to_tensor(node: Apply[TensorFromScalar], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else tensor_from_scalar(tangents[0])]


@batch_rule.register(ScalarFromTensor)
@batch_rule.register(TensorFromScalar)
def _batch(
    node: Apply[ScalarFromTensor | TensorFromScalar], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable]:
    """A batch of numbers is a vector."""
    return [inputs[0]]


@shape_rule.register(ScalarFromTensor)
@shape_rule.register(TensorFromScalar)
def _no_lengths(node: Apply[ScalarFromTensor | TensorFromScalar], input_shapes: list[Any]) -> list[Any]:
    return [()]


# ---- Shared variables that hold arrays and numbers


class TensorSharedVariable(Tensor, SharedVariable):
    """A shared variable that holds an array; made by ``shared``. It can do all that tensor variables can."""

    type: TensorType

    if TYPE_CHECKING:

        def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> NDArray[Any]: ...

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value, for all functions that use this variable.

        Parameters
        ----------
        new_value : array_like
            Of the same dtype and number of dimensions, or converted to that dtype where nothing is lost.
        borrow : bool
            Whether the array itself may be stored, not a copy.

        Raises
        ------
        TypeError, ValueError
            If the value does not fit; the old one stays.
        """
        try:
            super().set_value(new_value, borrow)
        except (TypeError, ValueError) as error:
            raise value_refused(self, error) from None

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to 0, in place where `borrow` is true."""
        if borrow:
            super().zero(borrow=True)
        else:
            self.container.value = np.zeros_like(self.container.value)


ScalarSharedVariable = TensorSharedVariable


def value_refused(variable: Any, error: TypeError | ValueError) -> TypeError | ValueError:
    """Return the error about a new value, with the name of the variable and a cure.

    Parameters
    ----------
    variable : SharedVariable
        Of a type with `dtype` and `ndim`, here or on a device.
    error : TypeError or ValueError
        The error of its type.
    """
    if type(error) not in (TypeError, ValueError, NotNumericError):
        return error
    what, *details = str(error).split("\n  ")
    where = [line for line in details if not line.startswith("Hint: ")]
    name, kind = variable.name or "variable", variable.type
    if "Wrong number of dimensions" in what:
        count = "1 dimension" if kind.ndim == 1 else f"{kind.ndim} dimensions"
        hint = f"give it a value with {count}, or share this one on its own: theano.shared(value)"
    elif "imaginary" in what:
        hint = f"take a real part, as in {name}.set_value(numpy.real(value)), or make it complex from the beginning"
    elif "symbolic" in what:
        hint = f"{name}.set_value(v.eval()) stores a number; a function's `updates` store its results"
    elif "converting" in what or "strict is set" in what:
        hint = (
            f"{name}.set_value(numpy.asarray(value, dtype={kind.dtype!r})), or make the variable with "
            "theano.shared(value, allow_downcast=True)"
        )
    else:
        hint = next((line.removeprefix("Hint: ") for line in details if line not in where), "give it an array")
    text = format_error(f"set_value of `{variable}`: {what}", context=[describe(variable), *where], hint=hint)
    return type(error)(text)


@register_shared_constructor
def tensor_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    broadcastable: Iterable[bool] | None = None,
    target: str = "cpu",
) -> TensorSharedVariable:
    """Share an array.

    Parameters
    ----------
    value : numpy.ndarray
    name : str, optional
    strict, allow_downcast
        How later values are converted.
    borrow : bool
        Whether the array itself is stored, not a copy.
    broadcastable : sequence of bool, optional
        No dimension broadcasts by default, as later values may have other lengths.
    target : str
        Where the value lives; ``"cpu"``.

    Raises
    ------
    TypeError
        If `value` is no array, so that other constructors are tried.
    """
    if target != "cpu":
        raise TypeError(format_error(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, np.ndarray):
        raise TypeError(format_error(f"{type(value).__name__} is no array"))
    pattern = tuple(broadcastable) if broadcastable is not None else (False,) * value.ndim
    kind = TensorType(value.dtype.name, pattern)
    stored = value if borrow else value.copy()
    return TensorSharedVariable(kind, stored, name, strict, allow_downcast)


@register_shared_constructor
def scalar_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    target: str = "cpu",
) -> TensorSharedVariable:
    """Share a number, as an array without dimensions.

    Python floats as float64, ints as int64, NumPy scalars with their dtype.
    """
    if target != "cpu":
        raise TypeError(format_error(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(format_error(f"{type(value).__name__} is no number"))
    array = np.asarray(value)
    return TensorSharedVariable(TensorType(array.dtype.name, ()), array, name, strict, allow_downcast)


# ---- Variables moved to where they shall be computed

Transfer = Callable[[Variable, Any], Variable | None]

#: The functions of other back ends, asked in reverse order.
_TRANSFERS: list[Transfer] = []


def register_transfer(fn: Transfer) -> None:
    """Register a function that moves variables to targets of its own.

    Parameters
    ----------
    fn : callable
        Takes a variable and the target; returns the variable there, or None for a target that is not its own.

    Raises
    ------
    TypeError
        If `fn` cannot be called.
    """
    if not callable(fn):
        raise TypeError(format_error(f"{fn!r} cannot be called", hint="pass a function of a variable and a target"))
    _TRANSFERS.append(fn)


@operation("transfer")
def transfer(var: Variable, target: object) -> Variable:
    """Return a variable moved to `target`.

    Parameters
    ----------
    var : Variable
    target : str
        ``"cpu"`` for an ordinary tensor; others are those of registered back ends.

    Returns
    -------
    Variable
        `var` itself if it is there.

    Raises
    ------
    ValueError
        If nobody knows the target.
    """
    if target == "cpu":
        return as_tensor_variable(var)
    for function in reversed(_TRANSFERS):
        moved = function(var, target)
        if moved is not None:
            return moved
    raise ValueError(
        format_error(
            f"there is no target {target!r}", context=[describe(var)], hint="use 'cpu', or register a transfer for it"
        )
    )
