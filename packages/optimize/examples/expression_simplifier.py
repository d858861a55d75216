"""A small algebra system: reads a formula, simplifies it with rules of its own, and prints it.

    python expression_simplifier.py "log(exp(x) * exp(y)) - (x + 0)" --trace

It uses only the graph and the rewriting layer: the types, the ops, the reader and the rules below are all there is.
"""

from __future__ import annotations

import argparse
import ast
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    SingletonType,
    TheanoError,
    Variable,
    general_toposort,
    graph_inputs,
    toposort,
)
from theano_optimize import (
    EquilibriumDatabase,
    MergeRewriter,
    PatternRewriter,
    Phase,
    RewriteTrace,
    SequenceDatabase,
    TransformResult,
    constant_folding,
    node_rewriter,
    profile_report,
)


class FormulaError(TheanoError, ValueError):
    """A formula that cannot be read."""


class Number(SingletonType):
    """Real numbers, as Python floats."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{value!r} is no number")
        return float(value)


NUMBER = Number()


class Function(Op):
    """A function of numbers with a name, a sign for printing and a way to compute it."""

    __props__ = ("name",)

    def __init__(self, name: str, arity: int, compute: Callable[..., float], *, commutative: bool = False) -> None:
        self.name = name
        self.arity = arity
        self.compute = compute
        self.commutative = commutative

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != self.arity:
            raise FormulaError(f"{self.name} takes {self.arity} arguments, got {len(inputs)}")
        return Apply(self, [NUMBER.filter_variable(i) for i in inputs], [NUMBER()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = self.compute(*inputs)


add = Function("+", 2, operator.add, commutative=True)
mul = Function("*", 2, operator.mul, commutative=True)
sub = Function("-", 2, operator.sub)
div = Function("/", 2, operator.truediv)
power = Function("**", 2, operator.pow)
neg = Function("neg", 1, operator.neg)
exp = Function("exp", 1, math.exp)
log = Function("log", 1, math.log)

OPERATORS: Mapping[type[ast.AST], Function] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: div,
    ast.Pow: power,
    ast.USub: neg,
}
FUNCTIONS = {"exp": exp, "log": log}


def read(formula: str) -> tuple[dict[str, Variable], Variable]:
    """Turn the text of a formula into its variables by name and the expression.

    Raises
    ------
    FormulaError
        If the text is no formula of the language.
    """
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise FormulaError(f"{formula[:60]!r} is no formula: {error}") from None
    variables: dict[str, Variable] = {}
    built: dict[ast.expr, Variable] = {}
    # A topological order in place of recursion: formulas may be deep.
    for node in general_toposort([tree], _parts):
        built[node] = _build(node, [built[part] for part in _parts(node)], variables)
    return variables, built[tree]


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that a piece of a formula consists of."""
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call():
            return node.args
        case _:
            return []


def _build(node: ast.expr, parts: Sequence[Variable], variables: dict[str, Variable]) -> Variable:
    """Return the expression for a piece of a formula, given those for its parts."""
    result: Variable
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            result = NUMBER.make_constant(node.value)
        case ast.Name(id=name):
            result = variables[name] if name in variables else variables.setdefault(name, NUMBER(name))
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) if type(op) in OPERATORS:
            result = OPERATORS[type(op)](*parts)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            result = FUNCTIONS[name](*parts)
        case _:
            raise FormulaError(f"{ast.unparse(node)!r} is not part of the language of formulas")
    return result


def write(variable: Variable) -> str:
    """Return the text of an expression, as Python reads it."""
    texts: dict[Variable, str] = {}
    for v in [variable, *graph_inputs([variable])]:
        texts[v] = repr(v.data).removesuffix(".0") if isinstance(v, Constant) else str(v)
    for node in toposort([], [variable]):
        parts = [texts[v] for v in node.inputs]
        if node.op == neg:
            text = f"(-{parts[0]})"
        elif node.op.name in FUNCTIONS:
            text = f"{node.op}({', '.join(parts)})"
        else:
            text = f"({parts[0]} {node.op} {parts[1]})"
        texts[node.outputs[0]] = text
    return texts[variable]


def is_constant(variable: Variable) -> bool:
    """Tell whether a variable is a constant, for guards."""
    return isinstance(variable, Constant)


