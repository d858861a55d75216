"""Shapes of graphs in terms of the shapes of their inputs, and which expressions may be used where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano_graph import Constant, toposort
from theano_tensor.rewrites.shape import ShapeFeature


def infer_shape(outs: Sequence[Any], inputs: Sequence[Any], input_shapes: Sequence[Any]) -> list[Any]:
    """Return the shapes of outputs as tuples of expressions, given those of the inputs; None for a type without shape.

    Examples
    --------
    >>> from theano.scan_module.scan_utils import infer_shape
    >>> import theano.tensor as T
    >>> x, n = T.dvector("x"), T.lscalar("n")
    >>> ((length,),) = infer_shape([T.exp(x)], [x], [(n,)])
    >>> int(length.eval({n: 3}))
    3
    """
    feature = ShapeFeature()
    for variable, shape in zip(inputs, input_shapes, strict=True):
        feature.set_shape(variable, shape)
    return [feature.shape_of[out] for out in outs]


class Validator:
    """Tells which expressions need no variable of a set, or have an equivalent that does not.

    Parameters
    ----------
    valid, invalid : iterable of Variable, optional
        Variables that may be used, and variables that may not.
    valid_equivalent : dict, optional
        Variable that may not be used -> one that stands for it.
    """

    def __init__(
        self,
        valid: Iterable[Any] | None = None,
        invalid: Iterable[Any] | None = None,
        valid_equivalent: Mapping[Any, Any] | None = None,
    ) -> None:
        self.valid_equivalent = dict(valid_equivalent or {})
        self.valid = {*(valid or ()), *self.valid_equivalent.values()}
        self.invalid = {*(invalid or ()), *self.valid_equivalent}

    def check(self, out: Any) -> tuple[Any, bool] | None:
        """Return a variable in place of `out` that may be used, and whether it is `out`; None if there is none."""
        nodes = toposort([*self.valid, *self.invalid], [out])
        for v in [v for node in nodes for v in node.inputs if v.owner is None] + [out]:
            if v.owner is None:
                self._leaf(v)
        for node in nodes:
            if all(self._usable(v) is not None for v in node.inputs):
                if any(v in self.invalid for v in node.inputs):
                    copy = node.clone_with_new_inputs([self._usable(v) for v in node.inputs])
                    for old, new in zip(node.outputs, copy.outputs, strict=True):
                        self._stands_for(old, new)
                else:
                    self.valid.update(node.outputs)
            else:
                self.invalid.update(node.outputs)
        usable = self._usable(out)
        return None if usable is None else (usable, usable is out)

    def _leaf(self, v: Any) -> None:
        if v in self.valid or v in self.invalid:
            return
        (self.valid if isinstance(v, Constant) else self.invalid).add(v)

    def _stands_for(self, old: Any, new: Any) -> None:
        self.invalid.add(old)
        self.valid.add(new)
        self.valid_equivalent[old] = new

    def _usable(self, v: Any) -> Any:
        return v if v in self.valid and v not in self.invalid else self.valid_equivalent.get(v)
