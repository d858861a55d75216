"""Attack `load(file, safe=True)` with archives that are nearly right.

python -m theano_testing_workshop.archives --inputs 1000000 --seed 0
python -m theano_testing_workshop.archives --write 4711 attack.zip
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .._version import __version__
from ._attack import Outcome, attack
from ._mutate import Mutator, samples


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a program; return the exit status: 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m theano_testing_workshop.archives")
    parser.add_argument("--version", action="version", version=f"theano-testing-workshop {__version__}")
    parser.add_argument("--inputs", type=int, default=20_000, help="how many archives (default 20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first one; the next ones count on")
    parser.add_argument("--time", type=float, default=None, metavar="SECONDS", help="stop after this time")
    parser.add_argument("--write", nargs=2, metavar=("SEED", "FILE"), help="write the archive of a seed instead")
    options = parser.parse_args(arguments)
    if options.write:
        Path(options.write[1]).write_bytes(Mutator(samples()).archive(int(options.write[0])))
        return 0
    messages, printed = [0.0], [0]

    def progress(outcome: Outcome) -> None:
        for finding in outcome.findings[printed[0] :]:
            print(f"seed {finding.seed}: {finding.what}", flush=True)
        printed[0] = len(outcome.findings)
        if outcome.seconds - messages[0] > 60:
            messages[0] = outcome.seconds
            print(_summary(outcome), file=sys.stderr, flush=True)

    outcome = attack(options.inputs, options.seed, progress=progress, seconds=options.time)
    progress(outcome)
    print(_summary(outcome))
    return 1 if outcome.findings else 0


def _summary(outcome: Outcome) -> str:
    parts = ", ".join(f"{count} {how}" for how, count in outcome.counts.most_common())
    total = sum(outcome.counts.values())
    return f"{total} archives in {outcome.seconds:.0f} s: {parts or 'none'}; {len(outcome.findings)} findings"


if __name__ == "__main__":
    sys.exit(main())
