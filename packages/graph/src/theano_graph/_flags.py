"""The flags of this layer, and the test values that one of them asks for."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ._config import add_flag, config
from ._errors import MissingTestValueError, TheanoError, WrongTestValueError, format_error, warn_user
from ._expression._nodes import Apply, Constant, Variable, describe
from ._expression._op import call_make_thunk, construction_hook, has_own_thunk, set_construction_hook
from ._expression._origin import set_frame_limit, set_internal_limit
from ._expression._type import NoParams
from ._flag_kinds import BoolFlag, EnumFlag, FlagKind, IntFlag
from ._traversal._walk import general_toposort

# ---- Test values: graphs computed as they are built, so that errors appear at the user's line


def get_test_value(variable: Variable) -> Any:
    """Return the value that stands for `variable` while its graph is built.

    Parameters
    ----------
    variable : Variable
        A constant gives its data, a variable that holds a value (it has ``get_value``) that value, any other
        its ``tag.test_value``, filtered by its type.

    Raises
    ------
    MissingTestValueError
        If there is none, or the type refuses it.

    Examples
    --------
    >>> from theano_graph import generic, warn_user
    >>> x = generic("x")
    >>> x.tag.test_value = 3
    >>> get_test_value(x)
    3
    """
    if isinstance(variable, Constant):
        return variable.data
    if variable.has_tag() and hasattr(variable.tag, "test_value"):
        try:
            return variable.type.filter(variable.tag.test_value)
        except (TypeError, ValueError) as error:
            raise WrongTestValueError(
                format_error(
                    f"the test value of `{variable}` does not fit its type: {error}",
                    context=[describe(variable)],
                    hint=f"give {variable}.tag.test_value a value of type {variable.type.describe()}",
                )
            ) from error
    held: Any = getattr(variable, "get_value", None)
    if held is not None:
        return variable.type.filter(held())
    raise MissingTestValueError(
        format_error(
            f"Cannot compute test value, missing default value: `{variable}` has no test value",
            context=[describe(variable)],
            hint=f"set {variable}.tag.test_value, or compute_test_value=off",
        )
    )


def compute_test_values(node: Apply) -> None:
    """Give each output of `node` a test value, computed by its op from those of its inputs.

    The flag ``compute_test_value`` decides about an input without one: the node is left out silently
    (ignore), with a warning (warn), an error is raised (raise), or a debugger is entered before the error (pdb).

    Raises
    ------
    MissingTestValueError
        In the modes raise and pdb.
    Exception
        Any error of the op on the values, with the op and its operands in the text.
    """
    mode = config.compute_test_value
    try:
        for pending in general_toposort([node], _without_values):
            _compute(pending)
    except MissingTestValueError as error:
        if mode == "ignore":
            return
        if mode == "warn":
            text = f"{node.op} is left out of the test: {error}"
            if node.origin is None:
                warn_user(text)
            else:
                warnings.warn_explicit(text, UserWarning, node.origin.filename, node.origin.lineno)
            return
        if mode == "pdb":
            breakpoint()  # the purpose of this mode
        raise


def _without_values(node: Apply) -> list[Apply]:
    """Return the nodes of operands without a test value: nodes that were not made by calling their op."""
    return [v.owner for v in node.inputs if v.owner is not None and not (v.has_tag() and hasattr(v.tag, "test_value"))]


def _compute(node: Apply) -> None:
    values = [get_test_value(variable) for variable in node.inputs]
    # Operands that the op overwrites may belong to the user, or to other nodes.
    for destroyed in node.op.destroy_map.values():
        for i in destroyed:
            values[i] = copy.deepcopy(values[i])
    try:
        for output, value in zip(node.outputs, _results(node, values), strict=True):
            output.tag.test_value = output.type.filter(value)
    except Exception as error:
        if config.compute_test_value == "pdb":
            breakpoint()
        raise _explained(error, node) from error


def _results(node: Apply, values: list[Any]) -> list[Any]:
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    if has_own_thunk(node.op):
        cells = {v: [value] for v, value in zip(node.inputs, values, strict=True)}
        cells.update(zip(node.outputs, storage, strict=True))
        computed = {v: [v.owner is not node] for v in cells}
        call_make_thunk(node, cells, computed)()
    else:
        params = node.run_params()
        node.op.perform(node, values, storage, *(() if params is NoParams else (params,)))
    return [cell[0] for cell in storage]


def _explained(error: Exception, node: Apply) -> Exception:
    """Return an exception of the same kind that names the op, its operands and where it was applied."""
    where = [] if node.origin is None else [f"applied at {node.origin}"]
    text = format_error(
        f"{node.op} failed on test values: {error}",
        context=where + [f"input {i}, {describe(v)}" for i, v in enumerate(node.inputs)],
        hint=None if "Hint:" in str(error) else "correct the expression, or the test values of its inputs",
    )
    try:
        return type(error)(text)
    except TypeError:  # a class that wants other arguments
        return TestComputationError(text)


class TestComputationError(TheanoError):
    """An op failed on test values with an exception that cannot carry our text; that one is the cause."""

    __test__ = False  # no test class, for any collector


# ---- The flags of this layer


def _switch_test_values(mode: str) -> None:
    if mode != "off":
        set_construction_hook(compute_test_values)
    elif construction_hook() in (compute_test_values, _at_first_node):
        set_construction_hook(None)


def _at_first_node(node: Apply) -> None:
    """Find out whether test values are wanted from the start; steps aside when they are not."""
    set_construction_hook(None)
    if config.compute_test_value != "off":
        compute_test_values(node)


class SeedFlag(FlagKind[str]):
    """A number from 0 to 2**32 - 1, or the word random."""

    allowed = "a number from 0 to 4294967295, or 'random'"

    def parse(self, value: Any) -> str:
        """Return the text of `value`."""
        return value if value == "random" else str(int(value))


add_flag(
    "unittests.rseed",
    "Seed of the random numbers in tests that ask `fetch_seed` for one; 'random' draws another one each time",
    SeedFlag("666", lambda text: text == "random" or 0 <= int(text) < 2**32),
)
add_flag(
    "compute_test_value",
    "Whether applying an op computes test values at once, and the reaction to an input without one",
    EnumFlag("off", "ignore", "warn", "raise", "pdb"),
    on_change=_switch_test_values,
)
add_flag(
    "compute_test_value_opt",
    "As compute_test_value, while graphs are rewritten",
    EnumFlag("off", "ignore", "warn", "raise", "pdb"),
)
add_flag("print_test_value", "Whether the repr of a variable shows its test value", BoolFlag(False))
add_flag(
    "traceback.limit",
    "Number of frames of the user's program kept with each variable",
    IntFlag(8, lambda limit: limit >= 0),
    on_change=set_frame_limit,
)
add_flag(
    "traceback.compile_limit",
    "Number of the library's own frames kept with variables that it makes while a function is compiled",
    IntFlag(0, lambda limit: limit >= 0),
    on_change=set_internal_limit,
)
add_flag(
    "traceback.frames",
    "Whether tracebacks that end a program or a cell show the library's own frames",
    BoolFlag(False),
)


def _frame_limits() -> int:
    set_internal_limit(config.traceback.compile_limit)
    return int(config.traceback.limit)


set_frame_limit(None, _frame_limits)
set_construction_hook(_at_first_node)
