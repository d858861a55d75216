"""Measure functions on a device beside JAX, PyTorch, CuPy and the rate at which the device copies memory.

    python benchmarks/device.py [--device cuda0] [--quick] [--only NAME ...] [--output docs/device.md]

Each case is a process of its own, so that memory of one is free for the next, and a case that fails leaves the others;
in a case, a contender that fails leaves the others, too. A case without a figure (no device, no peer, an error, no time
left) stands in the table as it is. All cases take at most 25 minutes. The page is written after each case.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from device_cases import CASES
from device_peers import Figures, describe_device, first_line
from harness import show_seconds

#: Seconds that one case may take, and all cases with their start and end.
PATIENCE, BUDGET = 150.0, 1440.0
NOT_MEASURED = "not measured"
#: Begins the line on which a process reports its figures; contenders print, too.
MARK = "found by the case: "
PAGE = """\
# Functions on devices: figures

`nox -s device` measures these cases and writes this page. Contenders run in one process and take turns; each figure is
the median of a call that waits for its result. "Ratio" is our time divided by that of the contender that the aim names,
which is the first one. Products of float32 are rounded to TF32 by nobody, unless the case says so. Where a case or a
contender could not be measured, the table says so.

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
    parser.add_argument("--case", choices=[*CASES, "about"], help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def in_process(case: str, device: str, quick: bool, patience: float) -> dict[str, Any] | str:
    """Run a case in a process of its own; return its report, or one line on why there is none."""
    command = [sys.executable, __file__, "--device", device, "--case", case, *(["--quick"] if quick else [])]
    flags = f"device={device},floatX=float32,force_device=True,print_active_device=False"
    environment = {
        **os.environ,
        "THEANO_FLAGS": ",".join(filter(None, [os.environ.get("THEANO_FLAGS"), flags])),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    # A group of its own: processes that the case has started end with it.
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"more than {patience:.0f} s"
    messages = [line for line in output.splitlines() if line.startswith(MARK)]
    if errors.strip():
        print(errors.strip()[-2000:], file=sys.stderr)
    if not messages:
        lines = errors.strip().splitlines()
        return f"fails with exit code {process.returncode}{': ' + lines[-1][:100] if lines else ''}"
    figures: dict[str, Any] = json.loads(messages[-1].removeprefix(MARK))
    failure = figures.get("failure")
    return figures if failure is None else str(failure)


def run_case(name: str, quick: bool) -> int:
    """Measure in this process, and print the figures."""
    figures: Mapping[str, object]
    try:
        figures = {"about": describe_device()} if name == "about" else asdict(CASES[name].run(quick))
    except Exception as error:  # noqa: BLE001  # it stands in the table
        traceback.print_exc()
        figures = {"failure": f"fails: {first_line(error)}"}
    print(f"\n{MARK}{json.dumps(figures)}", flush=True)
    return 0


def measure(name: str, options: argparse.Namespace, end: float) -> Figures | str:
    """Return the figures of a case, or why there are none."""
    left = min(PATIENCE, end - time.monotonic())
    if left < 1:
        return "no time left"
    figures = in_process(name, options.device, options.quick, left)
    return figures if isinstance(figures, str) else Figures(figures["ours"], figures["beside"], figures["note"])


def cell(text: str) -> str:
    """Return a text that does not end a cell of a table."""
    return text.replace("|", "\\|")


def row(name: str, match: Figures | str) -> str:
    """Write a line of the table."""
    case = CASES[name]
    if isinstance(match, str):
        return f"| {case.title} | {NOT_MEASURED} ({cell(match)}) | | | {case.aim} | |"
    parts = [
        f"{other}: {show_seconds(value) if isinstance(value, float) else f'{NOT_MEASURED} ({value})'}"
        for other, value in match.beside.items()
    ]
    beside = cell("; ".join([*parts, *filter(None, [match.note])]))
    ratio = "" if match.ratio is None else f"{match.ratio:.2f}"
    met = "" if (held := case.holds(match)) is None else "yes" if held else "no"
    return f"| {case.title} | {show_seconds(match.ours)} | {beside} | {ratio} | {case.aim} | {met} |"


def paragraph(text: str) -> str:
    """Break a text into lines of the page."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def about(options: argparse.Namespace) -> tuple[str, bool]:
    """Print date, device and versions of the figures; False where there is no device."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    figures = in_process("about", options.device, options.quick, PATIENCE)
    if isinstance(figures, str):
        why = f"{today}: the device {options.device} could not be used here, so nothing was measured ({figures})."
        return why, False
    quick = ", with small sizes and few turns, which say nothing of speed" if options.quick else ""
    return f"{today}, {figures['about']}{quick}.", True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and write the page; return the exit code."""
    options = parse(arguments)
    if options.case is not None:
        return run_case(options.case, options.quick)
    start = time.monotonic()
    title, there = about(options)
    print(title, file=sys.stderr)
    rows: list[str] = []
    for name in CASES:
        figures: Figures | str
        if name not in options.only:
            figures = "left out"
        elif not there:
            figures = "no device"
        else:
            print(f"{name} ...", file=sys.stderr, flush=True)
            figures = measure(name, options, start + BUDGET)
        rows.append(row(name, figures))
        print(rows[-1], flush=True)
        options.output.write_text(PAGE.format(about=paragraph(title), rows="\n".join(rows)), encoding="utf-8")
    print(f"all cases took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
