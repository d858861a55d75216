"""Compare random graphs: the graph as written in Python, rewritten and compiled, and NumPy.

Examples
--------
```
    python -m theano_testing_workshop.fuzz --graphs 10000 --seed 0 --processes 2
    python -m theano_testing_workshop.fuzz --replay 4711
    python -m theano_testing_workshop.fuzz --exported --graphs 1000
    python -m theano_testing_workshop.fuzz --vectorized --graphs 1000
    python -m theano_testing_workshop.fuzz --device opencl0:0 --graphs 2000
```
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from .._version import __version__
from ._comparison._batch import (
    CAPTURED,
    EXPORTED,
    NATIVE,
    VARIANTS,
    VECTORIZED,
    Configuration,
    compare_batch,
    drawn_for,
    on_device,
)
from ._comparison._judge import Tally
from ._operations._grammar import Grammar
from ._workers import Found, Report, describe_failure, fuzz, generate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a program; return the exit status: 1 if anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m theano_testing_workshop.fuzz", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--version", action="version", version=f"theano-testing-workshop {__version__}")
    parser.add_argument("--graphs", type=int, default=2000, help="how many graphs (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first graph; the next ones count on")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="begin no graphs after this time")
    parser.add_argument("--nodes", type=int, default=8, help="the most operations of most graphs (default 8)")
    parser.add_argument("--batch", type=int, default=80, help="how many graphs are compiled at once (default 80)")
    parser.add_argument("--replay", type=int, default=None, metavar="SEED", help="only this graph, in every mode")
    parser.add_argument("--refusals", action="store_true", help="also print refused graphs, and how often")
    parser.add_argument("--exported", action="store_true", help="compare with exported C, and with nothing else")
    parser.add_argument("--vectorized", action="store_true", help="compare with batches, and with nothing else")
    parser.add_argument("--device", default=None, metavar="NAME", help="compare with this device, and nothing else")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        modes = [NATIVE, CAPTURED, *VARIANTS]
        if options.exported or options.vectorized or options.device is not None:
            modes = [EXPORTED] * options.exported + [VECTORIZED] * options.vectorized
            modes += [on_device(options.device)] if options.device is not None else []
        return replay(options.replay, modes, nodes=options.nodes, device=options.device)
    seen: dict[tuple[str, tuple[str, ...]], int] = {}

    messages = [0.0]

    def progress(report: Report) -> None:
        _print_new(report, seen)
        if report.seconds - messages[0] > 60:
            messages[0] = report.seconds
            print(f"{report.counts['graphs']} graphs, {len(report.findings)} findings", file=sys.stderr, flush=True)

    report = fuzz(
        options.graphs,
        options.seed,
        processes=options.processes,
        seconds=options.time,
        batch=options.batch,
        nodes=options.nodes,
        exported=options.exported,
        device=options.device,
        vectorized=options.vectorized,
        progress=progress,
    )
    _print_summary(report, refusals=options.refusals)
    return 1 if report.findings else 0


def replay(seed: int, modes: Sequence[Configuration], *, nodes: int = 8, device: str | None = None) -> int:
    """Compare the graph of one seed in some modes; print the differences."""
    program = generate(seed, drawn_for(device, Grammar().operations), nodes=nodes)
    if VECTORIZED in modes:
        program = replace(program, updates=())
    failures = compare_batch([program], modes, Tally())
    for failure in failures:
        _print(describe_failure(failure))
    print(f"graph {seed}: {len(failures) or 'no'} differences in {len(modes) + 1} modes")
    return 1 if failures else 0


def _print_new(report: Report, seen: dict[tuple[str, tuple[str, ...]], int]) -> None:
    total = sum(seen.values())
    for item in report.findings[total:]:
        seen[item.reason] = seen.get(item.reason, 0) + 1
        if seen[item.reason] == 1:
            _print(item)
        else:
            print(f"seed {item.seed}: again {item.kind} of {', '.join(item.operations)}", flush=True)


def _print(match: Found) -> None:
    print(f"--- seed {match.seed}, {match.configuration}, {match.kind}: {match.what}\n{match.source}", flush=True)


def _print_summary(report: Report, *, refusals: bool) -> None:
    graphs = report.counts["graphs"]
    rate, of_core = (graphs / max(seconds, 1e-9) for seconds in (report.seconds, report.processor))
    print(f"{graphs} graphs in {report.seconds:.0f} s, {rate:.1f} a second, ", end="")
    print(f"{of_core:.1f} a second of a processor; {len(report.findings)} findings")
    for name, count in sorted(report.counts.items()):
        print(f"  {count:8d} {name}")
    print(f"  {_share(report, 'unjudged')} of the elements compared were not judged", end="")
    print(f", {_share(report, 'rounding')} agree by roundings only")
    if refusals:
        for name, count in report.refusals.most_common():
            print(f"  {count:8d} refused: {name}")


def _share(report: Report, reason: str) -> str:
    """Return the share of the elements compared that were settled by a reason."""
    return f"{report.counts[f'elements, {reason}'] / max(report.counts['elements'], 1):.3%}"


if __name__ == "__main__":
    sys.exit(main())
