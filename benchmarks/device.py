"""Measure functions on a device beside JAX, PyTorch and the rate at which the device copies memory.

    python benchmarks/device.py [--device cuda0] [--quick] [--only NAME ...] [--output docs/device.md]

Each case is a process of its own, so that memory of one is free for the next, and a case that fails leaves the others.
What cannot be measured (no device, no peer, an error) stands in the table as it is. All cases take at most 25 minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from device_cases import CASES, Figures

#: Seconds that one case may take.
PATIENCE = 130.0
NOT_MEASURED = "not measured"
PAGE = """\
# Functions on devices: figures

`nox -s device` measures these cases and writes this page. Contenders run in one process and take turns; each figure is
the median of a call that waits for its result. "Ratio" is our time divided by that of the contender that the aim names.
Where a case could not be measured, the table says so.

{about}

| case | ours | beside | ratio | aim | met |
| --- | ---: | ---: | ---: | --- | --- |
{rows}
"""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="device.py", description="Measure functions on a device.")
    parser.add_argument("--device", default="cuda0", help="the device, as the flag `device` names it")
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns, to see that all cases run")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--output", type=Path, default=Path("docs/device.md"))
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def measure(name: str, device: str, quick: bool) -> Figures | str:
    """Run a case in a process of its own; return its figures, or in one line why there are none."""
    command = [sys.executable, __file__, "--device", device, "--case", name, *(["--quick"] if quick else [])]
    environment = {
        **os.environ,
        "THEANO_FLAGS": f"{os.environ.get('THEANO_FLAGS', '')},device={device},floatX=float32,force_device=True".strip(
            ","
        ),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"more than {PATIENCE:g} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return f"fails: {lines[-1][:100]}" if lines else f"fails with exit code {done.returncode}"
    return Figures(**json.loads(done.stdout.strip().splitlines()[-1]))


def show(seconds: float | None) -> str:
    """Write a time with three digits and the unit that fits."""
    if seconds is None:
        return ""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row(name: str, found: Figures | str) -> str:
    """Write a line of the table."""
    case = CASES[name]
    if isinstance(found, str):
        return f"| {case.title} | {NOT_MEASURED} ({found}) | | | {case.aim} | |"
    beside = "" if found.beside is None else f"{show(found.beside)} ({found.contender})"
    ratio = "" if found.ratio is None else f"{found.ratio:.2f}"
    met = "" if (held := case.holds(found)) is None else "yes" if held else "no"
    return f"| {case.title} | {show(found.ours)} | {beside} | {ratio} | {case.aim} | {met} |"


def about(device: str) -> str:
    """Say when and on what the figures were taken, or that there was no device."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    code = "import device_cases; print(device_cases.describe_device())"
    environment = {**os.environ, "THEANO_FLAGS": f"device={device},force_device=True"}
    here = Path(__file__).resolve().parent
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=here)
    if done.returncode:
        return f"{today}: the device {device} could not be used here, so nothing was measured."
    return f"{today}, {done.stdout.strip().splitlines()[-1]}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the page; return the exit code."""
    options = parse(arguments)
    if options.case is not None:
        print(json.dumps(CASES[options.case].run(options.quick).fields()))
        return 0
    title = about(options.device)
    print(title, file=sys.stderr)
    there = "nothing was measured" not in title
    rows = []
    for name in CASES:
        if name not in options.only:
            found: Figures | str = "left out"
        elif not there:
            found = "no device"
        else:
            print(f"{name} ...", file=sys.stderr, flush=True)
            found = measure(name, options.device, options.quick)
        rows.append(row(name, found))
        print(rows[-1], flush=True)
    options.output.write_text(PAGE.format(about=title, rows="\n".join(rows)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
