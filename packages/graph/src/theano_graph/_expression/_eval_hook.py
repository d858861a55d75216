"""What runs behind `Variable.eval`: a layer above says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._nodes import Variable


class _EvalHook:
    """Holder of the function behind :meth:`Variable.eval`; one object so that a layer above can set it once."""

    function: Callable[[Variable, Mapping[Any, Any]], Any] | None = None
    functions: Callable[[Variable], Any] | None = None


eval_hook = _EvalHook()


def set_eval_hook(
    function: Callable[[Variable, Mapping[Any, Any]], Any], functions: Callable[[Variable], Any] | None = None
) -> None:
    """Say what runs behind :meth:`Variable.eval`; called once by the layer that compiles graphs.

    Parameters
    ----------
    function : callable
        Evaluates a variable for given values.
    functions : callable, optional
        Returns the functions that are kept for a variable, None where it has not been evaluated.
    """
    eval_hook.function = function
    eval_hook.functions = functions
