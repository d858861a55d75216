"""Write the page that follows an expression through every phase until it is a function: all of it is computed here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

import theano
import theano.tensor as T
from theano_graph import FunctionGraph
from theano_linker_c.kernels import file_text, kernel_source
from theano_optimize import (
    GraphRewriter,
    RewriteEvent,
    RewriteOptions,
    RewriteProfile,
    RewriteTrace,
    SequenceRewriter,
)

#: Name of a phase, its profile, the rules that fired, and the graph afterwards.
Phase: TypeAlias = tuple[str, RewriteProfile, list[RewriteEvent], str]

#: The purpose of phases, by the names that profiles print. A test holds that none that fires on the example is missing.
PHASES = {
    "merge1": "Computations that are equal become one, constants included.",
    "constants_first": "Numbers get the dtype of their operands.",
    "canonicalize": """Expressions become one form each, so that later rules need to know that form only: constants are
computed, signs move outwards, lengths are read from inputs instead of results, and arrays full of one value
(`second`, which gradients are full of) become that value.""",
    "stabilize": """Forms that lose digits or overflow are replaced by ones that do not. `log(1 + exp(z))` overflows for
z above 709; `softplus` does not. In the gradient, `exp(z) / (1 + exp(z))` is found to be `sigmoid(z)`.""",
    "BlasOpt": """Products, and the scalings and additions around them, become routines of BLAS. The whole update of
`w`, with the product in the gradient and the penalty's part, is one `Gemv`.""",
    "specialize": "Forms that are easy to reason about become forms that are fast to compute.",
    "elemwise_fusion": """Elementwise operations that follow each other become one op, `Composite`, whose kernel goes
over memory once; a following sum runs in the same loop.""",
}


class Followed(GraphRewriter):
    """The phases of a mode, each remembered: its profile, the rules that fired, and the graph afterwards.

    Parameters
    ----------
    phases : SequenceRewriter
    """

    def __init__(self, phases: SequenceRewriter) -> None:
        super().__init__("followed")
        self.phases = phases
        self.written = ""
        self.found: list[Phase] = []

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        """Run the phases."""
        full = RewriteProfile(self.name)
        self.written = graph_text(fgraph)
        for label, rewriter in zip(self.phases.labels, self.phases.rewriters, strict=True):
            trace = RewriteTrace(depth=4)
            profile = rewriter.run_timed(fgraph, RewriteOptions(trace=trace), label)
            full.add_part(profile)
            self.found.append((label, profile, trace.events, graph_text(fgraph)))
        return full


def training_step(mode: Any) -> Any:
    """Build the function that the page follows."""
    x, y = T.dmatrix("x"), T.dvector("y")
    w = theano.shared(np.zeros(3), name="w")
    z = T.dot(x, w)
    cost = T.sum(T.log(1 + T.exp(z)) - y * z) + 0.5 * T.sum(w**2)
    return theano.function([x, y], cost, updates=[(w, w - 0.001 * T.grad(cost, w))], profile=True, mode=mode)


def follow() -> tuple[Any, Followed]:
    """Return the function, and how it came about."""
    mode = theano.compile.get_mode("FAST_RUN")
    if not isinstance(mode.optimizer, SequenceRewriter):
        raise TypeError(f"the mode has no phases, but {mode.optimizer!r}")
    followed = Followed(mode.optimizer)
    return training_step(theano.Mode(mode.linker, followed)), followed


def made_page() -> str:
    """Return the page, made of a function that is built and called for it."""
    step, followed = follow()
    parts = [
        "# How a function is made\n",
        "This page follows one function from the expression that is written to the C code that runs. The function was",
        "built while the page was: graphs, equations, code and times below are its own.",
        "[architecture](../architecture.md) lists the packages and their tasks.\n",
        *_written(followed),
        *_rewritten(followed.found),
        *_overwriting(step),
        *_program(step),
        *_code(step),
        *_times(step, followed),
    ]
    return "\n".join(parts)


def graph_text(graph: FunctionGraph | Any) -> str:
    """Return a graph as `debugprint` prints it, without the names that spell out options that are off."""
    text = str(theano.printing.debugprint(graph, file="str", print_storage=False))
    return re.sub(r",no_inplace|\{no_inplace\}| ''", "", text).rstrip()


