"""Kernels: descriptions of the work of nodes, the table of rules that describe nodes, and the broadcasting rule."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from theano_graph import Apply, RuleTable, format_error

from ..compiler import MappedCode
from ..scalar import ScalarTypeError
from ._source import KernelSource

#: For each of the first results, the inputs in whose memory it may lie.
Donors: TypeAlias = tuple[tuple[int, ...], ...]
#: The name of an instruction of the machine (c/instructions.def) and its payload.
Encoded: TypeAlias = tuple[str, Any]


class Overwriting(StrEnum):
    """Kinds of operations that may overwrite dead operands."""

    ELEMENTWISE = "elementwise"
    INDEX_WRITE = "index_write"
    PRODUCT = "product"


class Site(Protocol):
    """Where a kernel runs: an instruction, with its node and registers, and the decisions about its memory."""

    @property
    def node(self) -> Apply:
        """The node."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The registers that are read."""

    @property
    def outputs(self) -> tuple[int, ...]:
        """The registers that are written."""

    @property
    def release(self) -> tuple[int, ...]:
        """The registers that die."""

    @property
    def donors(self) -> Donors:
        """The inputs in whose memory results may lie."""

    @property
    def waits(self) -> int | None:
        """The number of the update for which the write waits until the call has succeeded."""


@dataclass(frozen=True, slots=True)
class Linkage:
    """The data for loading a kernel from an object file, besides its key.

    Attributes
    ----------
    suffixes : tuple of str
        The suffixes of its symbol in the names of its functions: of a reduction ``_inner``, and maybe ``_outer``.
    shared : tuple of str
        Names of the runtime's code that it calls.
    special : tuple of (str, int)
        Functions of `scipy.special` that it calls, with their number of arguments.
    """

    suffixes: tuple[str, ...]
    shared: tuple[str, ...]
    special: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LoadedKernel:
    """Machine code of a kernel, ready to be called.

    Parameters
    ----------
    symbol : str
        Name of the function; of a reduction, the part before ``_inner`` and ``_outer``.
    address : int
        Address of the function (of a reduction: ``NAME_inner``); 0 for kernels that need no code.
    outer_address : int
        Address of a reduction's ``NAME_outer`` where an axis is kept, otherwise 0.
    code : MappedCode or None
        The code of the addresses; stays in memory as long as this object.
    linkage : Linkage or None
        How it is loaded; None for the code of libraries.
    """

    symbol: str
    address: int
    outer_address: int = 0
    code: MappedCode | None = field(default=None, compare=False, repr=False)
    linkage: Linkage | None = field(default=None, compare=False, repr=False)


class Kernel:
    """Base of descriptions: records, equal by value.

    A description defines the work, and is the same for all targets. How the target in C runs it stands beside it:
    C text (a function registered with `c_text`), or a routine of a library (:meth:`routine`), or one of the runtime's
    own, for which nothing is needed but the payload (:meth:`encode`).

    Attributes
    ----------
    needs_code : bool
        Whether machine code has to be found or made for it.
    overwriting : Overwriting or None
        Which kind of operation it is where it can put results into memory of its operands.
    """

    __slots__ = ()
    needs_code: ClassVar[bool] = False
    overwriting: ClassVar[Overwriting | None] = None

    def routine(self) -> LoadedKernel | None:
        """Return the code that a library has for the kernel, or None."""
        return None

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the machine's instruction and its payload; None runs the op's `perform`.

        Parameters
        ----------
        site : Site
        code : LoadedKernel or None
            Machine code, where the kernel needs any.
        """
        return None

    def donors(self, site: Site) -> Donors:
        """Return, for each of the first results, the inputs that die there and are such as the result is."""
        return ()

    def changes_first(self, n_inputs: int) -> bool:
        """Tell whether the result is the first input with something written into it or added to it."""
        return False


#: C text of kernels, by their class. A function raises `NoNativeForm` for a kernel that has none.
c_text: RuleTable[Callable[[Any], KernelSource]] = RuleTable("c_text")


def type_number(dtype: str) -> int:
    """Return NumPy's number of a dtype."""
    return np.dtype(dtype).num


def axis_flags(axes: Sequence[int], ndim: int) -> tuple[tuple[bool, ...]]:
    """Return which of some axes are meant, as payloads tell it."""
    return (tuple(d in axes for d in range(ndim)),)


def padded_donors(site: Site, count: int) -> Donors:
    """Return, for each of the first results, the inputs whose memory it may be put into."""
    return site.donors + ((),) * (count - len(site.donors))


def donors_like(
    site: Site, input_dtypes: Sequence[str], broadcast: Sequence[Sequence[bool]], dtypes: Sequence[str]
) -> Donors:
    """Return, for results of some dtypes, the dying inputs of the same dtype that do not broadcast."""
    dying = [i for i, register in enumerate(site.inputs) if register in site.release and not any(broadcast[i])]
    return tuple(tuple(i for i in dying if input_dtypes[i] == dtype) for dtype in dtypes)


