"""Flags that say how functions are compiled; read by `function` and by the modes, at the call."""

from __future__ import annotations

from typing import Any

from theano_graph import BoolFlag, EnumFlag, FlagKind, StrFlag, add_flag

#: The value of `function_cache` with which only functions are cached that take long to rewrite.
LARGE = "large"


class FunctionCacheFlag(FlagKind["bool | str"]):
    """Which functions are cached on disk: all, none, or those of large graphs."""

    allowed = f"True, False or {LARGE!r}"
    #: The type of its values, as programs write it.
    value_type = "bool | str"

    def parse(self, value: Any) -> bool | str:
        """Return the truth value that `value` spells, or the word for large graphs."""
        return LARGE if value == LARGE else BoolFlag(False).parse(value)


add_flag(
    "mode",
    "Mode used where `function` is given none: 'Mode' (the flags `linker` and `optimizer`), 'FAST_RUN', 'FAST_COMPILE' "
    "or another registered name.",
    StrFlag("Mode"),
)
add_flag(
    "linker",
    "The linker of the default mode: 'cvm' (native code) or 'py' (Python); 'vm', 'c', 'c|py' and forms "
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
    "Which functions are kept on disk, beside their kernels, so that no other process has to rewrite them again: all "
    "(True), none (False), or those of large graphs.",
    FunctionCacheFlag(LARGE),
)
add_flag(
    "tiered",
    "Let functions start before their kernels are compiled: calls run in Python until native code is there.",
    BoolFlag(False),
)
add_flag(
    "on_unused_input",
    "The reaction of `function` to an input that nothing uses.",
    EnumFlag("raise", "warn", "ignore"),
)
add_flag(
    "reoptimize_unpickled_function",
    "Rewrite the graph of a function again when it is unpickled; otherwise the rewritten graph that was saved is used.",
    BoolFlag(False),
)
add_flag(
    "exception_verbosity",
    "The detail of errors of running functions: 'high' adds the graph above the failing node, and stored values.",
    EnumFlag("low", "high"),
)
add_flag(
    "profile_optimizer",
    "Measure the time of each rewrite when a function is compiled, for the detailed part of its profile.",
    BoolFlag(False),
)
