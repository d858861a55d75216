"""Printers for `theano.printing.pprint` that also return whole texts."""

from __future__ import annotations

from typing import Any, ClassVar

from theano_graph import Op, Variable, pprint
from theano_tensor import AdvancedSubtensor, DimShuffle, MakeVector, Subtensor, printers


class _Process:
    """Adds the method by which printers return a whole text."""

    _ops: ClassVar[tuple[type[Op], ...]]

    def process(self, r: Variable, pstate: Any = None) -> str:
        """Return the formula of a variable; TypeError if another op makes it.

        Parameters
        ----------
        r : Variable
        pstate : PrinterState, optional
            Its attribute `pprinter` writes the operands.
        """
        node = r.owner
        if node is None or not isinstance(node.op, self._ops):
            raise TypeError(f"Can only print {self._ops[0].__name__}.")
        return str(getattr(pstate, "pprinter", pprint).clone_assign(type(node.op), self).process(r))


class SubtensorPrinter(_Process, printers.SubtensorPrinter):
    """Writes ``x[1:n, 0]``."""

    _ops = (Subtensor, AdvancedSubtensor)


class DimShufflePrinter(_Process, printers.DimShufflePrinter):
    """Writes ``x.T``, and nothing for dimensions that are only added in front."""

    _ops = (DimShuffle,)


class MakeVectorPrinter(_Process, printers.MakeVectorPrinter):
    """Writes ``[x, y]``."""

    _ops = (MakeVector,)
