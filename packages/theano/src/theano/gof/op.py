"""The base class of ops."""

from theano_graph import (
    Op as Op,
    get_test_value as get_test_value,
)
from theano_linker_c.cop import COp as COp, OpenMPOp as OpenMPOp

#: Every op may have C code, and none has to.
PureOp = Op
CLinkerOp = Op
