"""A rewrite of single nodes that Theano registered for changes of lists."""

from theano_graph import Apply, Variable
from theano_tensor.typed_list import Append, Extend, Insert, Remove, Reverse

from ..gof.opt import local_optimizer


@local_optimizer([Append, Extend, Insert, Reverse, Remove], inplace=True)
def typed_list_inplace_opt(node: Apply) -> list[Variable] | bool:
    """Change a list where it is instead of a copy."""
    op = node.op
    if not isinstance(op, (Append, Extend, Insert, Reverse, Remove)) or op.inplace:
        return False
    return [type(op)(inplace=True)(*node.inputs)]
