"""What an expression is: variables, nodes and walks over them."""

from theano_graph import (
    Apply as Apply,
    Constant as Constant,
    Node as Node,
    Variable as Variable,
    ancestors as ancestors,
    as_string as as_string,
    clone_get_equiv as clone_get_equiv,
    equal_computations as equal_computations,
    general_toposort as general_toposort,
    is_in_ancestors as is_in_ancestors,
    is_same_graph as is_same_graph,
    view_roots as view_roots,
)
