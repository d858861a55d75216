"""Rules that exchange or drop an op wherever it stands."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, Op, format_error

from .._info import RewriteInfo
from ._node_rewriter import NodeRewriter, Tracks, TransformResult


class SubstituteOp(NodeRewriter):
    """Replace each application of one op by another op on the same inputs.

    Parameters
    ----------
    old, new : Op
    transfer_tags : bool
        Copy the scratchpads of the old outputs to the new ones.
    name : str, optional

    Raises
    ------
    TypeError
        If `old` or `new` is no op.

    Examples
    --------
    >>> from theano_graph import Op
    >>> class Add(Op):
    ...     __props__ = ()
    >>> class Mul(Op):
    ...     __props__ = ()
    >>> SubstituteOp(Add(), Mul()).name
    'Add -> Mul'
    """

    def __init__(
        self, old: Op, new: Op, *, transfer_tags: bool = True, name: str | None = None, info: RewriteInfo | None = None
    ) -> None:
        _require_op(old)
        _require_op(new)
        super().__init__(name or f"{old} -> {new}", info=info, reach=0)
        self.old = old
        self.new = new
        self.transfer_tags = transfer_tags

    def tracks(self) -> Tracks:
        return (self.old,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        if node.op != self.old:
            return None
        new = self.new.make_node(*node.inputs)
        if self.transfer_tags:
            for before, after in zip(node.outputs, new.outputs, strict=False):
                if before.has_tag():
                    after.tag = before.tag.copy()
        return new.outputs


class RemoveOp(NodeRewriter):
    """Replace each output of an op by the input at the same place.

    Parameters
    ----------
    op : Op
        With as many outputs as inputs.
    name : str, optional

    Raises
    ------
    TypeError
        If `op` is no op.

    Examples
    --------
    >>> from theano_graph import Op
    >>> class Identity(Op):
    ...     __props__ = ()
    >>> RemoveOp(Identity()).name
    'remove Identity'
    """

    def __init__(self, op: Op, *, name: str | None = None, info: RewriteInfo | None = None) -> None:
        _require_op(op)
        super().__init__(name or f"remove {op}", info=info, reach=0)
        self.op = op

    def tracks(self) -> Tracks:
        return (self.op,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        return list(node.inputs) if node.op == self.op else None


def _require_op(op: object) -> None:
    if not isinstance(op, Op):
        raise TypeError(format_error(f"{op!r} is no op", hint="pass an instance of a subclass of Op"))