@node_rewriter([mul])
def collect_equal_factors(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """Write x * x as x**2."""
    x, y = node.inputs
    return [power(x, 2)] if x is y else None


# Wildcards for rules that are written as two formulas.
x, y = NUMBER("x"), NUMBER("y")

CONSTANT = {"pattern": "c", "constraint": is_constant}

RULES = [
    PatternRewriter((add, "x", 0), "x", name="add_of_zero"),
    PatternRewriter((sub, "x", 0), "x", name="sub_of_zero"),
    PatternRewriter((sub, 0, "x"), (neg, "x"), name="zero_minus"),
    PatternRewriter((sub, "x", "x"), 0, name="sub_of_itself"),
    PatternRewriter((mul, "x", 1), "x", name="mul_of_one"),
    PatternRewriter(
        (mul, "x", 0), 0, name="mul_of_zero", exactness="fast", reference="wrong where x is infinite or nan"
    ),
    PatternRewriter((div, "x", 1), "x", name="div_of_one"),
    PatternRewriter(
        (div, (mul, "x", "y"), "y"), "x", name="div_of_product", exactness="fast", reference="wrong at y = 0"
    ),
    PatternRewriter((power, "x", 1), "x", name="power_of_one"),
    PatternRewriter((neg, (neg, "x")), "x", name="neg_of_neg"),
    PatternRewriter((add, "x", (neg, "y")), (sub, "x", "y"), name="add_of_neg"),
    PatternRewriter((sub, (add, "x", "y"), "y"), "x", name="sub_of_sum"),
    PatternRewriter.from_expressions(mul(exp(x), exp(y)), exp(add(x, y)), [x, y], name="product_of_exp"),
    PatternRewriter.from_expressions(log(exp(x)), x, [x], name="log_of_exp", exactness="stabilizing"),
    PatternRewriter(
        (add, (add, "x", CONSTANT), "y"),
        (add, (add, "x", "y"), "c"),
        name="constants_outwards",
        when=lambda x, c, y: not is_constant(y) and not is_constant(x),
    ),
    PatternRewriter(
        (add, (add, "x", CONSTANT), {"pattern": "d", "constraint": is_constant}),
        (add, "x", (add, "c", "d")),
        name="add_of_constants",
        when=lambda x, c, d: not is_constant(x),
    ),
]


def build_database() -> SequenceDatabase:
    """Return the database of the rules above: merge, then simplify until nothing changes."""
    simplify = EquilibriumDatabase("simplify")
    simplify.register("constant_folding", constant_folding, "simplify")
    for rule in RULES:
        simplify.register(rule.name, rule, "simplify")
    simplify.register("collect_equal_factors", collect_equal_factors, "simplify")
    simplify.register("merge_again", MergeRewriter(), "simplify")
    database = SequenceDatabase("formulas")
    database.register("merge", MergeRewriter(), "simplify", position=Phase.MERGE)
    database.register("rules", simplify, "simplify", position=Phase.CANONICALIZE)
    return database


def simplify(
    formula: str, *tags: str, trace: RewriteTrace | None = None, report: Callable[[str], object] | None = None
) -> str:
    """Return a simpler text for a formula.

    Parameters
    ----------
    formula : str
    *tags : str
        Further tags of rules: "fast" for rules that hold almost everywhere, "-name" to leave one out.
    trace : RewriteTrace, optional
        Records the rules that fire.
    report : callable, optional
        Called with the report on times.

    Raises
    ------
    FormulaError
        If the text is no formula of the language.

    Examples
    --------
    >>> simplify("log(exp(x) * exp(y)) - (x + 0)")
    'y'
    """
    variables, expression = read(formula)
    fgraph = FunctionGraph(list(variables.values()), [expression])
    profile = build_database().query("simplify", *tags).rewrite(fgraph, trace=trace, details=report is not None)
    if report is not None:
        report(profile_report(profile))
    return write(fgraph.outputs[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Simplify a formula.")
    parser.add_argument("formula", help='for instance "x * 1 + 0"')
    parser.add_argument("--fast", action="store_true", help="use rules that hold almost everywhere, too")
    parser.add_argument("--without", metavar="RULE", action="append", default=[], help="leave a rule out")
    parser.add_argument("--trace", action="store_true", help="print each rewrite")
    parser.add_argument("--profile", action="store_true", help="print the time of each part")
    options = parser.parse_args(arguments)
    trace = RewriteTrace(stream=sys.stdout) if options.trace else None
    tags = ["fast"] * options.fast + [f"-{name}" for name in options.without]
    try:
        print(simplify(options.formula, *tags, trace=trace, report=print if options.profile else None))
    except FormulaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
