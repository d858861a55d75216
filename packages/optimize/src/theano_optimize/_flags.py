"""Flags of the rewriting layer, read by the public entry points of higher layers, which hand the values down."""

from __future__ import annotations

from theano_graph import BoolFlag, EnumFlag, StrFlag, add_flag

add_flag(
    "on_opt_error",
    "Reaction to a rewrite rule that fails: raise, warn and skip the rule, skip it silently, or enter the debugger.",
    EnumFlag("raise", "warn", "ignore", "pdb"),
)
add_flag("optimizer_verbose", "Print each rewrite as it happens.", BoolFlag(False))
add_flag(
    "optimizer_including",
    "Tags of rewrites that the default mode also includes, separated by ':'.",
    StrFlag(""),
    fixed=True,
)
add_flag(
    "optimizer_excluding",
    "Tags of rewrites that the default mode leaves out, separated by ':'.",
    StrFlag(""),
    fixed=True,
)
add_flag(
    "optimizer_requiring",
    "Tags that each rewrite of the default mode must have, separated by ':'.",
    StrFlag(""),
    fixed=True,
)
add_flag(
    "check_stack_trace",
    "Reaction to a node made by rewriting that does not name its origin: nothing is checked, it is marked "
    "with the rewrite (log), also with a warning (warn), or it is an error (raise).",
    EnumFlag("off", "log", "warn", "raise"),
)
