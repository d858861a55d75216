"""Rewrites of graphs."""

from ..gof._historical_rewrites import (
    check_chain as check_chain,
    inherit_stack_trace as inherit_stack_trace,
    is_same_graph_with_merge as is_same_graph_with_merge,
    pre_constant_merge as pre_constant_merge,
    pre_greedy_local_optimizer as pre_greedy_local_optimizer,
)
from ..gof.opt import *
