"""Sum the JUnit reports of a folder: a line for each, and `N passed, N failed, N skipped` as the last one.

    python tools/summarise.py [FOLDER]

The exit status is 1 when a test failed or none was run.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from _house import REPORTS


def count(report: Path) -> Counter[str]:
    """Count the test cases of one report by their outcome."""
    outcomes: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        parts = {part.tag for part in case}
        outcomes["failed" if parts & {"failure", "error"} else "skipped" if "skipped" in parts else "passed"] += 1
    return outcomes


def sentence(outcomes: Counter[str]) -> str:
    """Word the counts."""
    return ", ".join(f"{outcomes[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


def main() -> None:
    """Print the sums."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPORTS
    total: Counter[str] = Counter()
    for report in sorted(folder.glob("*.xml")):
        outcomes = count(report)
        total += outcomes
        print(f"{report.stem:30} {sentence(outcomes)}")
    print(sentence(total))
    sys.exit(int(total["failed"] > 0 or total.total() == total["skipped"]))


if __name__ == "__main__":
    main()
