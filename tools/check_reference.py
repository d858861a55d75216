"""Count documented functions whose docstring lacks parameters, results or an example; counts only ever fall.

    python tools/check_reference.py            # fail where a group lacks more than tools/reference.tsv allows
    python tools/check_reference.py --update   # write lower counts there; refused where a total would rise
    python tools/check_reference.py --show elementwise   # each name of a group, with the parts that it lacks

Functions and classes of the groups in `docs/reference.toml` are counted, names for old programs are not. A function
without parameters needs no section about them, and errors count as results.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from _documented import Entry, groups
from _house import ROOT

COUNTS = ROOT / "tools" / "reference.tsv"
#: Part -> its sections in a docstring.
PARTS = {
    "parameters": re.compile(r"^Parameters\n-", re.MULTILINE),
    "results": re.compile(r"^(Returns|Yields|Raises)\n-", re.MULTILINE),
    "example": re.compile(r"^Examples?\n-|^ *>>> ", re.MULTILINE),
}


def lacks(entry: Entry) -> Iterator[str]:
    """Yield the parts that the docstring of a name lacks."""
    if entry.kind not in ("function", "class"):
        return
    for part, pattern in PARTS.items():
        if part == "parameters" and not _has_parameters(entry.value):
            continue
        if part == "results" and entry.kind == "class":
            continue
        if not pattern.search(entry.doc):
            yield part


def _has_parameters(value: object) -> bool:
    try:
        return bool(inspect.signature(value).parameters)  # type: ignore[arg-type]  # anything may be asked
    except (TypeError, ValueError):
        return True


def counted() -> dict[str, Counter[str]]:
    """Count the missing parts of each group."""
    return {group.key: Counter(part for entry in group.entries for part in lacks(entry)) for group in groups()}


def stored(text: str) -> dict[str, Counter[str]]:
    """Read counts as `COUNTS` has them: a line for each group, with ``part=count`` after its name."""
    counts = {}
    for line in text.splitlines():
        name, *entries = line.split("\t")
        pairs = (entry.split("=") for entry in entries)
        counts[name] = Counter({part: int(number) for part, number in pairs})
    return counts


def text_of(counts: Mapping[str, Counter[str]]) -> str:
    """Write counts as `stored` reads them."""
    lines = (
        "\t".join([name, *(f"{part}={number}" for part, number in sorted(parts.items()))])
        for name, parts in sorted(counts.items())
        if parts
    )
    return "".join(f"{line}\n" for line in lines)


def rises(now: Mapping[str, Counter[str]], before: Mapping[str, Counter[str]]) -> list[str]:
    """Describe each group that lacks more than before."""
    return [
        f"{name}: {number} without {part}, {before.get(name, Counter())[part]} allowed"
        for name, parts in sorted(now.items())
        for part, number in sorted(parts.items())
        if number > before.get(name, Counter())[part]
    ]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Count documented functions whose docstring lacks a part.")
    parser.add_argument("--update", action="store_true", help="store the counts, unless a total would rise")
    parser.add_argument("--show", metavar="GROUP", help="print the names of a group, with the parts that they lack")
    arguments = parser.parse_args()
    if arguments.show:
        for group in groups():
            for entry in group.entries if group.key == arguments.show else ():
                if missing := ", ".join(lacks(entry)):
                    print(f"{entry.full}: {missing}")
        return
    now = counted()
    totals: Counter[str] = sum(now.values(), Counter())
    before = stored(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else now
    errors = rises(now, before)
    names = sum(len(group.entries) for group in groups())
    print(f"reference: {names} names; without " + ", ".join(f"{part} {totals[part]}" for part in PARTS))
    if arguments.update:
        more = totals - sum(before.values(), Counter())
        if more:
            sys.exit("these totals would rise: " + ", ".join(f"{part} by {number}" for part, number in more.items()))
        COUNTS.write_text(text_of(now), encoding="utf-8")
    elif errors:
        print("\n".join(errors))
        sys.exit(
            "Hint: `python tools/check_reference.py --show GROUP` names them; add the sections to their docstrings."
        )


if __name__ == "__main__":
    main()
