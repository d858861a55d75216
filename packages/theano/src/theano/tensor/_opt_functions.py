"""Functions of `theano.tensor.opt` that programs for Theano 1.0 write rewrites with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano.gof._local_optimizers import transform_alone
from theano.gof.opt import LocalOptGroup, in2out
from theano_graph import Apply, Constant, Variable
from theano_optimize import constant_folding
from theano_tensor import as_tensor_variable, constant
from theano_tensor.elemwise import dimshuffle
from theano_tensor.rewrites.canonizer import add_canonizer as _sum_rule, mul_canonizer as _product_rule

from ._old_lifts import is_dimshuffle_useless as is_dimshuffle_useless
from ._old_rewrites import named

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
