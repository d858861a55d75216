"""Products of vectors by SciPy's BLAS: ops of Theano 1.0, which are those of `theano.tensor.blas` here."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_tensor.linear import Ger, ger, ger_destructive

from ..gof.opt import in2out, local_optimizer


class ScipyGer(Ger):
    """Rank-1 update ``A + alpha x y'``; see :class:`theano.tensor.blas.Ger`."""


scipy_ger_no_inplace, scipy_ger_inplace = ScipyGer(False), ScipyGer(True)


@local_optimizer([ger, ger_destructive])
def use_scipy_ger(node: Apply) -> Any:
    """Put `ScipyGer` in the place of `Ger`."""
    return [scipy_ger_no_inplace(*node.inputs)] if node.op == ger else None


@local_optimizer([scipy_ger_no_inplace], inplace=True)
def make_ger_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [scipy_ger_inplace(*node.inputs)] if node.op == scipy_ger_no_inplace else None


use_scipy_blas = in2out(use_scipy_ger)
make_scipy_blas_destructive = in2out(make_ger_destructive)
