"""A build system on the graph layer: files are variables, tools are ops, and a build is a graph of them.

There are no arrays here. The program declares two types and three ops, makes a graph, removes repeated work, and runs
the rest with an interpreter of ten lines:

    python build_rules.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, Feature, FunctionGraph, InconsistencyError, Op, SingletonType, Type, Variable


class Text(SingletonType):
    """The contents of a source file."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> str:
        if not isinstance(value, str):
            raise TypeError(f"a source file holds text, not {value!r}")
        return value


class Words(SingletonType):
    """The output of the compiler: a tuple of words."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> tuple[str, ...]:
        if not isinstance(value, tuple):
            raise TypeError(f"an object file holds a tuple of words, not {value!r}")
        return value


text: Type = Text()
words: Type = Words()


class Compile(Op):
    """Splits a source into words; `upper` is the optimisation flag of this compiler."""

    __props__ = ("upper",)
    itypes = (text,)
    otypes = (words,)

    def __init__(self, upper: bool = False) -> None:
        self.upper = upper

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        source: str = inputs[0]
        output_storage[0][0] = tuple((source.upper() if self.upper else source).split())


class Link(Op):
    """Joins any number of object files, in order."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [words.filter_variable(v) for v in inputs], [words.make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = tuple(word for part in inputs for word in part)


class Count(Op):
    """Counts the words of a program."""

    __props__ = ()
    itypes = (words,)
    otypes = (text,)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = f"{len(inputs[0])} words"


class LimitedSteps(Feature):
    """Refuses builds with too many steps."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def validate(self, fgraph: FunctionGraph) -> None:
        if len(fgraph) > self.limit:
            raise InconsistencyError(f"the build has {len(fgraph)} steps, {self.limit} are allowed")


def run(fgraph: FunctionGraph, values: Mapping[Variable, Any]) -> list[Any]:
    """Build all outputs: the interpreter."""
    known = dict(values)
    known.update((v, v.data) for v in fgraph.variables if isinstance(v, Constant))
    for node in fgraph.toposort():
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, [known[v] for v in node.inputs], storage)
        known.update((v, v.type.filter(cell[0])) for v, cell in zip(node.outputs, storage, strict=True))
    return [known[v] for v in fgraph.outputs]


def share_equal_steps(fgraph: FunctionGraph) -> int:
    """Let equal steps on the same files be done once; return how many were saved."""
    first: dict[Any, Apply] = {}
    before = len(fgraph)
    for node in fgraph.toposort():
        same = first.setdefault((node.op, tuple(node.inputs)), node)
        if same is not node:
            fgraph.replace_all(zip(node.outputs, same.outputs, strict=True), reason="share_equal_steps")
    return before - len(fgraph)


def main() -> None:
    """Build a program from two sources and a constant one."""
    compile_, link, count = Compile(), Link(), Count()
    main_c, util_c = text("main.c"), text("util.c")
    program = link(compile_(main_c), compile_(util_c), compile_("return 0"))
    report = count(link(compile_(main_c), compile_(util_c)))
    fgraph = FunctionGraph([main_c, util_c], [program, report])
    print("graph: ", fgraph)
    print("saved: ", share_equal_steps(fgraph), "steps of", len(fgraph) + 2)
    for result in run(fgraph, dict(zip(fgraph.inputs, ["call util", "print hello"], strict=True))):
        print("built: ", result)


if __name__ == "__main__":
    main()
