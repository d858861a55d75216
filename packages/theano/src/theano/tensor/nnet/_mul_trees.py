"""Trees of multiplications, and the patterns that rewrites of sigmoids look for in them.

A tree is a list ``[negated, content]``, where the content is a variable, a list of trees that are multiplied, or None
for the number 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_tensor import NotScalarConstantError, exp, get_scalar_constant_value, mul, neg
from theano_tensor.elemwise import add, sigmoid

from .._opt_functions import scalarconsts_rest

#: Whether modes include `local_1msigmoid`; it is not needed, for rewrites of products see ``1 - sigmoid(x)`` as well.
register_local_1msigmoid = False

Tree = list[Any]
#: Arguments of exponentials or sigmoids, each with the leaf that these are.
Leaves = list[tuple[Any, Tree]]


def _inputs_of(variable: Any, op: Any) -> Any:
    """Return the inputs of the node that makes a variable if it applies an op, else None."""
    node = variable.owner
    return node.inputs if node is not None and node.op == op else None


def is_1pexp(t: Any, only_process_constants: bool = True) -> tuple[bool, Any] | None:
    """Return ``(False, x)`` if a variable is ``1 + exp(x)``, else None.

    Parameters
    ----------
    t : Tensor
    only_process_constants : bool
        Whether the 1 must be a constant itself, and no expression of constants.

    Examples
    --------
    >>> from theano.tensor.nnet.sigm import is_1pexp
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> is_1pexp(1 + T.exp(x), only_process_constants=False)
    (False, x)
    """
    terms = _inputs_of(t, add)
    if terms is None:
        return None
    numbers, _, others = scalarconsts_rest(terms, only_process_constants=only_process_constants)
    inside = _inputs_of(others[0], exp) if len(others) == 1 else None
    if inside is None or not numbers or not np.allclose(sum(numbers), 1):
        return None
    return False, inside[0]


def is_exp(var: Any) -> tuple[bool, Any] | None:
    """Return ``(False, x)`` if a variable is ``exp(x)``, ``(True, x)`` for ``-exp(x)``, and None for all else."""
    positive = is_neg(var)
    inside = _inputs_of(var if positive is None else positive, exp)
    return None if inside is None else (positive is not None, inside[0])


def is_mul(var: Any) -> list[Any] | None:
    """Return the factors if a variable is a product, else None."""
    factors: list[Any] | None = _inputs_of(var, mul)
    return factors


def is_neg(var: Any) -> Any:
    """Return x if a variable is ``-x``, also written as a product with -1; else None."""
    negated = _inputs_of(var, neg)
    if negated is not None:
        return negated[0]
    factors = is_mul(var) or []
    for position, factor in enumerate(factors if len(factors) > 1 else []):
        try:
            value = get_scalar_constant_value(factor)
        except NotScalarConstantError:
            continue
        if np.allclose(value, -1):
            others = [*factors[:position], *factors[position + 1 :]]
            return others[0] if len(others) == 1 else mul(*others)
    return None


def partition_num_or_denom(r: Any, f: Callable[[Any], Any]) -> tuple[list[Any], list[Any], bool]:
    """Divide the factors of a product.

    Parameters
    ----------
    r : Tensor
        The product, or its only factor.
    f : callable
        Gives for a factor None, or whether it is negated, and something.

    Returns
    -------
    found : list
        The result of the function.
    rest : list of Tensor
        The factors for which it gave None.
    neg : bool
        Whether an odd number of the others are negated.
    """
    exponentials, others, negated = [], [], False
    for factor in is_mul(r) or [r]:
        answer = f(factor)
        if answer is None:
            others.append(factor)
        else:
            negated ^= answer[0]
            exponentials.append(answer[1])
    return exponentials, others, negated


def parse_mul_tree(root: Any) -> Tree:
    """Return the tree of multiplications and negations whose result a variable is.

    Examples
    --------
    >>> from theano.tensor.nnet.sigm import parse_mul_tree
    >>> import theano.tensor as T
    >>> x, y = T.vectors("x", "y")
    >>> parse_mul_tree(-x * y)
    [False, [[True, x], [False, y]]]
    """
    factors = is_mul(root)
    if factors is not None:
        return [False, [parse_mul_tree(factor) for factor in factors]]
    positive = is_neg(root)
    if positive is None:
        return [False, root]
    negated, content = parse_mul_tree(positive)
    return [not negated, content]


def simplify_mul(tree: Tree) -> Tree:
    """Return a tree without factors 1 and -1, and without products of one factor.

    Examples
    --------
    >>> simplify_mul([False, [[True, None], [False, "x"]]])
    [True, 'x']
    """
    negated, content = tree
    if not isinstance(content, list):
        return tree
    factors_left = []
    for factor in map(simplify_mul, content):
        if factor[1] is None:
            negated ^= factor[0]
        else:
            factors_left.append(factor)
    if len(factors_left) > 1:
        return [negated, factors_left]
    if not factors_left:
        return [negated, None]
    factors_left[0][0] ^= negated
    return factors_left[0]


def compute_mul(tree: Tree) -> Any:
    """Return the variable that a tree stands for; the other way round than :func:`parse_mul_tree`.

    Raises
    ------
    AssertionError
        If there are factors 1 in the tree; :func:`simplify_mul` takes them out.
    """
    negated, content = tree
    if content is None:
        raise AssertionError("compute_mul: the tree has a factor that is not there. Hint: simplify_mul(tree) first.")
    result = mul(*map(compute_mul, content)) if isinstance(content, list) else content
    return -result if negated else result


def replace_leaf(arg: Any, leaves: Leaves, new_leaves: Leaves, op: Callable[[Any], Any], neg: bool) -> bool:
    """Change the first leaf with a certain argument, and move it from one list to another.

    Parameters
    ----------
    arg : Tensor
    leaves, new_leaves : list of (Tensor, tree)
        Where the leaf is looked for, and where it is put.
    op : callable
        Makes the leaf from the argument.
    neg : bool
        Whether the leaf changes its sign.

    Returns
    -------
    bool
        Whether there is such a leaf.
    """
    for position, (leaf_value, leaf) in enumerate(leaves):
        if leaf_value is arg:
            leaf[0] ^= neg
            leaf[1] = op(arg)
            new_leaves.append(leaves.pop(position))
            return True
    return False


def _negated_sigmoid(x: Any) -> Any:
    return sigmoid(-x)


def _meets(leaf: Tree, seen: dict[str, Leaves]) -> bool:
    """Tell whether a leaf joins one that was seen before, which is changed then; else take a note of it."""
    negated, variable = leaf
    found = is_exp(variable)
    if found is not None:
        (sign, argument), kind = found, "exp"
        negated ^= sign
    else:
        inside = _inputs_of(variable, sigmoid)
        if inside is None:
            return False
        argument, kind = inside[0], "sigm"
    positive = is_neg(argument)
    if positive is not None:
        argument = positive
    # exp(x) * sigm(-x) = sigm(x), and the same with x and -x exchanged.
    minus = positive is not None
    partner = f"{'sigm' if kind == 'exp' else 'exp'}_{'' if minus else 'minus_'}x"
    becomes = minus if kind == "exp" else not minus
    result = "sigm_minus_x" if becomes else "sigm_x"
    make = _negated_sigmoid if becomes else sigmoid
    if replace_leaf(argument, seen[partner], seen[result], make, negated):
        return True
    seen[f"{kind}_{'minus_' if minus else ''}x"].append((argument, leaf))
    return False


def perform_sigm_times_exp(
    tree: Tree,
    exp_x: Leaves | None = None,
    exp_minus_x: Leaves | None = None,
    sigm_x: Leaves | None = None,
    sigm_minus_x: Leaves | None = None,
    parent: Tree | None = None,
    child_idx: int | None = None,
    full_tree: Tree | None = None,
) -> bool:
    """Join exponentials with sigmoids in a tree, which is changed: ``exp(x) * sigm(-x)`` is ``sigm(x)``.

    Parameters
    ----------
    tree : list
        A result of :func:`parse_mul_tree`, or part of it.
    exp_x, exp_minus_x, sigm_x, sigm_minus_x : list of (Tensor, tree), optional
        Leaves that are known already: exponentials and sigmoids of arguments, and of negated arguments.
    parent, child_idx, full_tree : optional
        Where the part is.

    Returns
    -------
    bool
        Whether something has changed. Leaves that have gone are factors 1; see :func:`simplify_mul`.
    """
    replacements = {"exp_x": exp_x, "exp_minus_x": exp_minus_x, "sigm_x": sigm_x, "sigm_minus_x": sigm_minus_x}
    return _joined(
        tree, {name: [] if leaves is None else leaves for name, leaves in replacements.items()}, parent, child_idx
    )


def _joined(tree: Tree, seen: dict[str, Leaves], parent: Tree | None, position: int | None) -> bool:
    if isinstance(tree[1], list):
        # All parts are walked, so that each can join leaves of others.
        changes = [_joined(part, seen, tree, k) for k, part in enumerate(tree[1])]
        return any(changes)
    if tree[1] is None or not _meets(tree, seen):
        return False
    if parent is None or position is None:
        raise AssertionError("perform_sigm_times_exp: a leaf has joined another, but nothing has it as a part")
    parent[1][position] = [False, None]
    return True
