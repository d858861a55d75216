"""Tools for rewrites of tensor expressions: those of `theano.tensor.opt`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano.gof.opt import Optimizer, local_optimizer
from theano_graph import Apply, Constant, FunctionGraph
from theano_optimize import EquilibriumRewriter, NodeRewriter
from theano_tensor import Tensor, as_tensor_variable, cast, constant_value
from theano_tensor.creation import alloc
from theano_tensor.elemwise import Elemwise
from theano_tensor.rewrites.fusion import composite_of
from theano_tensor.shape import lengths_of, patternbroadcast

#: Kind of number (truth, unsigned, signed, floating, complex), and how precise it is.
_PRECISION = {
    "bool": (0, 0),
    **{f"uint{8 * n}": (1, n) for n in (1, 2, 4, 8)},
    **{f"int{8 * n}": (2, n) for n in (1, 2, 4, 8)},
    **{f"float{8 * n}": (3, n) for n in (2, 4, 8)},
    **{f"complex{16 * n}": (4, n) for n in (4, 8)},
}


def is_an_upcast(type1: str, type2: str) -> bool:
    """Tell whether numbers of dtype `type2` are more precise than those of `type1`, and of no simpler kind.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.opt.is_an_upcast("int8", "float32"), T.opt.is_an_upcast("float32", "int64")
    (True, False)
    """
    (kind1, precision1), (kind2, precision2) = _PRECISION[type1], _PRECISION[type2]
    return kind2 >= kind1 and precision2 > precision1


def encompasses_broadcastable(b1: Sequence[bool], b2: Sequence[bool]) -> bool:
    """Tell whether a tensor of pattern `b2` broadcasts to the shape of one of pattern `b1`, and not the other way.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.opt.encompasses_broadcastable((False, False), (True, False))
    True
    """
    if len(b1) < len(b2):
        return False
    ends = list(b1)[len(b1) - len(b2) :]
    return not any(first and not second for first, second in zip(ends, b2, strict=True))


def broadcast_like(value: Any, template: Any, fgraph: FunctionGraph, dtype: str | None = None) -> Tensor:
    """Return `value` broadcast to the shape of `template`, with its dtype (or `dtype`).

    Parameters
    ----------
    value : tensor_like
    template : Tensor
        A variable of `fgraph`.
    fgraph : FunctionGraph
    dtype : str, optional

    Raises
    ------
    ValueError
        If `template` is not in the graph.
    """
    if template not in fgraph.variables:
        raise ValueError("broadcast_like takes the shape of a variable of the graph")
    variable = cast(as_tensor_variable(value), dtype or template.type.dtype)
    if variable.type.broadcastable == template.type.broadcastable:
        return variable
    return patternbroadcast(alloc(variable, *lengths_of(template)), template.type.broadcastable)


def get_clients(node: Apply) -> list[Apply]:
    """Return the nodes that use the first output of `node`."""
    return [client for client, _ in node.outputs[0].clients if isinstance(client, Apply)]


def get_clients2(node: Apply) -> list[Apply]:
    """Return the users of the results that users of the first output of `node` make."""
    return [
        user
        for client in get_clients(node)
        for output in client.outputs
        for user, _ in output.clients
        if isinstance(user, Apply)
    ]


class FusionOptimizer(Optimizer):
    """Applies a local optimizer that joins nodes, until it has nothing to join.

    Parameters
    ----------
    local_optimizer : LocalOptimizer
    """

    def __init__(self, local_optimizer: NodeRewriter) -> None:
        super().__init__()
        self.optimizer = local_optimizer

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Change the graph."""
        return EquilibriumRewriter([self.optimizer], self.name or type(self).__name__).rewrite(fgraph)


def local_elemwise_fusion_op(
    OP: type[Elemwise],
    max_input_fct: Callable[[Apply], int] = lambda node: 32,
    maker: Callable[[Apply, Any], Any] | None = None,
) -> Callable[[Apply], Any]:
    """Return a function of a node that joins an elementwise node with the makers of its inputs.

    Parameters
    ----------
    OP : class of ops
        The elementwise op.
    max_input_fct : callable
        How many inputs a joined node may have, for a node.
    maker : callable, optional
        ``maker(node, scalar_op)`` makes the op; ``OP(scalar_op)`` by default.

    Returns
    -------
    callable
        ``fn(node)`` returns False, or a list with the new output.
    """

    def local_fuse(node: Apply) -> Any:
        if type(node.op) is not OP or len(node.outputs) != 1:
            return False
        pattern = node.outputs[0].type.broadcastable
        producers: dict[Apply, None] = {}
        for x in node.inputs:
            owner = x.owner
            if owner is None or type(owner.op) is not OP or len(owner.outputs) != 1 or len(x.clients) != 1:
                continue
            if x.type.broadcastable == pattern and not getattr(owner.op, "inplace_pattern", None):
                producers[owner] = None
        while producers:
            element, inputs = composite_of([*producers, node], node.outputs)
            if len(inputs) <= max_input_fct(node):
                result = OP(element) if maker is None else maker(node, element)
                new = result(*inputs)
                return [new] if new.type == node.outputs[0].type else False
            producers.popitem()
        return False

    return local_fuse


@local_optimizer([Elemwise])
def local_elemwise_fusion(node: Apply) -> Any:
    """Join an elementwise node with those of the same shape that make its inputs; casts are done inside."""
    return _FUSE(node)


_FUSE = local_elemwise_fusion_op(Elemwise)


def scalarconsts_rest(
    inputs: Iterable[Any], elemwise: bool = True, only_process_constants: bool = False
) -> tuple[list[Any], list[Any], list[Any]]:
    """Split variables into known numbers, and the others.

    Parameters
    ----------
    inputs : iterable of Tensor
    elemwise : bool
        Whether numbers are looked for behind elementwise operations too.
    only_process_constants : bool
        Whether only constants themselves are looked at.

    Returns
    -------
    consts : list of ndarray
        The numbers.
    origconsts : list of Tensor
        The variables that they are the values of.
    nonconsts : list of Tensor
    """
    consts, origconsts, nonconsts = [], [], []
    for variable in inputs:
        value = _number(variable, elemwise, only_process_constants)
        if value is None:
            nonconsts.append(variable)
        else:
            consts.append(value)
            origconsts.append(variable)
    return consts, origconsts, nonconsts


def _number(variable: Any, elemwise: bool, only_constants: bool) -> Any:
    if only_constants and not isinstance(variable, Constant):
        return None
    made_by_loop = variable.owner is not None and isinstance(variable.owner.op, Elemwise)
    return None if made_by_loop and not elemwise else constant_value(variable)
