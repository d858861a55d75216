"""Random graphs of the whole tensor language, computed in three ways that have to agree.

A graph is computed as written by the Python machine, rewritten and compiled by the native one (and, in turns, in other
modes), and by NumPy. ``python -m theano_testing_workshop.fuzz`` runs it; what differs is shrunk and printed as a
program. Ops of one's own join in by a :class:`Grammar`, through the records that they have for their tests.

Examples
--------
>>> from theano_testing_workshop.fuzz import NATIVE, Grammar, Tally, compare_batch, generate
>>> grammar = Grammar()
>>> compare_batch([generate(seed, grammar.operations) for seed in range(3)], [NATIVE], Tally())
[]
"""

from ._comparison._batch import Failure as Failure, compare_batch as compare_batch
from ._comparison._judge import Difference as Difference, Tally as Tally, judge as judge
from ._comparison._modes import (
    CAPTURED as CAPTURED,
    EXPORTED as EXPORTED,
    NATIVE as NATIVE,
    PLAIN as PLAIN,
    VARIANTS as VARIANTS,
    VECTORIZED as VECTORIZED,
    Configuration as Configuration,
)
from ._comparison._perturb import Perturbed as Perturbed
from ._comparison._printing import as_source as as_source
from ._comparison._shrink import check as check, shrink as shrink
from ._generate import Refusals as Refusals, generate as generate
from ._operations._grammar import Grammar as Grammar
from ._operations._inner import chosen_pair as chosen_pair, graph_op as graph_op
from ._operations._loops import loop as loop, loop_of_loops as loop_of_loops
from ._operations._memory import bump as bump, spoil as spoil
from ._operations._positions import inc_at as inc_at, read_at as read_at, set_at as set_at
from ._operations._sparse import of_sparse as of_sparse
from ._programs._draw import Draw as Draw, NoOperands as NoOperands
from ._programs._program import (
    OVERLAPS as OVERLAPS,
    Built as Built,
    Leaf as Leaf,
    Memory as Memory,
    Node as Node,
    Operation as Operation,
    Program as Program,
    Unbuildable as Unbuildable,
    build as build,
    evaluate as evaluate,
)
from ._workers import Found as Found, Report as Report, fuzz as fuzz

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
