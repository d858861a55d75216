"""Flags that say how functions are compiled; read by `function` and by the modes, at the call."""

from __future__ import annotations

from theano_graph import BoolFlag, EnumFlag, StrFlag, add_flag

add_flag(
    "mode",
    "Mode used where `function` is given none: 'Mode' (the flags `linker` and `optimizer`), 'FAST_RUN', 'FAST_COMPILE' "
    "or another registered name.",
    StrFlag("Mode"),
)
add_flag(
    "linker",
    "What runs the functions of the default mode: 'cvm' (native code) or 'py' (Python); 'vm', 'c', 'c|py' and forms "
    "with '_nogc' are known too.",
    StrFlag("cvm"),
)
add_flag(
    "optimizer",
    "Which rewrites the default mode applies: 'fast_run', 'fast_compile', 'merge', 'o1' to 'o4', 'unsafe', 'stabilize' "
    "or 'None'.",
    StrFlag("fast_run"),
)
add_flag("allow_gc", "Free intermediate results as soon as they are no longer needed.", BoolFlag(True))
add_flag(
    "function_cache",
    "Keep rewritten functions on disk, beside their kernels, so that no other process has to rewrite them again.",
    BoolFlag(False),
)
add_flag(
    "tiered",
    "Let functions start before their kernels are compiled: calls run in Python until native code is there.",
    BoolFlag(False),
)
add_flag(
    "on_unused_input",
    "What `function` does with an input that nothing uses.",
    EnumFlag("raise", "warn", "ignore"),
)
add_flag(
    "reoptimize_unpickled_function",
    "Rewrite the graph of a function again when it is unpickled; otherwise the rewritten graph that was saved is used.",
    BoolFlag(False),
)
add_flag(
    "exception_verbosity",
    "How much errors of running functions tell: 'high' adds the graph above the failing node, and what is stored.",
    EnumFlag("low", "high"),
)
add_flag(
    "profile_optimizer",
    "Measure what each rewrite takes when a function is compiled, for the detailed part of its profile.",
    BoolFlag(False),
)
