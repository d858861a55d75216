"""The graph as it was before rewriting, to judge rewrites that make it more stable.

Such a rewrite may give other digits on purpose, and numbers where there were none. Its result is right if the
outputs of the graph are, as far as the graph before it can tell: that is computed several times with the rounding of
each result changed at random, and its outputs are known up to the differences between these runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, toposort

from ..program import encode_nodes
from ._evaluate import Choices, clone, implementations

#: How often the graph is computed with other rounding.
_RUNS = 8
#: How many times the largest difference between these runs an output may be off.
_MARGIN = 64.0


class Unrewritten:
    """A graph before rewriting.

    Parameters
    ----------
    fgraph : FunctionGraph
    choices : Choices
    """

    def __init__(self, fgraph: FunctionGraph, choices: Choices) -> None:
        self._fgraph = fgraph
        self._order: list[Apply] = toposort(fgraph.inputs, fgraph.outputs)
        self._ways = [implementations(x, None, choices)[0] for x in encode_nodes(self._order)]

    def outputs(self, inputs: Sequence[Any], rng: np.random.Generator | None = None) -> list[Any]:
        """Return the values of the outputs; with `rng`, results are rounded up or down at random."""
        values: dict[Variable, Any] = dict(zip(self._fgraph.inputs, inputs, strict=True))
        with np.errstate(all="ignore"):
            for node, way in zip(self._order, self._ways, strict=True):
                operands = [clone(_value(v, values)) for v in node.inputs]
                for variable, result in zip(node.outputs, way.run(operands, None), strict=True):
                    values[variable] = clone(result) if rng is None else _rounded(clone(result), rng)
        return [_value(v, values) for v in self._fgraph.outputs]

    def explains(self, inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Return `values`, values of the outputs, with those elements that this graph explains as this graph has them.

        It explains numbers in the place of infinities and NaN, and differences within its own errors of rounding.
        """
        expected = self.outputs(inputs)
        rng = np.random.default_rng(0)
        runs = [self.outputs(inputs, rng) for _ in range(_RUNS)]
        return [
            _explained(a, b, [run[i] for run in runs]) for i, (a, b) in enumerate(zip(expected, values, strict=True))
        ]


def _value(variable: Any, values: Mapping[Variable, Any]) -> Any:
    return values[variable] if variable in values else variable.data  # noqa: SIM401  # only constants have data


def _rounded(value: Any, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    steps = rng.choice((-1.0, 1.0), size=value.shape) * np.finfo(value.dtype).eps
    return np.asarray(value * (1 + steps), dtype=value.dtype)


def _explained(expected: Any, values: Any, others: list[Any]) -> Any:
    arrays = [expected, values, *others]
    if (
        not all(isinstance(a, np.ndarray) and a.shape == expected.shape for a in arrays)
        or expected.dtype.kind not in "fc"
    ):
        return values
    with np.errstate(all="ignore"):
        distance = np.max([np.abs(other - expected) for other in others], axis=0)
        close = np.abs(values - expected) <= _MARGIN * distance
        unknown = ~np.isfinite(expected) | ~np.isfinite(distance)
    return np.asarray(np.where(close | (unknown & np.isfinite(values)), expected, values), dtype=values.dtype)
