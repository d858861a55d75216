"""Constants that were converted to the dtype in which a graph uses them."""

from __future__ import annotations

import numpy as np

from theano_graph import AlreadyThere, Constant, Feature, FunctionGraph, Variable

from .._core._convert import constant

#: Constants of so many elements are kept; larger ones are rarely used in many places.
FEW_ELEMENTS = 64


class ConvertedConstants(Feature):
    """For small constants of one graph, the constants of other dtypes that stand in their places.

    A number that a long expression has in many places is then converted once, and remains one constant.
    """

    only_remembers = True

    def __init__(self) -> None:
        self._converted: dict[tuple[Constant, str], Variable] = {}
        self._attached = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second graph: the constants belong to the first."""
        if self._attached:
            raise AlreadyThere("these constants belong to another graph")
        self._attached = True

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget all constants."""
        self._converted.clear()
        self._attached = False

    def converted(self, x: Constant, dtype: str) -> Variable:
        """Return `x` as a constant of another dtype; `x` itself where that is its own, or would lose something."""
        if x.data.dtype.name == dtype:
            return x
        if x.data.size > FEW_ELEMENTS:
            return _converted(x, dtype)
        conversion = self._converted.get((x, dtype))
        if conversion is None:
            conversion = self._converted[x, dtype] = _converted(x, dtype)
        return conversion


def _converted(x: Constant, dtype: str) -> Variable:
    data = x.data
    if data.dtype.name == dtype or data.dtype.kind == "c":
        return x
    with np.errstate(all="ignore"):
        new = data.astype(dtype)
        back = new.real if new.dtype.kind == "c" else new
        same = np.array_equal(back.astype(data.dtype), data) and np.array_equal(new, data)
    return constant(new) if same else x


def converted_constants(fgraph: FunctionGraph) -> ConvertedConstants:
    """Return the table of a graph, attached if there is none."""
    for feature in fgraph.features:
        if isinstance(feature, ConvertedConstants):
            return feature
    table = ConvertedConstants()
    fgraph.attach_feature(table)
    return table
