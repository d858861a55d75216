"""Check docs/differences.md: each row has a test, and explains the tests and names that it says it explains.

    python tools/check_differences.py
    python tools/check_differences.py --results results.tsv --baseline baseline.tsv --write
    python tools/check_differences.py --names missing.txt

Without options the page, the lists in `docs/differences/` and the tests in `packages/theano/tests/differences/` are
compared with each other. `--results` is a table (file, testid, outcome, ...) of a run of the tests of Theano 1.0.5 on
this library, `--baseline` that of a run on Theano 1.0.5 itself; a test that passes there has to pass here or to stand
under a row. `--write` writes `docs/differences/tests.md`, which lists these tests beside the rows. `--names` is a list
of names of Theano 1.0.5 that are missing, one a line (dotted name, kind, ...).
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from _house import ROOT

PAGE = ROOT / "docs" / "differences.md"
LISTS = ROOT / "docs" / "differences"
TESTS = ROOT / "packages" / "theano" / "tests" / "differences"
TABLE = LISTS / "tests.md"
GROUPS_HEADING = "Names that are not there"
MANY_TESTS, MANY_ROWS, MOST_GROUPS = 20, 5, 15
#: Kinds of names that have to be there or to stand in a group; methods and values need not.
KINDS = frozenset({"class", "function", "op", "module"})


@dataclass
class Explanations:
    """The rows of the page and of the lists beside it."""

    rows: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    tests: list[tuple[str, str, str]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    asserted: set[str] = field(default_factory=set)

    def row_of(self, file: str, test: str) -> str | None:
        """Return the row that explains a failing test."""
        return next((row for row, path, pattern in self.tests if path == file and matches(test, pattern)), None)

    def group_of(self, name: str) -> str | None:
        """Return the group in which a missing name stands."""
        return next((group for group, pattern in self.names if matches(name, pattern)), None)


def matches(text: str, pattern: str) -> bool:
    """Tell whether a text is the pattern itself or matches it, in which only ``*`` and ``?`` are special."""
    return text == pattern or fnmatchcase(text, pattern.replace("[", "[[]"))


def read_table(path: Path, columns: int) -> Iterator[list[str]]:
    """Yield the rows of a file of columns that tabs divide; comments (``#``) and empty lines are left out."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) < columns:
                sys.exit(f"{path}:{number}: {len(cells)} columns, expected {columns}")
            yield cells[:columns]


def read_explanations() -> Explanations:
    """Read the page, the lists and the tests."""
    explanations = Explanations()
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        cell = re.match(r"\| `?([a-z0-9][a-z0-9-]*)`? \|", line)
        if cell and cell[1] not in ("id", "group"):
            (explanations.groups if heading == GROUPS_HEADING else explanations.rows).append(cell[1])
    for path in sorted(LISTS.glob("*.tsv")):
        if path.name.startswith("names"):
            explanations.names += [(group, name) for group, name in read_table(path, 2)]
        else:
            explanations.tests += [(row, file, test) for row, file, test in read_table(path, 3)]
    for path in TESTS.glob("test_*.py"):
        explanations.asserted |= asserted_rows(ast.parse(path.read_text(encoding="utf-8")))
    return explanations


def asserted_rows(tree: ast.Module) -> set[str]:
    """Return the attribute `difference` of the test classes of a module."""
    return {
        statement.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _assigns_difference(statement)
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    }


def _assigns_difference(statement: ast.Assign | ast.AnnAssign) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(target, ast.Name) and target.id == "difference" for target in targets)


