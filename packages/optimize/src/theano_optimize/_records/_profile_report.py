"""The report on rewriting that profiles of compiled functions print.

The manual documents its lines; tools read them. Kinds of rewriters appear under the names that it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._profile import RewriteDetails, RewriteProfile, RewriteRound

#: Classes and what the report calls them; others go by their own name.
SHOWN_KINDS = {
    "SequenceRewriter": "SeqOptimizer",
    "EquilibriumRewriter": "EquilibriumOptimizer",
    "WalkRewriter": "TopoOptimizer",
    "MergeRewriter": "MergeOptimizer",
    "FunctionGraphRewriter": "FromFunctionOptimizer",
}

#: Of each round, as many rules are listed.
SHOWN_RULES = 5


def profile_report(profile: RewriteProfile) -> str:
    """Return the detailed report on a run of rewriting: for each rewriter what it did and what took the time.

    Parameters
    ----------
    profile : RewriteProfile
        From ``rewriter.rewrite(fgraph, details=True)``. Without details, what was not measured shows as 0.

    Examples
    --------
    >>> print(profile_report(RewriteProfile("nothing", kind="WalkRewriter")).splitlines()[0])
    Optimizer Profile
    """
    return "\n".join(["Optimizer Profile", "-----------------", *block_lines(profile)])


def shown_kind(profile: RewriteProfile) -> str:
    """Return what the report calls the class of the rewriter."""
    return SHOWN_KINDS.get(profile.kind, profile.kind or "Optimizer")


def block_lines(profile: RewriteProfile, level: int = 0) -> list[str]:
    """Return the lines about one rewriter and its parts, indented by `level` steps."""
    lines = _BLOCKS.get(shown_kind(profile), _other)(profile, level)
    return ["  " * level + line if line else line for line in lines]


def _sequence(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    gap = "      " if level else "  "
    yield (
        f"SeqOptimizer{gap}{profile.name}  time {profile.seconds:.3f}s "
        f"for {profile.nodes_before}/{profile.nodes_after} nodes before/after optimization"
    )
    yield f"  {details.validate_seconds:.3f}s for fgraph.validate()"
    yield f"  {details.callback_seconds:.3f}s for callback"
    yield "time      - (name, class, index) - validate time"
    for part in sorted(profile.parts, key=lambda p: -p.seconds):
        validate = part.details.validate_seconds if part.details is not None else 0.0
        yield f"{part.seconds:.6f}s - ('{part.name}', '{shown_kind(part)}', {part.index}) - {validate:.3f}s"
        yield from block_lines(part, 1)


def _equilibrium(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    most = max(details.most_nodes, profile.nodes_before, profile.nodes_after)
    yield f"EquilibriumOptimizer      {profile.name}"
    yield f"  time {profile.seconds:.3f}s for {len(details.rounds)} passes"
    yield f"  nb nodes (start, end, max) {profile.nodes_before} {profile.nodes_after} {most}"
    yield f"  time io_toposort {details.toposort_seconds:.3f}s"
    yield f"  time in local optimizers {sum(details.seconds.values()):.3f}s"
    yield f"  time in global optimizers {sum(r.clean_seconds for r in details.rounds):.3f}s"
    for number, entry in enumerate(details.rounds):
        yield f"  {_round(number, entry)}"
    yield "  times - times applied - nb node created - name:"
    applied = profile.total_rules()
    for rule in sorted(applied, key=lambda name: -details.seconds.get(name, 0.0)):
        yield f"  {details.seconds.get(rule, 0.0):.3f}s - {applied[rule]} - {details.created.get(rule, 0)} - {rule}"
    yield from _unused(details, applied)


def _round(number: int, entry: RewriteRound) -> str:
    """Return the line about one round of an equilibrium."""
    rules = [f"('{rule}', {count})" for rule, count in entry.rules.items()]
    listed = " ".join(rules[:SHOWN_RULES]) + (" ..." if len(rules) > SHOWN_RULES else "")
    return (
        f"{number:>3} - {entry.seconds:.3f}s {sum(entry.rules.values())} ({entry.clean_seconds:.3f}s in global opts, "
        f"{entry.toposort_seconds:.3f}s io_toposort) - {entry.nodes} nodes - {listed}"
    ).rstrip()


def _unused(details: RewriteDetails, applied: dict[str, int]) -> Iterator[str]:
    """Yield the lines about the rules that were asked and never fired."""
    unused = {rule: seconds for rule, seconds in details.seconds.items() if rule not in applied}
    if unused:
        yield (
            f"  {sum(unused.values()):.3f}s - in {len(unused)} optimization that where not used "
            "(display only those with a runtime > 0)"
        )
        for rule in sorted(unused, key=lambda name: -unused[name]):
            if unused[rule] > 0:
                yield f"    {unused[rule]:.3f}s - {rule}"


def _walk(profile: RewriteProfile, level: int) -> Iterator[str]:
    details = profile.details or RewriteDetails()
    yield "TopoOptimizer"
    yield f"  nb_node (start, end, changed) ({profile.nodes_before}, {profile.nodes_after}, {profile.changes})"
    yield f"  init io_toposort {details.toposort_seconds}"
    yield f"  loop time {max(profile.seconds - details.toposort_seconds, 0.0)}"
    yield f"  callback_time {details.callback_seconds}"


def _merge(profile: RewriteProfile, level: int) -> Iterator[str]:
    yield "MergeOptimizer"
    for name, count in sorted(profile.rules.items()):
        yield f"  {name} {count}"


def _function(profile: RewriteProfile, level: int) -> Iterator[str]:
    yield from ()


def _other(profile: RewriteProfile, level: int) -> Iterator[str]:
    if profile.numbers or profile.parts:
        yield shown_kind(profile)
    for name, value in profile.numbers.items():
        yield f"  {name} {value}"
    for part in sorted(profile.parts, key=lambda p: -p.seconds):
        yield from block_lines(part, 1)


_BLOCKS: dict[str, Callable[[RewriteProfile, int], Iterator[str]]] = {
    "SeqOptimizer": _sequence,
    "EquilibriumOptimizer": _equilibrium,
    "TopoOptimizer": _walk,
    "MergeOptimizer": _merge,
    "FromFunctionOptimizer": _function,
}
