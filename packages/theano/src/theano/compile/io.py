"""What the inputs and outputs of a function may say."""

from theano_linker_c import (
    In as In,
    Out as Out,
    SharedVariable as SharedVariable,
)

SymbolicInput = In
SymbolicOutput = Out
