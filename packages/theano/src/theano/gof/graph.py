"""Expressions: variables, nodes and walks over them."""

from typing import TYPE_CHECKING

from theano_graph import (
    Apply as Apply,
    Constant as Constant,
    Node as Node,
    NoParams as NoParams,
    Variable as Variable,
    as_string as _as_string,
    clone_get_equiv as clone_get_equiv,
    clone_graph,
    default_node_formatter as default_node_formatter,
    equal_computations as equal_computations,
    io_connection_pattern as io_connection_pattern,
    is_in_ancestors as _is_in_ancestors,
    is_same_graph as _is_same_graph,
    nodes_constructed as nodes_constructed,
    op_as_string as _op_as_string,
    sort_apply_nodes as sort_apply_nodes,
    view_roots as _view_roots,
)

from .._names import also_called, lazy_names
from ._walks import (
    ancestors as ancestors,
    general_toposort as general_toposort,
    inputs as inputs,
    io_toposort as io_toposort,
    list_of_nodes as list_of_nodes,
    ops as ops,
    orphans as orphans,
    stack_search as stack_search,
    variables as variables,
    variables_and_orphans as variables_and_orphans,
)

as_string = also_called(__name__, "as_string", _as_string, i="inputs", o="outputs")
clone = also_called(__name__, "clone", clone_graph, i="inputs", o="outputs")
is_in_ancestors = also_called(__name__, "is_in_ancestors", _is_in_ancestors, l_node="variable", f_node="node")
is_same_graph = also_called(__name__, "is_same_graph", _is_same_graph, var1="first", var2="second")
op_as_string = also_called(__name__, "op_as_string", _op_as_string, i="inputs", op="node")
view_roots = also_called(__name__, "view_roots", _view_roots, r="variable")

__all__ = [
    "Apply",
    "Constant",
    "NoParams",
    "Node",
    "Variable",
    "ancestors",
    "as_string",
    "clone",
    "clone_get_equiv",
    "default_node_formatter",
    "equal_computations",
    "general_toposort",
    "inputs",
    "io_connection_pattern",
    "io_toposort",
    "is_in_ancestors",
    "is_same_graph",
    "list_of_nodes",
    "nodes_constructed",
    "op_as_string",
    "ops",
    "orphans",
    "sort_apply_nodes",
    "stack_search",
    "variables",
    "variables_and_orphans",
    "view_roots",
]

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config

    from ..misc._tools import OrderedSet as OrderedSet
    from . import utils as utils
    from ._features import is_same_graph_with_merge as is_same_graph_with_merge
    from ._historical_utils import integer_types as integer_types, string_types as string_types
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "..misc._tools": "OrderedSet",
            "theano_graph": "config",
            "._features": "is_same_graph_with_merge",
            "._historical_utils": "integer_types string_types",
            "theano": "theano",
            ".": "utils",
        },
    )
