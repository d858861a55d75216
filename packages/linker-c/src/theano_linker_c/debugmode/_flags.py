"""Flags of DebugMode."""

from __future__ import annotations

from theano_graph import BoolFlag, IntFlag, StrFlag, add_flag

from ._layouts import LAYOUTS

add_flag(
    "DebugMode.patience",
    "How many times DebugMode rewrites a graph to see that the same is done each time.",
    IntFlag(10, lambda n: n >= 0),
)
add_flag("DebugMode.check_c", "Whether DebugMode runs native code.", BoolFlag(True))
add_flag("DebugMode.check_py", "Whether DebugMode runs the Python code of ops.", BoolFlag(True))
add_flag("DebugMode.check_finite", "Whether DebugMode minds NaN and infinities.", BoolFlag(True))
add_flag(
    "DebugMode.check_strides",
    "DebugMode's reaction to results of native code and of Python code with different strides: 0 nothing, 1 a "
    "warning, 2 an error.",
    IntFlag(1, lambda n: n in (0, 1, 2)),
)
add_flag(
    "DebugMode.warn_input_not_reused",
    "Whether DebugMode warns of ops that say they use the memory of an input and do not.",
    BoolFlag(True),
)
add_flag(
    "DebugMode.check_preallocated_output",
    f"In which memory DebugMode has ops put their results, joined by ':': {', '.join(LAYOUTS)}, or ALL. Empty: none.",
    StrFlag("", lambda text: all(name in (*LAYOUTS, "ALL", "") for name in text.split(":"))),
)
add_flag(
    "DebugMode.check_preallocated_output_ndim",
    "For how many of the innermost axes 'strided' memory takes all combinations of strides.",
    IntFlag(4, lambda n: n > 0),
)
