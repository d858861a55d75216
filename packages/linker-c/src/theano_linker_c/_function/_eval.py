"""The code behind `Variable.eval`."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from theano_graph import Variable, format_error

from ._api import function
from ._calling._callable import Function
from ._signature._errors import FunctionInputError


class EvalCache:
    """Compiled functions for :meth:`Variable.eval`, kept as long as the variables that they compute.

    One variable may be evaluated with different sets of inputs; the function for each set is kept, up to `bound`.
    """

    def __init__(self, bound: int = 8) -> None:
        self._bound = bound
        self._functions: weakref.WeakKeyDictionary[Variable, dict[tuple[int, ...], Function]] = (
            weakref.WeakKeyDictionary()
        )

    def clear(self) -> None:
        """Forget all functions."""
        self._functions.clear()

    def functions_of(self, variable: Variable) -> list[Function]:
        """Return the functions that are kept for a variable."""
        return list(self._functions.get(variable, {}).values())

    def table_of(self, variable: Variable) -> dict[tuple[int, ...], Function] | None:
        """Return the cache of a variable; None where it has not been evaluated."""
        return self._functions.get(variable)

    def evaluate(self, variable: Variable, inputs_to_values: Mapping[Any, Any]) -> Any:
        """Return the value of `variable` for the given values of its inputs.

        Raises
        ------
        TypeError
            If a key of the mapping is not a variable.
        """
        for key in inputs_to_values:
            if not isinstance(key, Variable):
                raise FunctionInputError(
                    format_error(
                        f"eval: the inputs are given by variable, not by {key!r} ({type(key).__name__})",
                        hint="write `z.eval({x: 1.0, y: 2.0})` with the variables themselves as keys.",
                    )
                )
        inputs = list(inputs_to_values)
        # A function holds its inputs, so an id in a key cannot come to mean another variable.
        key = tuple(id(v) for v in inputs)
        functions = self._functions.setdefault(variable, {})
        fn = functions.get(key)
        if fn is None:
            if len(functions) >= self._bound:
                functions.pop(next(iter(functions)))
            fn = functions[key] = function(inputs, variable)
        return fn(*inputs_to_values.values())


eval_cache = EvalCache()
