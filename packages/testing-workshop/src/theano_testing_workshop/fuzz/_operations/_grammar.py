"""The operations that programs are made of; authors of ops add their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from theano_tensor import as_tensor_variable
from theano_testing.tensor import OpRecord

from .._draw import Draw
from .._program import Operation, Options
from ._arrays import whole_array_operations
from ._elementwise import elementwise_operations
from ._images import image_operations
from ._indices import indexing_operations, place_operations
from ._loops import inner_operations, loop_operations
from ._matrices import linear_operations, sparse_operations
from ._memory import memory_operations


class Grammar:
    """Operations that programs are drawn from.

    Parameters
    ----------
    operations : iterable of Operation, optional
        By default those of the whole tensor language.

    Attributes
    ----------
    operations : list of Operation

    Examples
    --------
    >>> import numpy as np
    >>> import theano_tensor as tt
    >>> from theano_testing_workshop.fuzz import Grammar
    >>> from theano_testing.tensor import OpRecord
    >>> grammar = Grammar()
    >>> grammar.add(OpRecord("sine", tt.sin, np.sin, domain=[(-3.0, 3.0)]), weight=5.0)
    >>> grammar.operations[-1].name
    'sine'
    """

    def __init__(self, operations: Iterable[Operation] | None = None) -> None:
        self.operations: list[Operation] = list(_all_operations() if operations is None else operations)

    def add(self, what: Operation | OpRecord, *, weight: float = 1.0, text: str | None = None) -> None:
        """Add an operation, or that of a record.

        Parameters
        ----------
        what : Operation or OpRecord
            The arguments of a record are drawn as its `domain`, `dtypes` and `shapes` say; else they are arguments of
            one of its `cases`, and results of other operations that have their dtype and shape.
        weight : float
            How often it is drawn; most operations have 1.
        text : str, optional
            How programs that fail name the op of a record: Python source of a callable, such as ``"mypackage.my_op"``.
        """
        self.operations.append(_of_record(what, weight, text) if isinstance(what, OpRecord) else what)

    def limited(self, names: Iterable[str]) -> Grammar:
        """Return a grammar of the operations of some names.

        Raises
        ------
        ValueError
            If there is none of a name.
        """
        requested = list(names)
        known = {op.name for op in self.operations}
        missing = sorted(set(requested) - known)
        if missing:
            raise ValueError(f"no operation is called {missing[0]!r}\n  Hint: use some of {', '.join(sorted(known))}")
        return Grammar(op for op in self.operations if op.name in requested)


def _all_operations() -> list[Operation]:
    return [
        *elementwise_operations(),
        *whole_array_operations(),
        *indexing_operations(),
        *linear_operations(),
        *memory_operations(),
        *place_operations(),
        *loop_operations(),
        *inner_operations(),
        *image_operations(),
        *sparse_operations(),
    ]


def _of_record(record: OpRecord, weight: float, text: str | None) -> Operation:
    cases = record.complete().cases
    name = text or record.name

    def first(results: Any) -> Any:
        return results[0] if isinstance(results, (list, tuple)) else results

    def draw(d: Draw) -> tuple[Sequence[int], Options]:
        case = [np.asarray(a) for a in d.one_of(cases)]
        return [_argument(d, record, k, value) for k, value in enumerate(case)], {}

    def build(*variables: Any) -> Any:
        return as_tensor_variable(first(record.op(*variables)))

    def reference(*arrays: Any) -> Any:
        return first(record.reference(*arrays))

    def source(names: Sequence[str], _: Options) -> str:
        return f"{name}({', '.join(names)})"

    ulp = 64.0 if record.ulp is None else record.ulp
    return Operation(record.name, build, reference, draw, text=source, weight=weight, ulp=ulp)


def _argument(d: Draw, record: OpRecord, number: int, value: Any) -> int:
    """Return an item with the dtype and lengths of an argument, and numbers of its domain; or a leaf with its value."""
    low, high = record.domain[number] if record.domain is not None else (-np.inf, np.inf)

    def fits(i: int) -> bool:
        match = d.values[i]
        inside = match.dtype.kind not in "iuf" or bool(np.all((match >= low) & (match <= high)))
        return match.dtype == value.dtype and match.shape == value.shape and inside

    matching = [i for i in range(len(d.items)) if fits(i)] if record.domain is not None else []
    if matching and d.chance(0.7):
        return int(d.one_of(matching))
    static = tuple(1 if n == 1 else None for n in value.shape)
    return d.leaf(value.dtype.name, value.shape, values=value, static=static)
