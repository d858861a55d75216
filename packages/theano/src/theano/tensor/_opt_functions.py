"""Functions that `theano.tensor.opt` has for optimizers of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_optimize import EquilibriumRewriter, NodeRewriter, constant_folding
from theano_tensor import Tensor, as_tensor_variable, cast, constant, constant_value
from theano_tensor.creation import alloc
from theano_tensor.elemwise import Elemwise, dimshuffle
from theano_tensor.rewrites.canonizer import add_canonizer as _sum_rule, mul_canonizer as _product_rule
from theano_tensor.rewrites.fusion import composite_of
from theano_tensor.shape import lengths_of, patternbroadcast

from ..gof._local_optimizers import transform_alone
from ..gof.opt import LocalOptGroup, Optimizer, in2out, local_optimizer
from ._old_rewrites import named

# ---- Tools for rewrites of tensor expressions: those of `theano.tensor.opt`

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


# ---- Functions of `theano.tensor.opt` that programs for Theano 1.0 write rewrites with

_DIVISION = 1.5


def add_calculate(num: Sequence[Any], denum: Sequence[Any], aslist: bool = False, out_type: Any = None) -> Any:
    """Return the sum of numbers less the sum of others; as a list, empty where it is zero, if `aslist`."""
    total = sum(num) - sum(denum) if num or denum else np.int8(0)
    if out_type is not None:
        total = np.asarray(total, dtype=out_type.dtype)
    if aslist:
        return [] if np.all(total == 0) else [total]
    return total


def mul_calculate(num: Sequence[Any], denum: Sequence[Any], aslist: bool = False, out_type: Any = None) -> Any:
    """Return the product of numbers over the product of others; as a list, empty where it is one, if `aslist`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> float(T.opt.mul_calculate([np.float32(6)], [np.float32(4)]))
    1.5
    """
    if not num and not denum:
        return [] if aslist else np.int8(1)
    dtype = out_type.dtype if out_type is not None else np.result_type(*num, *denum)
    above = below = np.asarray(1, dtype=dtype)
    for value in num:
        above = np.multiply(above, value)
    for value in denum:
        below = np.multiply(below, value)
    quotient = above / below
    if aslist:
        return [] if np.all(quotient == 1) else [quotient]
    return quotient


def merge_broadcastables(broadcastables: Iterable[Sequence[bool]]) -> list[bool]:
    """Return the broadcast pattern of an elementwise result of tensors of some patterns.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.opt.merge_broadcastables([(True, False), (True, True)])
    [True, False]
    """
    return [all(flags) for flags in zip(*broadcastables, strict=True)]


def apply_local_dimshuffle_lift(var: Any) -> Any:
    """Return a variable with its dimshuffle moved to its inputs, where that is possible."""
    if var.owner is None:
        return var
    new = named("local_dimshuffle_lift").transform(var.owner)
    return new[0] if new else var


def elemwise_max_input_fct(node: Apply) -> int:
    """Return how many inputs a joined elementwise node may have."""
    return 1024


def make_constant(args: Any) -> Any:
    """Return numbers, in tuples maybe, as constants; variables and slices stay."""
    if isinstance(args, tuple):
        return tuple(map(make_constant, args))
    return args if isinstance(args, (Variable, slice)) or args is None else constant(args)


def pre_constant_merge(vars: Iterable[Any]) -> list[Any]:
    """Make constants that are equal, in the graphs that make some variables, the same; return the variables."""
    constants: dict[Any, Constant] = {}
    results = list(vars)
    waiting, seen = [v for v in results if isinstance(v, Variable)], set()

    def one(v: Any) -> Any:
        return constants.setdefault(v.signature(), v) if isinstance(v, Constant) else v

    while waiting:
        node = waiting.pop().owner
        if node is None or node in seen:
            continue
        seen.add(node)
        node.inputs[:] = [one(v) for v in node.inputs]
        waiting.extend(node.inputs)
    return [one(v) for v in results]


def pre_greedy_local_optimizer(list_optimizations: Sequence[Any], out: Any) -> Any:
    """Apply local optimizers to a variable and to its ancestors, one level after the other; return the result.

    Parameters
    ----------
    list_optimizations : sequence of LocalOptimizer
    out : Variable
    """
    done: dict[Variable, Any] = {}

    def simplified(variable: Any) -> Any:
        node = variable.owner
        if node is None:
            return variable
        if variable not in done:
            inputs = [simplified(v) for v in node.inputs]
            if any(a is not b for a, b in zip(inputs, node.inputs, strict=True)):
                node = node.clone_with_new_inputs(inputs)
            result = node.outputs[variable.index]
            for optimizer in list_optimizations:
                replacement = transform_alone(optimizer, node)
                if replacement:
                    result = replacement[variable.index]
                    break
            done[variable] = result
        return done[variable]

    return simplified(out)


def distribute_greedy(
    pos_pairs: Sequence[Any],
    neg_pairs: Sequence[Any],
    num: list[Any],
    denum: list[Any],
    out_type: Any,
    minscore: float = 0,
) -> tuple[bool, Any, Any]:
    """Multiply the terms of a sum by factors, where that spares more operations than `minscore`.

    Parameters
    ----------
    pos_pairs, neg_pairs : sequence of (list of factors, list of divisors)
        The terms that are added, and the subtracted ones.
    num, denum : list of Tensor
        Factors and divisors of the sum.
    out_type : TensorType
        Of the result.
    minscore : float

    Returns
    -------
    bool
        Whether it was done.
    sequence, sequence
        The new pairs, or those given.
    """
    canonizer: Any = _product_rule

    def cost(pair: Any) -> float:
        return len(pair[0]) + _DIVISION * len(pair[1])

    pairs = [*pos_pairs, *neg_pairs]
    new = [canonizer.simplify([*n, *num], [*d, *denum], out_type) for n, d in pairs]
    score = cost((num, denum)) + sum(map(cost, pairs)) - sum(map(cost, new))
    if score <= minscore:
        return False, pos_pairs, neg_pairs
    return True, new[: len(pos_pairs)], new[len(pos_pairs) :]


def attempt_distribution(factor: Any, num: list[Any], denum: list[Any], out_type: Any) -> tuple[bool, Any, Any, Any]:
    """Multiply a sum out by those of some factors and divisors for which that spares operations.

    Returns
    -------
    bool
        Whether something was done.
    Tensor
        The sum.
    list, list
        Factors and divisors that are left.
    """
    sums: Any = _sum_rule
    products: Any = _product_rule
    terms = sums.get_num_denum(factor)
    if len(terms[0]) == 1 and not terms[1]:
        return False, factor, num, denum
    added, subtracted = ([products.get_num_denum(v) for v in side] for side in terms)
    changed = False
    left: tuple[list[Any], list[Any]] = ([], [])
    for side, values in enumerate((num, denum)):
        for value in values:
            factors = ([value], []) if side == 0 else ([], [value])
            done, added, subtracted = distribute_greedy(added, subtracted, *factors, out_type)
            changed = changed or done
            if not done:
                left[side].append(value)
    if not changed:
        return False, factor, num, denum
    merged = [[products.merge_num_denum(n, d) for n, d in side] for side in (added, subtracted)]
    return True, sums.merge_num_denum(*merged), *left


def local_elemwise_alloc_op(ElemwiseOP: Any, AllocOP: Any, DimShuffleOP: Any) -> Callable[[Apply], Any]:
    """Return a function of a node that leaves filling out where another input of an elementwise node has the shape.

    Parameters
    ----------
    ElemwiseOP, AllocOP, DimShuffleOP : classes of ops
    """

    def filled_with(variable: Any) -> Any:
        node = variable.owner
        if node is not None and isinstance(node.op, AllocOP):
            return dimshuffle(node.inputs[0], _on_the_left(node.inputs[0], variable.type.ndim))
        if node is not None and isinstance(node.op, DimShuffleOP):
            inner = filled_with(node.inputs[0])
            return None if inner is None else node.op(inner)
        return None

    def local_elemwise_alloc(node: Apply) -> Any:
        if not isinstance(node.op, ElemwiseOP):
            return False
        pattern = node.outputs[0].type.broadcastable
        values = [filled_with(v) for v in node.inputs]
        full = [i for i, v in enumerate(node.inputs) if v.type.broadcastable == pattern]
        keeping = next((i for i in full if values[i] is None), full[0] if full else None)
        changed = [i for i, value in enumerate(values) if value is not None and i != keeping]
        if keeping is None or not changed:
            return False
        inputs = [values[i] if i in changed else v for i, v in enumerate(node.inputs)]
        return list(node.op(*inputs, return_list=True))

    return local_elemwise_alloc


def _on_the_left(value: Any, ndim: int) -> list[int | str]:
    n_dims = as_tensor_variable(value).type.ndim
    return ["x"] * (ndim - n_dims) + list(range(n_dims))


topo_constant_folding = in2out(constant_folding, ignore_newtrees=True, name="topo_constant_folding")
_sums = named("local_add_canonizer")
_products = named("local_mul_canonizer")
_fills = named("local_fill_sink")
add_canonizer = in2out(LocalOptGroup(_sums, _fills, name="add_canonizer_group"), name="add_canonizer_groups")
mul_canonizer = in2out(LocalOptGroup(_products, _fills, name="mul_canonizer_group"), name="mul_canonizer_groups")
