"""Configuration flags of the tensor layer. Public entry points read them, at the call."""

from __future__ import annotations

from theano_graph import BoolFlag, EnumFlag, IntFlag, add_flag, config


class Float64Watch:
    """The reaction to new variables of float64: the flag `warn_float64`, kept where each variable can ask.

    Attributes
    ----------
    action : str
    """

    def __init__(self) -> None:
        self.action = "ignore"

    def follow(self, action: str) -> None:
        """Take the value of the flag over."""
        self.action = action


float64_watch = Float64Watch()

add_flag(
    "cast_policy",
    "How dtypes of Python numbers are found: 'custom' takes the smallest that fits, "
    "'numpy+floatX' NumPy's, with floatX for floats.",
    EnumFlag("custom", "numpy+floatX"),
)
add_flag(
    "int_division",
    "The result of `T.int_or_true_div(x, y)` for two integers: 'int' divides as `//`, "
    "'floatX' gives floatX, 'raise' refuses.",
    EnumFlag("int", "raise", "floatX"),
)
add_flag(
    "warn_float64",
    "The reaction to a new float64 tensor variable: 'ignore', 'warn', 'raise' or 'pdb'.",
    EnumFlag("ignore", "warn", "raise", "pdb"),
    on_change=float64_watch.follow,
)
float64_watch.follow(config.warn_float64)
add_flag(
    "warn_integer_gradient",
    "Whether `grad` warns of a gradient that is zero because only integers lead from the variable to the cost.",
    BoolFlag(True),
)
add_flag(
    "tensor.cmp_sloppy",
    "How far apart nearly equal values may be: 0 allows little, 1 ten times and 2 a hundred times as much.",
    IntFlag(0, lambda level: level in (0, 1, 2)),
)
add_flag(
    "on_shape_error",
    "The reaction to a failing shape rule of an op: 'warn' and take the shape from the value, or 'raise' an error of "
    "the rewrite that asked, with which `on_opt_error` deals.",
    EnumFlag("warn", "raise"),
)
add_flag(
    "experimental.local_alloc_elemwise_assert",
    "Whether the rewrite `local_alloc_optimization`, by which a filled tensor gives way to its value, "
    "keeps mistakes in shapes visible. It then takes place only where the shapes are known to agree, so that no "
    "assertion is needed; with False also where they may differ, and nobody hears of it.",
    BoolFlag(True),
)
add_flag(
    "conv.assert_shape",
    "Whether convolutions check at run time that operands have the shapes that were given for them.",
    BoolFlag(False),
)
add_flag(
    "random.truncated_as_1_0",
    "Whether truncated normal draws of `MRG_RandomStreams` are those of Theano 1.0, whose last numbers are larger than "
    "the others.",
    BoolFlag(False),
)