def _listing(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n"


def _written(followed: Followed) -> list[str]:
    body = inspect.cleandoc("\n".join(inspect.getsource(training_step).splitlines()[2:]))
    return [
        "## The expression as it is written\n",
        "A step of logistic regression, with a penalty on large weights: it returns the cost, and moves the weights",
        "against the gradient.\n",
        _listing("python", body.replace("return ", "step = ", 1).replace(", profile=True, mode=mode", "")),
        f"`T.grad` has added its part; altogether the graph has {followed.found[0][1].nodes_before} nodes. The second",
        "tree is the new value of `w`. A name in brackets (`[id C]`) stands for a node that was printed before.\n",
        _listing("text", followed.written),
    ]


def _rewritten(phases: list[Phase]) -> list[str]:
    lines = [
        "## Rewriting\n",
        f"A mode has phases, which run one after the other: {len(phases)} in the default mode. Phases that changed",
        "something to do are shown, with the graph that each left. Under a phase stand the rules that fired, where the",
        "phase records them, and their equations, if they are made of equations. [The list of rewrites](rewrites.md)",
        "has all rules; its second column has the names that are printed here (`merge_nodes` is merging itself).\n",
    ]
    idle = []
    for label, profile, events, after in phases:
        if not profile.changes:
            idle.append(f"`{label}`")
            continue
        lines += [f"### {label}\n", PHASES[label] + "\n"]
        lines.append(f"{profile.nodes_before} nodes became {profile.nodes_after}.\n")
        for name, equation in dict.fromkeys((event.rewriter, event.equation) for event in events):
            lines.append(f"- `{name}`" + (f": ``{equation}``" if equation else ""))
        if events:
            steps = "\n".join(f"{e.rewriter}\n    {e.before}\n  becomes\n    {e.after}\n" for e in events)
            lines += ["", _folded("each step", _listing("text", re.sub(r",no_inplace|\{no_inplace\}", "", steps)))]
        lines.append(_listing("text", after))
    lines.append(f"These phases looked and had nothing to do here: {', '.join(idle)}.\n")
    return lines


def _overwriting(step: Any) -> list[str]:
    with step.maker.decisions.withdrawn():
        before = {str(node) for node in step.maker.fgraph.toposort()}
    changed = [node for node in step.maker.fgraph.toposort() if str(node) not in before and "[(" in str(node.op)]
    rows = [f"- `{node.op}`: its result is put where its input {position(node)} was" for node in changed]
    return [
        "## Decisions about memory\n",
        "Which result may lie in the memory of which operand is decided when the program is made, once for all nodes",
        "([overwriting](../design/overwriting.md)). An operand qualifies if nothing reads it later; in the call the",
        "machine checks that nobody else holds the array. Nodes for which that is certain beforehand are printed with",
        "it, as `[(output, input)]`:\n",
        *rows,
        "\nThe update of `w` overwrites `w` itself (`Gemv{inplace}`), but only when the rest of the call has",
        "succeeded: the machine holds that instruction back to the end.\n",
        _listing("text", graph_text(step.maker.fgraph)),
    ]


def position(node: Any) -> str:
    """Return which input a node overwrites, as its op says."""
    ((match,),) = node.op.destroy_map.values()
    return str(match)


def _program(step: Any) -> list[str]:
    rows = [
        "| instruction | reads | writes | operands whose memory a result may take | releases | runs as |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    program = step.fn.program
    for instruction in program.instructions:
        form = type(instruction.kernel).__name__ if instruction.kernel is not None else type(instruction.form).__name__
        donors = tuple(dict.fromkeys(instruction.inputs[i] for options in instruction.donors for i in options))
        numbers = (instruction.inputs, instruction.outputs, donors, instruction.release)
        cells = [" ".join(map(str, values)) for values in numbers]
        held = ", at the end of the call" if instruction.waits is not None else ""
        op = re.sub(r",no_inplace|\{no_inplace\}", "", str(instruction.node.op))
        rows.append(f"| `{op}` | {' | '.join(cells)} | `{form}`{held} |")
    return [
        "## The program\n",
        f"The graph is lowered to a flat list of instructions over {program.n_registers} numbered registers. Memory",
        "released by an instruction is free for the next. Before a call, an operand qualifies as memory of a result",
        "if nothing reads it later; in the call the machine checks that nobody else holds the array.\n",
        *rows,
        "",
    ]


def kernels(step: Any) -> Iterator[tuple[str, str]]:
    """Yield the op and the C text of each kernel of a function for which there is generated code."""
    for instruction in step.fn.program.instructions:
        kernel = instruction.kernel
        source = kernel_source(kernel) if kernel is not None and kernel.needs_code else None
        if source is not None:
            yield re.sub(r",no_inplace", "", str(instruction.node.op)), file_text([source.render("kernel")])


def _code(step: Any) -> list[str]:
    generated = list(dict(kernels(step)).items())
    listings = [_folded(f"<code>{name}</code>", _listing("c", text)) for name, text in generated]
    return [
        "## The C that comes out\n",
        f"{len(listings)} kernels are generated for this function; products call BLAS, and transposes need no code.",
        "All that is not in the cache yet goes through one run of the compiler. The runtime goes over dimensions and",
        "threads and calls a kernel for each inner loop. Kernels call the functions `theano_run` and `theano_reduce`",
        "of the runtime back for strided operands and for the remainder of a vector.\n",
        *listings,
    ]


def _times(step: Any, followed: Followed) -> list[str]:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1000, 3))
    requested = (data @ [1.0, -2.0, 0.5] > 0).astype(float)
    for _ in range(200):
        step(data, requested)
    profile = step.profile
    full = sum(part.seconds for _, part, *_ in followed.found)
    rows = [f"| `{label}` | {part.seconds * 1e3:.2f} |" for label, part, *_ in followed.found if part.changes]
    return [
        "## Time and size\n",
        "| phase of rewriting | ms |",
        "| --- | ---: |",
        *rows,
        f"| **all of rewriting** | **{full * 1e3:.1f}** |",
        f"| **program and machine code** (from the cache, where it is there) | **{profile.linker_time * 1e3:.1f}** |",
        "",
        f"A call on 1000 examples took {profile.fct_call_time / profile.fct_callcount * 1e6:.0f} µs, measured over",
        f"{profile.fct_callcount} calls on the machine that built this page.\n",
    ]
