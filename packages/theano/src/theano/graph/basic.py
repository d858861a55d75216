"""Expressions: variables, nodes and walks over them."""

from theano_graph import (
    applys_between as applys_between,
    graph_inputs as graph_inputs,
    orphans_between as orphans_between,
    variables_between as variables_between,
)

from ..gof._walks import walk as walk
from ..gof.graph import *

vars_between = variables_between