def check_page(match: Explanations) -> Iterator[str]:
    """Yield the contradictions between page, lists and tests."""
    for row, count in Counter(match.rows + match.groups).items():
        if count > 1:
            yield f"{row}: {count} rows have this id"
    for row in match.rows:
        if row not in match.asserted:
            yield f"{row}: no test has `difference = {row!r}`"
    for row in sorted(match.asserted - set(match.rows)):
        yield f"{row}: a test names it, and there is no such row"
    for row in sorted({row for row, _, _ in match.tests} - set(match.rows)):
        yield f"{row}: a list of tests names it, and there is no such row"
    for group in sorted({group for group, _ in match.names} - set(match.groups)):
        yield f"{group}: a list of names has it, and there is no such group"
    if len(match.groups) > MOST_GROUPS:
        yield f"{len(match.groups)} groups of names, at most {MOST_GROUPS} are allowed"


def outcomes(path: Path) -> dict[tuple[str, str], str]:
    """Read a table of outcomes."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["file"], row["testid"]): row["outcome"] for row in rows}


def check_results(match: Explanations, results: Path, baseline: Path, write: bool) -> Iterator[str]:
    """Yield tests that fail without a row, rows of lists that explain nothing, and rows that explain too much."""
    here = outcomes(results)
    passing = [test for test, outcome in outcomes(baseline).items() if outcome == "passed"]
    failing = [test for test in passing if here.get(test) != "passed"]
    explained: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file, test in failing:
        row = match.row_of(file, test)
        if row is None:
            yield f"{file}::{test} {here.get((file, test), 'missing')}, and no row explains it"
        else:
            explained[row].append((file, test))
    for row, path, pattern in match.tests:
        if not any(path == file and matches(test, pattern) for file, test in failing):
            yield f"{row}: {path}::{pattern} explains no failing test"
    many = [row for row, tests in explained.items() if len(tests) > MANY_TESTS]
    if len(many) > MANY_ROWS:
        yield f"{len(many)} rows explain more than {MANY_TESTS} tests each: {', '.join(many)}"
    count = sum(map(len, explained.values()))
    print(f"{len(passing) - len(failing)} of {len(passing)} pass, {count} more stand under {len(explained)} rows")
    if write:
        TABLE.write_text(table(match, explained, len(passing)), encoding="utf-8")


def table(match: Explanations, explained: dict[str, list[tuple[str, str]]], total: int) -> str:
    """Return the page that lists tests beside rows."""
    count = sum(map(len, explained.values()))
    lines = [
        "# Tests of Theano 1.0.5 that fail here, by the row that explains them",
        "",
        f"Of {total} tests that pass on Theano 1.0.5, {count} fail here. [differences.md](../differences.md) says why.",
        "Written by `tools/check_differences.py --write`.",
        "",
        "| row | tests | which |",
        "| --- | ---: | --- |",
    ]
    for row in match.rows:
        if row in explained:
            by_file: dict[str, list[str]] = defaultdict(list)
            for file, test in explained[row]:
                by_file[file].append(test)
            which = "; ".join(f"{file}: {', '.join(f'`{test}`' for test in tests)}" for file, tests in by_file.items())
            lines.append(f"| `{row}` | {len(explained[row])} | {which} |")
    return "\n".join(lines) + "\n"


def check_names(match: Explanations, missing: Path) -> Iterator[str]:
    """Yield public names that are missing and stand in no group, and entries of groups that are there after all."""
    names = {}
    for line in missing.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) >= 2:
            names[words[0].rstrip(".")] = words[1]
    for name, kind in names.items():
        if kind in KINDS and not any(part.startswith("_") for part in name.split(".")) and match.group_of(name) is None:
            yield f"{kind} {name} is missing and stands in no group"
    for group, pattern in match.names:
        if not any(matches(name, pattern) for name in names):
            yield f"{group}: {pattern} is no missing name"


def main(arguments: list[str] | None = None) -> int:
    """Check, print the faults, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--names", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    explanations = read_explanations()
    problems = list(check_page(explanations))
    if options.results:
        if not options.baseline:
            parser.error("--results needs --baseline")
        problems += check_results(explanations, options.results, options.baseline, options.write)
    if options.names:
        problems += check_names(explanations, options.names)
    for problem in problems:
        print(problem)
    print(f"{len(explanations.rows)} differences, {len(explanations.groups)} groups of names, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
