"""The text of the error for a disconnected gradient: where the path from the cost to the variable breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from theano_graph import Apply, Variable, connection_pattern, describe, format_error, graph_inputs

from .._rules._arrays import is_continuous
from ._backward import Edge

Step = tuple[Variable, Apply, bool]


def disconnected_text(
    wrt: Variable, costs: Iterable[Variable], constants: Iterable[Variable], cuts: Collection[Edge] = ()
) -> str:
    """Return the message that says why no cost depends differentiably on `wrt`."""
    costs, blocked = list(costs), set(constants)
    names = " or ".join(f"`{c}`" for c in costs)
    path = _path(wrt, costs, blocked, cuts)
    if path is None:
        used = [describe(v) for v in graph_inputs(costs) if not hasattr(v, "data")]
        return format_error(
            f"the gradient of {names} with respect to `{wrt}` is disconnected: `{wrt}` is not used to compute {names}",
            context=[describe(wrt), *(f"the cost depends on {u}" for u in used[:8])],
            hint="differentiate with respect to a variable that the cost is computed from "
            "(the very object, not another one with the same name), or pass disconnected_inputs='ignore' to get zeros",
        )
    return format_error(
        f"the gradient of {names} with respect to `{wrt}` is disconnected",
        context=[describe(wrt), f"path from the cost to `{wrt}`:", *_path_lines(path, blocked)],
        hint="compute the cost without the step that breaks the path, take the variable out of `wrt`, "
        "or pass disconnected_inputs='ignore' to get zeros",
    )


def depends_in_steps(
    wrt: Variable, costs: Iterable[Variable], constants: Iterable[Variable], cuts: Collection[Edge]
) -> bool:
    """Tell whether a cost depends on `wrt` by way of comparisons and the like, whose derivatives are zero.

    Parameters
    ----------
    wrt : Variable
        Which no gradient has reached.
    costs, constants : iterable of Variable
    cuts : collection of (Apply, int)
        The node and the number of each input that a gradient rule said does not matter.
    """
    blocked = set(constants)
    work = list(costs)
    seen = set(work)
    while work:
        variable = work.pop()
        if variable is wrt:
            return True
        node = variable.owner
        if node is None or variable in blocked:
            continue
        pattern = connection_pattern(node)
        steps = not any(is_continuous(v) for v in node.outputs)
        for i, source in enumerate(node.inputs):
            if source not in seen and pattern[i][variable.index or 0] and (steps or (node, i) not in cuts):
                seen.add(source)
                work.append(source)
    return False


def _path(wrt: Variable, costs: list[Variable], blocked: set[Variable], cuts: Collection[Edge]) -> list[Step] | None:
    """Return the steps from a cost down to `wrt` with the fewest breaks (0-1 breadth-first search), or None."""
    came_from: dict[Variable, tuple[Variable, Apply, bool] | None] = dict.fromkeys(costs)
    path: list[Variable] = list(costs)
    broken: list[Variable] = []
    done: set[Variable] = set()
    while path or broken:
        variable = path.pop() if path else broken.pop(0)
        if variable in done:
            continue
        done.add(variable)
        if variable is wrt:
            return _unwind(wrt, came_from)
        node = variable.owner
        if node is None:
            continue
        pattern = connection_pattern(node)
        for i, source in enumerate(node.inputs):
            if source in done:
                continue
            passes = pattern[i][variable.index or 0] and variable not in blocked and (node, i) not in cuts
            if passes or source not in came_from:
                came_from[source] = (variable, node, passes)
                (path if passes else broken).append(source)
    return None


def _unwind(wrt: Variable, came_from: Mapping[Variable, Step | None]) -> list[Step]:
    steps: list[Step] = []
    current = wrt
    while (step := came_from[current]) is not None:
        steps.append((current, step[1], step[2]))
        current = step[0]
    steps.reverse()
    return steps


def _path_lines(path: list[Step], blocked: set[Variable], keep: int = 5) -> list[str]:
    breaks = [k for k, (_, _, passes) in enumerate(path) if not passes]
    shown = {k for b in breaks[:1] for k in range(b - keep, b + keep + 1)} | {0, len(path) - 1}
    lines: list[str] = []
    for k, (source, node, passes) in enumerate(path):
        if k not in shown:
            if k - 1 in shown:
                lines.append("  ...")
            continue
        origin = f" made at {node.origin}" if node.origin is not None else ""
        note = ""
        if not passes:
            held = any(o in blocked for o in node.outputs)
            reason = "is in `consider_constant`" if held else f"does not depend on the values of `{source}`"
            note = f"   <-- breaks here: the result of {node.op} {reason}"
        lines.append(f"  {node.op}{origin}, of `{source}`{note}")
    return lines
