"""Random graphs of the whole tensor language, computed in three ways that have to agree.

A graph is computed as written by the Python machine, rewritten and compiled by the native one (and, in turns, in other
modes), and by NumPy. ``python -m theano_testing_workshop.fuzz`` runs it; a difference is shrunk and printed as a
program. Ops of one's own join in by a :class:`Grammar`, through the records that they have for their tests.

Examples
--------
>>> from theano_testing_workshop.fuzz import NATIVE, Grammar, Tally, compare_batch, generate
>>> grammar = Grammar()
>>> compare_batch([generate(seed, grammar.operations) for seed in range(3)], [NATIVE], Tally())
[]
"""

from ._comparison._batch import (
    CAPTURED,
    EXPORTED,
    NATIVE,
    PLAIN,
    VARIANTS,
    VECTORIZED,
    Configuration,
    Failure,
    compare_batch,
)
from ._comparison._judge import Difference, Tally, judge
from ._comparison._perturb import Perturbed
from ._comparison._shrink import as_source, check, shrink
from ._draw import Draw, NoOperands
from ._operations._grammar import Grammar
from ._operations._indices import inc_at, read_at, set_at
from ._operations._loops import chosen_pair, graph_op, loop, loop_of_loops
from ._operations._matrices import of_sparse
from ._operations._memory import bump, spoil
from ._program import OVERLAPS, Built, Leaf, Memory, Node, Operation, Program, Unbuildable, build, evaluate
from ._workers import Found, Refusals, Report, fuzz, generate

__all__ = [
    "CAPTURED",
    "EXPORTED",
    "NATIVE",
    "OVERLAPS",
    "PLAIN",
    "VARIANTS",
    "VECTORIZED",
    "Built",
    "Configuration",
    "Difference",
    "Draw",
    "Failure",
    "Found",
    "Grammar",
    "Leaf",
    "Memory",
    "NoOperands",
    "Node",
    "Operation",
    "Perturbed",
    "Program",
    "Refusals",
    "Report",
    "Tally",
    "Unbuildable",
    "as_source",
    "build",
    "bump",
    "check",
    "compare_batch",
    "evaluate",
    "fuzz",
    "generate",
    "judge",
    "of_sparse",
    "set_at",
    "read_at",
    "inc_at",
    "loop_of_loops",
    "loop",
    "graph_op",
    "chosen_pair",
    "shrink",
    "spoil",
]
