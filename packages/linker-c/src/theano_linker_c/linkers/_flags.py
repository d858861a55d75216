"""Flags of linkers."""

from __future__ import annotations

from theano_graph import EnumFlag, add_flag

add_flag(
    "vm.lazy",
    "Whether machines made by `VM_Linker` leave out inputs that lazy operations such as ifelse do not ask for: True, "
    "False, or None, which means yes.",
    EnumFlag("None", "True", "False"),
)
