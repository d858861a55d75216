"""Flags of linkers."""

from __future__ import annotations

from theano_graph import EnumFlag, add_flag

add_flag(
    "vm.lazy",
    "Whether machines made by `VM_Linker` leave out what operations such as ifelse do not ask for: True, False, or None "
    "for yes where there is such an operation.",
    EnumFlag("None", "True", "False"),
)
