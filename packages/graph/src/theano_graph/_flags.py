"""The flags of this layer."""

from __future__ import annotations

from typing import Any

from ._configuration._config import add_flag, config
from ._configuration._kinds import BoolFlag, EnumFlag, FlagKind, IntFlag
from ._expression._nodes import Apply
from ._expression._op import construction_hook, set_construction_hook
from ._expression._origin import set_frame_limit, set_internal_limit
from ._test_values import compute_test_values


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
    "Whether applying an op computes test values at once, and what happens when an input has none",
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
