"""Elementwise nodes that overwrite one of their inputs.

The machine lets native loops reuse dead buffers, for all graphs. The others are
nodes that run in NumPy: these get in-place forms here.
"""

from __future__ import annotations

from collections.abc import Iterator

from theano_graph import Apply, Op
from theano_linker_c.kernels import native_kernel
from theano_optimize import InplaceRewriter, Phase, RewriteInfo

from ..elemwise import Elemwise


def has_native_loop(node: Apply) -> bool:
    """Tell whether a node runs as native code, which reuses buffers by itself."""
    form = native_kernel.get(node.op)
    return form is not None and form(node) is not None


class InplaceElemwiseOptimizer(InplaceRewriter):
    """Put in-place forms of elementwise nodes in where that is safe: each input is tried for the output.

    Parameters
    ----------
    op : class of ops
        The elementwise op.
    native_too : bool
        Whether nodes that run as native code are changed too; these then run in NumPy.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.opt.InplaceElemwiseOptimizer(T.Elemwise).name
    'inplace_elemwise_optimizer'
    """

    def __init__(self, op: type[Elemwise] = Elemwise, native_too: bool = True) -> None:
        self.op = op
        self.native_too = native_too
        super().__init__(self.forms, [op], info=RewriteInfo("inplace_elemwise_optimizer", Phase.INPLACE, ("inplace",)))

    def forms(self, node: Apply) -> Iterator[Op]:
        """Yield the in-place forms of a node."""
        op = node.op
        if type(op) is not self.op or op.inplace_pattern or len(node.outputs) != 1:
            return
        if not self.native_too and has_native_loop(node):
            return
        for i, x in enumerate(node.inputs):
            if x.type == node.outputs[0].type and x.owner is not None:
                yield self.op(op.scalar_op, {0: i})
