"""Configuration flags of the layer of loops; `scan` reads them, when it is called."""

from __future__ import annotations

from theano_graph import BoolFlag, EnumFlag, add_flag

add_flag(
    "scan.allow_gc",
    "Whether a loop frees intermediate results after each step, rather than keep their memory for the next one.",
    BoolFlag(False),
)
add_flag(
    "scan.allow_output_prealloc",
    "Whether a loop makes the memory of its outputs before the second step, rather than gather the steps at the end.",
    BoolFlag(True),
)
add_flag(
    "scan.debug", "Whether `scan` prints, on the standard error, the step of each loop that it makes.", BoolFlag(False)
)
add_flag(
    "scan.loop_code",
    "Which loops are compiled as one function for the shapes that they run with: 'busy' ones, in the background while "
    "they run on the machine; 'all', before their first run; or 'none'.",
    EnumFlag("busy", "all", "none"),
)