def first_may_be_taken(site: Site) -> bool:
    """Tell whether the machine may put the result into the memory of the first input."""
    return bool(site.donors) and 0 in site.donors[0]


def overwrites(site: Site, position: int = 0) -> bool:
    """Tell whether the op says that it overwrites an input with its first output."""
    return position in site.node.op.destroy_map.get(0, ())


def wait_number(site: Site) -> int:
    """Return 0, or 1 and the number of the update for which the write waits."""
    return 0 if site.waits is None else site.waits + 1


def check_broadcast(what: str, dtypes: tuple[str, ...], broadcast: tuple[tuple[bool, ...], ...], ndim: int) -> None:
    """Refuse a broadcast pattern that does not fit the inputs of a kernel."""
    if len(dtypes) != len(broadcast) or any(len(pattern) != ndim for pattern in broadcast):
        raise ScalarTypeError(
            format_error(
                f"{what}: {len(dtypes)} inputs of {ndim} dimensions do not fit the broadcast pattern {broadcast}",
                hint="give one pattern for each input, with one entry for each dimension",
            )
        )


# ---- Nodes as kernels: rules by class of op, for all targets and for single ones

Rule: TypeAlias = Callable[[Apply], Kernel | None]


class KernelTable(RuleTable[Rule]):
    """Rules that describe a node as a kernel, or give None where it is none.

    A rule of the table itself holds for each target that has code for the kernels; `for_target` is the
    table of a single one, whose rules come first.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._own: dict[Hashable, RuleTable[Rule]] = {}

    def for_target(self, target: Hashable) -> RuleTable[Rule]:
        """Return the rules of one target."""
        return self._own.setdefault(target, RuleTable(f"{self.name} of {target}"))

    def describe(self, node: Apply, target: Hashable) -> Kernel | None:
        """Return a node as a kernel, as one target sees it, or None."""
        own = self._own.get(target)
        rule = None if own is None else own.get(node.op)
        rule = self.get(node.op) if rule is None else rule
        return None if rule is None else rule(node)


#: Native form of a node, by the class of its op; a rule gives None where this node has none.
native_kernel = KernelTable("native_kernel")


# ---- The broadcasting rule on the shapes of values: a dimension broadcasts only where it is declared to


def broadcast_lengths(
    shapes: Sequence[Sequence[int]], broadcast: Sequence[Sequence[bool]], ndim: int
) -> tuple[int, ...]:
    """Return the common shape of operands.

    Parameters
    ----------
    shapes : sequence of shapes
        One for each operand, all of `ndim` lengths.
    broadcast : sequence of patterns
        For each operand and dimension, whether it broadcasts: its static length is 1. A length that is known at run
        time only does not broadcast where it is 1.
    ndim : int

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If two lengths that do not broadcast differ, or one that does is not 1.

    Examples
    --------
    >>> broadcast_lengths([(2, 1), (2, 3)], [(False, True), (False, False)], 2)
    (2, 3)
    """
    result: list[int] = []
    for axis in range(ndim):
        first = -1
        for i, shape in enumerate(shapes):
            if broadcast[i][axis]:
                if shape[axis] != 1:
                    raise ValueError(_not_one(i, axis, shape[axis]))
            elif first < 0:
                first = i
            elif shape[axis] != shapes[first][axis]:
                raise ValueError(_mismatch(first, i, axis, shapes))
        result.append(shapes[first][axis] if first >= 0 else 1)
    return tuple(result)


def _mismatch(i: int, j: int, axis: int, shapes: Sequence[Sequence[int]]) -> str:
    n, m = shapes[i][axis], shapes[j][axis]
    what = f"Input dimension mis-match. (input[{i}].shape[{axis}] = {n}, input[{j}].shape[{axis}] = {m})"
    if 1 in (n, m):
        hint = (
            "a length of 1 broadcasts only where it is declared: make the variable with shape "
            "1 there (row, col, broadcastable=...)"
        )
    else:
        hint = "pass arrays whose lengths are equal in this dimension"
    return format_error(what, hint=hint)


def _not_one(i: int, axis: int, length: int) -> str:
    return format_error(
        f"input {i} has length {length} in dimension {axis}, which was declared to broadcast",
        hint="pass an array whose length is 1 there",
    )


__all__ = [
    "Donors",
    "Encoded",
    "Kernel",
    "Linkage",
    "LoadedKernel",
    "Overwriting",
    "Site",
    "c_text",
    "first_may_be_taken",
    "overwrites",
    "type_number",
    "wait_number",
    "KernelTable",
    "native_kernel",
    "broadcast_lengths",
]
