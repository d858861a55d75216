"""Arrays that are read from files when a function runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from theano_graph import Apply, Generic, Variable, batch_rule, describe, format_error, generic, shape_rule

from .._core._dtypes import DTypeLike
from .._core._ops import DiscreteOp
from .._core._type import TensorType

Mode = Literal["c"] | None


class LoadFromDisk(DiscreteOp):
    """Read an array from an NPY file each time it is computed.

    Parameters
    ----------
    dtype : str or dtype
        The file must hold just this; nothing is converted.
    broadcastable : sequence of bool
        For each dimension, whether its length is 1; or the static lengths, None for unknown ones.
    mmap_mode : None or 'c'
        None reads the whole array; 'c' maps the file, so that only the parts that are used are read, and changes
        stay in memory.

    Raises
    ------
    ValueError
        For other modes: they would let computations change files, or forbid to reuse memory.

    See Also
    --------
    load

    Notes
    -----
    Nothing is differentiated through it, and it is never computed ahead of time: the file may change.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("dtype", "broadcastable", "mmap_mode")

    def __init__(self, dtype: DTypeLike, broadcastable: Sequence[Any], mmap_mode: str | None = None) -> None:
        if mmap_mode not in (None, "c"):
            raise ValueError(
                format_error(
                    f"LoadFromDisk: mmap_mode is {mmap_mode!r}",
                    hint="None reads the array, 'c' maps the file; no other mode of numpy.load can be used",
                )
            )
        self.dtype = str(np.dtype(dtype))
        self.broadcastable = tuple(broadcastable)
        self.mmap_mode = cast(Mode, mmap_mode)

    def make_node(self, path: object) -> Apply[Self]:
        """Apply to a path: text, or a variable of type Generic; TypeError for anything else."""
        if isinstance(path, (str, os.PathLike)):
            path = generic.make_constant(os.fspath(path))
        if not isinstance(path, Variable) or not isinstance(path.type, Generic):
            raise TypeError(
                format_error(
                    "LoadFromDisk: the path is no text and no variable of type Generic",
                    context=[describe(path) if isinstance(path, Variable) else repr(path)],
                    hint="pass the path as text, or as Generic()('path')",
                )
            )
        return Apply(self, [path], [TensorType(self.dtype, self.broadcastable).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Read the file; TypeError if it holds something else."""
        path = inputs[0]
        kind = node.outputs[0].type
        value = np.load(path, mmap_mode=self.mmap_mode, allow_pickle=False)
        if not isinstance(value, np.ndarray) or not kind.is_valid_value(np.asarray(value)):
            held = f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(
                format_error(
                    f"load: the file holds {held}, not {kind}",
                    context=[os.fspath(path)],
                    hint="name the dtype and the pattern that the array was saved with",
                )
            )
        output_storage[0][0] = value

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Never: the file may change."""
        return False

    def __str__(self) -> str:
        return f"Load{{dtype: {self.dtype}, broadcastable: {self.broadcastable}, mmap_mode: {self.mmap_mode}}}"


@shape_rule.register(LoadFromDisk)
def _shape(node: Apply[LoadFromDisk], input_shapes: list[Any]) -> list[Any]:
    return [tuple(node.outputs[0].type.shape)]


def load(path: Any, dtype: DTypeLike, broadcastable: Sequence[Any], mmap_mode: str | None = None) -> Any:
    """Return the array that an NPY file will hold when a function runs.

    Parameters
    ----------
    path : str, path or Variable
        A variable is of type Generic, and its value the path.
    dtype : str or dtype
        Of the array in the file.
    broadcastable : sequence of bool
        ``(False,)`` for a vector, ``(False, True)`` for a column, ``(False, False)`` for a matrix.
    mmap_mode : None or 'c'
        None reads the array into memory; 'c' maps the file into virtual memory, and reads the used parts.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        For other values of `mmap_mode`.
    TypeError
        If `path` is none; and when the function runs, if the file holds something else.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.load(T.Generic()("path"), "int64", (False,)).type
    TensorType(int64, vector)
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)


batch_rule.declare_absent(LoadFromDisk, "a file is read once")
