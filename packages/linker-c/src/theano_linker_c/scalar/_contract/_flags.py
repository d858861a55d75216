"""The configuration flag of scalars. It is read when an op is applied."""

from __future__ import annotations

from theano_graph import EnumFlag, add_flag

add_flag(
    "floatX",
    "Default floating-point dtype: of constructors without a dtype, of Python floats, and of quotients of integers.",
    EnumFlag("float64", "float32", "float16"),
)
