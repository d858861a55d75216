"""Flags of linkers."""

from __future__ import annotations

from theano_graph import EnumFlag, add_flag

add_flag(
    "vm.lazy",
    "Whether machines made by `VM_Linker` leave out inputs that lazy operations such as ifelse do not ask for: True, "
    "False, or None, which means yes.",
    EnumFlag("None", "True", "False"),
)
add_flag(
    "vm.function_code",
    "Which functions are compiled as one C function for the shapes of their arguments: 'busy' ones, in the background "
    "while they run on the machine; 'all', after their first call; or 'none'.",
    EnumFlag("busy", "all", "none"),
)
