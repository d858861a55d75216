"""Containers, helpers for arrays, text and processes, and the op of a tutorial."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableSet, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from theano_graph import Apply, Op, Variable, batch_rule, config
from theano_tensor import as_tensor_variable
from theano_tensor.batching import on_stacks

# ---- Mappings that do not change, so that they can be keys


class frozendict(Mapping[Any, Any]):
    """A mapping with a hash, which nobody can change.

    Parameters
    ----------
    *args, **kwargs
        The arguments of `dict`.

    Examples
    --------
    >>> from theano.misc._tools import frozendict
    >>> {frozendict(a=1): "found"}[frozendict({"a": 1})]
    'found'
    """

    dict_cls: type[dict[Any, Any]] = dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict = self.dict_cls(*args, **kwargs)
        self._hash: int | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._dict[key]

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._dict!r}>"

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._dict.items()))
        return self._hash

    def copy(self, **add_or_replace: Any) -> frozendict:
        """Return a mapping with further keys, or other values."""
        return type(self)(self, **add_or_replace)


class FrozenOrderedDict(frozendict):
    """One that keeps the order of its keys."""

    dict_cls = OrderedDict


# ---- Sets that keep the order in which things were put in

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose elements come in the order in which they were added.

    Parameters
    ----------
    iterable : iterable, optional

    Examples
    --------
    >>> from theano.misc import ordered_set
    >>> ordered_set.OrderedSet("ababc")
    OrderedSet(['a', 'b', 'c'])
    """

    def __init__(self, iterable: Iterable[T] = ()) -> None:
        self._elements = dict.fromkeys(iterable)

    def __contains__(self, value: object) -> bool:
        return value in self._elements

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, value: T) -> None:
        """Add an element at the end, unless it is there."""
        self._elements.setdefault(value)

    def discard(self, value: T) -> None:
        """Take an element out, if it is there."""
        self._elements.pop(value, None)

    def update(self, iterable: Iterable[T]) -> None:
        """Add each element of `iterable`."""
        self._elements.update(dict.fromkeys(iterable))

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` has the same elements; of two ordered sets, in the same order."""
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # a set that changes has no hash

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)!r})"


# ---- Whether two values may lie in the same memory


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Tell whether two arrays may use the same memory.

    Parameters
    ----------
    a, b : ndarray, GpuArray or SciPy matrix
    raise_other_type : bool
        Whether other values are an error; otherwise they share nothing.

    Raises
    ------
    TypeError
        For other values.

    Examples
    --------
    >>> from theano.misc import may_share_memory
    >>> import numpy as np
    >>> x = np.zeros(4)
    >>> may_share_memory.may_share_memory(x, x[1:])
    True
    """
    arrays, others = _arrays(a), _arrays(b)
    if arrays is None or others is None:
        if raise_other_type:
            raise TypeError(f"may_share_memory compares arrays, not {type(a).__name__} and {type(b).__name__}")
        return False
    return any(_overlap(x, y) for x in arrays for y in others)


def _overlap(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) != isinstance(y, np.ndarray):
        return False
    return bool(np.may_share_memory(x, y) if isinstance(x, np.ndarray) else _devices().may_share_memory(x, y))


def _devices() -> Any:
    """Return the module of arrays on devices; None where nobody has imported it, so that there are none."""
    return sys.modules.get("theano_gpuarray.arrays")


def _arrays(value: Any) -> list[Any] | None:
    """Return the arrays that a value is made of: itself, or those of a sparse matrix; None for other values."""
    if isinstance(value, np.ndarray) or (_devices() and isinstance(value, _devices().GpuArray)):
        return [value]
    if hasattr(value, "indptr") and type(value).__module__.startswith("scipy.sparse"):
        return [value.data, value.indices, value.indptr]
    return None


# ---- Arrays of a dtype that is asked for by name


def _asarray(a: Any, dtype: str, order: Any = None) -> npt.NDArray[Any]:
    """Return `a` as an array whose dtype is exactly the one of this name; ``"floatX"`` is one.

    Examples
    --------
    >>> from theano.misc import safe_asarray
    >>> safe_asarray._asarray([1, 2], "int8").dtype
    dtype('int8')
    """
    return np.asarray(a, dtype=np.dtype(config.floatX if str(dtype) == "floatX" else dtype), order=order)


# ---- Texts with names in them, as C code of ops often is


def render_string(string: str, sub: Mapping[str, object]) -> str:
    """Return ``string % sub``, with an error that names the missing key.

    Parameters
    ----------
    string : str
        With places as ``%(name)s``.
    sub : mapping

    Raises
    ------
    ValueError
        If a name is missing, or a place is not well-formed.

    Examples
    --------
    >>> from theano.misc import strutil
    >>> strutil.render_string("%(z)s = 0;", {"z": "V1"})
    'V1 = 0;'
    """
    try:
        return string % sub
    except KeyError as error:
        raise ValueError(f"the text asks for {error.args[0]!r}, given are {sorted(sub)}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"the text is not well-formed ({error}); a percent sign is written %%") from None


# ---- Running programs without a window of their own, where there are windows


def subprocess_Popen(command: Any, **params: Any) -> subprocess.Popen[Any]:
    """Start a program.

    Parameters
    ----------
    command : list of str, or str with ``shell=True``
    **params
        As for `subprocess.Popen`.
    """
    # The constant is there on Windows only.
    params.setdefault("creationflags", getattr(subprocess, "CREATE_NO_WINDOW", 0))
    return subprocess.Popen(command, **params)


def call_subprocess_Popen(command: Any, **params: Any) -> int:
    """Run a program without its output; return its status.

    Raises
    ------
    ValueError
        If the output is asked for: see `output_subprocess_Popen`.
    """
    if "stdout" in params or "stderr" in params:
        raise ValueError("call_subprocess_Popen drops the output; use output_subprocess_Popen to have it")
    with subprocess_Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **params) as process:
        return process.wait()


def output_subprocess_Popen(command: Any, **params: Any) -> tuple[bytes, bytes, int]:
    """Run a program; return its output, its errors and its status."""
    with subprocess_Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **params) as process:
        output, errors = process.communicate()
        return output, errors, process.returncode


# ---- The op that the guide to documentation shows


class DoubleOp(Op):
    """Double each element of a tensor.

    Parameters
    ----------
    x : tensor
        The operand.

    Returns
    -------
    tensor
        Of the same shape and dtype, with all values doubled.

    See Also
    --------
    theano.tensor.mul : ``x * 2`` does the same for any tensor `x`, and is fused with its neighbours.

    Examples
    --------
    >>> from theano.misc import doubleop
    >>> import theano.tensor as T
    >>> doubleop.DoubleOp()(T.constant([1.0, 4.0])).eval()
    array([2., 8.])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Double with NumPy."""
        output_storage[0][0] = inputs[0] + inputs[0]

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> Sequence[Any]:
        """The shape of the input."""
        return input_shapes

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Any]) -> list[Any]:
        """Twice the cotangent."""
        return [output_grads[0] * 2]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Any]) -> list[Any]:
        """Twice the tangent."""
        return [None if eval_points[0] is None else eval_points[0] * 2]


batch_rule.register(DoubleOp)(on_stacks)
