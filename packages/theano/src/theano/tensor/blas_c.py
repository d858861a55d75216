"""Products of matrices and vectors in C: ops of Theano 1.0, which are those of `theano.tensor.blas` here."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_tensor.linear import (
    Gemv,
    Ger,
    gemv_inplace,
    gemv_no_inplace,
    ger,
    ger_destructive,
)

from ..gof.opt import local_optimizer
from ._linear_algebra import GemmRelated


class BaseBLAS(GemmRelated):
    """Base of ops with C code that calls BLAS."""


class CGer(BaseBLAS, Ger):
    """Rank-1 update ``A + alpha x y'``; see :class:`theano.tensor.blas.Ger`."""


class CGemv(BaseBLAS, Gemv):
    """General product of a matrix and a vector ``beta y + alpha A x``; see :class:`theano.tensor.blas.Gemv`."""


cger_inplace, cger_no_inplace = CGer(True), CGer(False)
cgemv_inplace, cgemv_no_inplace = CGemv(inplace=True), CGemv(inplace=False)


def check_force_gemv_init() -> bool:
    """Tell whether BLAS reads the result of a product that is added to 0 times it: it need not be initialized here."""
    return False


@local_optimizer([ger, ger_destructive])
def use_c_ger(node: Apply) -> Any:
    """Put `CGer` in the place of `Ger`."""
    return [CGer(node.op.destructive)(*node.inputs)] if type(node.op) is Ger else None


@local_optimizer([CGer], inplace=True)
def make_c_ger_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [cger_inplace(*node.inputs)] if node.op == cger_no_inplace else None


@local_optimizer([gemv_inplace, gemv_no_inplace])
def use_c_gemv(node: Apply) -> Any:
    """Put `CGemv` in the place of `Gemv`."""
    return [CGemv(node.op.inplace)(*node.inputs)] if type(node.op) is Gemv else None


@local_optimizer([CGemv], inplace=True)
def make_c_gemv_destructive(node: Apply) -> Any:
    """Overwrite the addend of the product."""
    return [cgemv_inplace(*node.inputs)] if node.op == cgemv_no_inplace else None
