"""Constructors of variables: types with a name for each dtype and number of dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import config, format_error

from ._dtypes import DTypeLike, canonical_dtype
from ._type import Tensor, TensorType

#: Static lengths of dimensions, None where they are known at run time only.
Lengths = Iterable[int | None]


def tensor(
    dtype: DTypeLike | None = None,
    broadcastable: Iterable[bool] | None = None,
    name: str | None = None,
    *,
    shape: Iterable[int | bool | None] | None = None,
) -> Tensor:
    """Return a variable of any dtype and shape.

    Parameters
    ----------
    dtype : str, optional
        floatX by default.
    broadcastable : sequence of bool, optional
        Pattern of broadcastable dimensions. Excludes `shape`.
    name : str, optional
    shape : sequence of (int or None), optional
        Static shape; None for lengths that are known at run time.

    Raises
    ------
    TypeError
        If neither or both of `broadcastable` and `shape` are given.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor("float32", shape=(None, 3)).type
    TensorType(float32, (None, 3))
    """
    chosen = config.floatX if dtype is None else canonical_dtype(dtype, config.floatX)
    if (shape is None) == (broadcastable is None):
        raise TypeError(
            format_error(
                "tensor needs either `broadcastable` or `shape`", hint="write tensor('float64', shape=(None, 3))"
            )
        )
    kind = TensorType(chosen, broadcastable) if shape is None else TensorType(chosen, shape=shape)
    return kind(name)


def _make(pattern: tuple[bool, ...], name: str | None, dtype: DTypeLike | None, shape: Lengths | None = None) -> Tensor:
    chosen = config.floatX if dtype is None else canonical_dtype(dtype, config.floatX)
    return TensorType(chosen, pattern)(name, shape)


def scalar(name: str | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return a 0-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.scalar("x", dtype="float64").type
    TensorType(float64, scalar)
    """
    return _make((), name, dtype)


def vector(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 1-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.vector("x", dtype="float64").type
    TensorType(float64, vector)
    """
    return _make((False,), name, dtype, shape)


def matrix(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 2-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.matrix("x", dtype="float64").type
    TensorType(float64, matrix)
    """
    return _make((False, False), name, dtype, shape)


def row(name: str | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return a 2-dimensional variable with one row (broadcastable); dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.row("x", dtype="float64").type
    TensorType(float64, row)
    """
    return _make((True, False), name, dtype)


def col(name: str | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return a 2-dimensional variable with one column (broadcastable); dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.col("x", dtype="float64").type
    TensorType(float64, col)
    """
    return _make((False, True), name, dtype)


def tensor3(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 3-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor3("x", dtype="float64").type
    TensorType(float64, 3D)
    """
    return _make((False,) * 3, name, dtype, shape)


def tensor4(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 4-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor4("x", dtype="float64").type
    TensorType(float64, 4D)
    """
    return _make((False,) * 4, name, dtype, shape)


def tensor5(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 5-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor5("x", dtype="float64").type
    TensorType(float64, 5D)
    """
    return _make((False,) * 5, name, dtype, shape)


def tensor6(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 6-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor6("x", dtype="float64").type
    TensorType(float64, 6D)
    """
    return _make((False,) * 6, name, dtype, shape)


def tensor7(name: str | None = None, dtype: DTypeLike | None = None, *, shape: Lengths | None = None) -> Tensor:
    """Return a 7-dimensional variable; dtype floatX by default.

    Parameters
    ----------
    name : str, optional
        For messages and printing.
    dtype : str, optional
        By default that of the flag `floatX`.
    shape : sequence of (int or None), optional
        Lengths that are known when the graph is built; None for others.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.tensor7("x", dtype="float64").type
    TensorType(float64, 7D)
    """
    return _make((False,) * 7, name, dtype, shape)


class PluralConstructor:
    """Makes several variables with one constructor.

    Called with an integer, it returns that many variables without names; called with names, or a list of them, one
    variable for each. One string of several letters is one name for each letter.

    Parameters
    ----------
    *names : int, str or sequence of str
        Names of the variables, or their number.
    **kwargs
        `dtype`, where the constructor has no letter for it.

    Returns
    -------
    list of Tensor
        A single variable is returned by itself.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dmatrices("x", "y")
    >>> a, b, c = T.dscalars("abc")
    """

    def __init__(self, name: str, single: Callable[..., Tensor]) -> None:
        self.__name__ = name
        self._single = single

    def __call__(self, *names: int | str | Sequence[str | None] | None, **kwargs: Any) -> Any:
        """Return the list of variables (the variable itself when there is only one)."""
        names_list: list[Any] = list(names)
        if len(names_list) == 1 and isinstance(names_list[0], int):
            names_list = [None] * names_list[0]
        elif (len(names_list) == 1 and isinstance(names_list[0], str)) or (
            len(names_list) == 1 and isinstance(names_list[0], (list, tuple))
        ):
            names_list = list(names_list[0])
        if not names_list:
            raise TypeError(
                format_error(
                    f"{self.__name__} needs a number or names",
                    hint=f"write {self.__name__}(2) or {self.__name__}('x', 'y')",
                )
            )
        variables = [self._single(name, **kwargs) for name in names_list]
        return variables[0] if len(variables) == 1 else variables

    def __repr__(self) -> str:
        return f"<constructor {self.__name__}>"


scalars = PluralConstructor("scalars", scalar)
vectors = PluralConstructor("vectors", vector)
matrices = PluralConstructor("matrices", matrix)
rows = PluralConstructor("rows", row)
cols = PluralConstructor("cols", col)
tensor3s = PluralConstructor("tensor3s", tensor3)
tensor4s = PluralConstructor("tensor4s", tensor4)
tensor5s = PluralConstructor("tensor5s", tensor5)
tensor6s = PluralConstructor("tensor6s", tensor6)
tensor7s = PluralConstructor("tensor7s", tensor7)
