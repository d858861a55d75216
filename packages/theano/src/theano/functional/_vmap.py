"""Functions of one entry as functions of batches, over containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import format_error
from theano_tensor import BatchError, as_tensor_variable, vmap as vmap_of

from ._derivatives import as_jitted
from ._jit import Jitted
from ._trees import StructureError, flatten, parts, unflatten


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Jitted:
    """Return a function that applies a function to each entry along a dimension of its arguments.

    Parameters
    ----------
    function : callable
        Returns a variable, or a container of variables.
    in_axes : int or None, or sequence of these or of containers
        For each argument, in the order of the parameters, the dimension that numbers the entries; None for an argument
        that is the same for all entries. One number is for all arguments. A container has the structure of its
        argument, or a number for a part of it. Keyword-only arguments are the same for all entries.
    out_axes : int or None, or container
        The dimension of the entries in the results, in the same way.

    Returns
    -------
    Jitted
        It works on symbolic variables, and with arrays it is compiled as by :func:`theano.jit`.

    Raises
    ------
    BatchError
        When the function is called: if the arguments and `in_axes` differ in number, no argument is mapped, lengths
        differ, or a result depends on the entry and its entry of `out_axes` is None.
    StructureError
        If a container of `in_axes` or `out_axes` does not fit its argument or the result.

    See Also
    --------
    theano.tensor.vmap : the same for variables.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.functional import grad, vmap
    >>> def loss(p, x):
    ...     return (p["a"] * x + p["b"]) ** 2
    >>> slopes = vmap(grad(loss), in_axes=(None, 0))({"a": 1.0, "b": 0.0}, np.array([1.0, 2.0]))
    >>> slopes["a"].tolist(), slopes["b"].tolist()
    ([2.0, 8.0], [2.0, 4.0])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        results: list[Any] = []
        axes_of_results: list[int | None] = []

        def of_leaves(*entries: Any) -> list[Any]:
            result = function(*unflatten(structure, entries), **kwargs)
            values, form = flatten(result)
            results.append(form)
            # The vmap of variables reads this list after the call.
            axes_of_results.extend(_axes("out_axes", out_axes, result))
            return [as_tensor_variable(value) for value in values]

        values = vmap_of(of_leaves, _axes_of_arguments(in_axes, args), axes_of_results)(*leaves)
        return unflatten(results[0], values)

    return as_jitted("vmap", function, mapped, str((in_axes, out_axes)))


def _axes_of_arguments(in_axes: Any, args: Sequence[Any]) -> list[int | None]:
    if in_axes is None or isinstance(in_axes, int):
        in_axes = [in_axes] * len(args)
    if len(in_axes) != len(args):
        raise BatchError(
            format_error(
                f"vmap: in_axes has {len(in_axes)} entries for {len(args)} arguments",
                hint="give one entry for each argument; keyword-only arguments are the same for all entries",
            )
        )
    return [axis for entry, value in zip(in_axes, args, strict=True) for axis in _axes("in_axes", entry, value)]


def _axes(name: str, axes: Any, value: Any) -> list[int | None]:
    """Return an axis for each leaf of a value; a number is for all leaves below it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(flatten(value)[0])
    outer, inner = parts(axes), parts(value)
    if outer is None or inner is None or outer.rebuild != inner.rebuild:
        raise StructureError(
            format_error(
                f"vmap: {name} has {axes!r} where there is a {type(value).__name__}",
                hint="use the structure of the value, or one number for all of it",
            )
        )
    pairs = zip(outer.children, inner.children, strict=True)
    return [axis for below, child in pairs for axis in _axes(name, below, child)]
