"""Flags of profiling."""

from __future__ import annotations

from theano_graph import BoolFlag, IntFlag, StrFlag, add_flag

add_flag("profile", "Profile all functions, and print the profiles when the program ends.", BoolFlag(False))
add_flag("profile_memory", "With `profile`: also measure the memory of results.", BoolFlag(False))
add_flag("profiling.n_apply", "How many nodes a profile lists.", IntFlag(20, lambda n: n >= 0))
add_flag("profiling.n_ops", "How many ops a profile lists.", IntFlag(20, lambda n: n >= 0))
add_flag("profiling.output_line_width", "Longest line of a profile.", IntFlag(512, lambda n: n > 0))
add_flag(
    "profiling.min_memory_size",
    "Nodes whose results take fewer bytes are left out of the memory profile.",
    IntFlag(1024, lambda n: n >= 0),
)
add_flag(
    "profiling.min_peak_memory",
    "Whether the memory profile says how little memory another order of the nodes would need.",
    BoolFlag(False),
)
add_flag(
    "profiling.destination",
    "Where profiles are printed when the program ends: 'stderr', 'stdout', or the name of a file to write.",
    StrFlag("stderr"),
)
add_flag("profiling.debugprint", "Print the graphs of profiled functions with their profiles.", BoolFlag(False))
add_flag("profiling.ignore_first_call", "Leave the first call of each function out of its profile.", BoolFlag(False))
