"""Report changelog fragments whose names towncrier or the release check refuses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from _house import ROOT

KINDS = ("added", "changed", "fixed", "deprecated", "removed", "performance")
FRAGMENT = re.compile(rf"(\d+|\+[a-z0-9-]+)\.({'|'.join(KINDS)})(\.\d+)?\.md")


def fragments(folder: Path) -> list[Path]:
    """Return the changelog fragments of a layer."""
    return [path for path in sorted((folder / "changelog.d").iterdir()) if path.name != ".gitkeep"]


def name_problems(folder: Path) -> Iterator[str]:
    """Yield a line for each fragment of a layer whose name is not understood."""
    for path in fragments(folder):
        if not FRAGMENT.fullmatch(path.name):
            yield f"changelog: {path.name} is not named NUMBER.KIND.md or +word.KIND.md (kinds: {', '.join(KINDS)})"


def main() -> None:
    """Print the faults, with the layer."""
    problems = [
        f"{folder.name}: {problem}"
        for folder in sorted((ROOT / "packages").iterdir())
        if (folder / "changelog.d").is_dir()
        for problem in name_problems(folder)
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(int(bool(problems)))


if __name__ == "__main__":
    main()
