"""Run PyTensor's own tests of its numba and JAX linkers with `theano_pytensor`, and write the page of their outcomes.

    python tools/pymc/run_suite.py SOURCES                      run all modules below SOURCES/tests/link
    python tools/pymc/run_suite.py SOURCES --only numba/test_shape.py ...
    python tools/pymc/run_suite.py --page                       write docs/pytensor_suite.md from the outcomes

SOURCES is a checkout of PyTensor of the installed version; nothing of it is copied. Modules run one after the other,
each in a process of its own, and leave outcomes in ``reports/pytensor``. Tests that do not pass run once more with
graphs that PyTensor's own rewrites have made: some look at what these do. A test counts that passes in one of the two
ways.

Tests that pass in neither run twice more, with warnings and errors that they ask for left out (`suite_plugin.py`):
a test that asks numba for a warning and else passes says nothing against us, and is seen to pass. `REASONS` tells of
each other test, by the error that it ends with, why it does not pass; it is "not explained" where none fits. Reasons
that speak of numba or JAX alone are marked, and such tests are left out of the second percentage.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTCOMES, PAGE = ROOT / "reports" / "pytensor", ROOT / "docs" / "pytensor_suite.md"
SECONDS = 900
#: The four ways in which tests run: the end of the files' names, PyTensor's rewrites, and expectations left out.
WAYS = (("", False, False), ("@rewritten", True, False), ("@relaxed", False, True), ("@relaxed-rewritten", True, True))
#: Why tests do not pass: a pattern of ``test<tab>error``, in the order in which they are tried, and whether the test
#: looks at numba or JAX alone. The error of a test that passes but for an expectation is that expectation.
REASONS: Mapping[str, tuple[str, bool]] = {
    r"\twarns \w+: (none|other words|PerformWarning)$": (
        "passes, but for a warning that the back-end cannot do something",
        True,
    ),
    r"link/jax/.*\twarns \w+: none / raises (NotImplementedError|TypeError): none$": (
        "passes, but for a warning and an error that the back-end cannot do something",
        True,
    ),
    r"\traises (NotImplementedError|NonConcreteBooleanIndexError): none$": (
        "passes, but for an error that the back-end cannot do something",
        True,
    ),
    r"\traises \w+: none$": ("passes, but for an error where ours computes", False),
    r"\traises \w+: other words$": ("passes, but for the words of an error", False),
    r"\traises .*: \w+$": ("passes, but for the class of an error", False),
    r"Tracer|jax\.Array|jax\._src|jax\.jaxlib|block_until": ("asks for arrays of JAX", True),
    r"test_scan_benchmark.*an array with \d dimensions? is expected": (
        "calls the compiled function with arrays of JAX",
        True,
    ),
    r"isinstance\(.*BlockwiseWithCoreShape": ("looks at the op that PyTensor's rewrites for numba leave", True),
    r"test_funcify_dispatch_interop\t.*not a NumPy array": ("registers functions with numba", True),
    r"get_item_\w+_grad.*Mismatched elements": (
        "gradients by elements that are read twice: ours add up, PyTensor's keep the last",
        False,
    ),
    r"does not fit into the indexed part": (
        "a part whose length turns out to be 1 broadcasts when the function runs; ours raises an error",
        False,
    ),
    r"mvnormal_cov.*not positive definite": ("asks for draws by JAX where the matrix has no factor", True),
    r"assert not np.True_|is array\(": ("asks that an input is overwritten or returned; ours may, and does not", False),
    r"test_pinv_hermitian\t.*allclose": ("asks that the inverse of a matrix that is not Hermitian is wrong", False),
    r"PerformWarning": (
        "an op of the test's own, by PyTensor's `perform`, with our warning in place of numba's",
        False,
    ),
    r"DID NOT (RAISE|WARN)": ("a warning or an error does not come; not yet run without this expectation", False),
    r"Regex pattern did not match|lengths for|batched_dot: shapes|object mode": (
        "an error has other words or another class; not yet run without this expectation",
        False,
    ),
    r"== \{0|len\(|inner_graph": ("looks at nodes of PyTensor's rewrites", False),
}
COLUMNS = ("run", "passed", "again", "own", "left")
SHARES = (
    "| back-end | tests run | pass | of the back-end alone | pass of all | pass of those that say something of ours |",
    "| --- | --- | --- | --- | --- | --- |",
)
HEAD = """# PyTensor's tests of its linkers

PyTensor's own tests of its back-ends numba and JAX, run with the mode `"THEANO"` in their place. The page is written by
`tools/pymc/run_suite.py`, which says how to run them. Left out are tests that PyTensor skips or expects to fail.
Tests of the back-end alone ask for its warnings, arrays or node types. A test that "passes, but for" an expectation
has passed in a run with that one left out.

"""


def modules(sources: Path) -> Iterator[str]:
    """Yield the modules of tests, below ``tests/link``."""
    for backend in ("numba", "jax"):
        for path in sorted((sources / "tests" / "link" / backend).rglob("test_*.py")):
            yield path.relative_to(sources / "tests" / "link").as_posix()


def run(sources: Path, module: str, tests: Sequence[str], way: tuple[str, bool, bool]) -> dict[str, tuple[str, str]]:
    """Run tests of a module in one way, write their outcomes, and return them."""
    end, rewritten, relaxed = way
    name = module.removesuffix(".py").replace("/", "-") + end
    outcomes = OUTCOMES / f"{name}.tsv"
    outcomes.parent.mkdir(parents=True, exist_ok=True)
    outcomes.unlink(missing_ok=True)
    chosen = OUTCOMES / f"{name}.txt"
    chosen.write_text("\n".join(tests) + "\n", encoding="utf-8")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "SUITE_OUTCOMES": str(outcomes)}
    environment.update(SUITE_REWRITTEN=str(int(rewritten)), SUITE_RELAXED=str(int(relaxed)))
    # The default mode of helpers would compile with C++.
    environment.setdefault("PYTENSOR_FLAGS", "cxx=")
    options = ["-q", "-p", "suite_plugin", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    command = [sys.executable, "-m", "pytest", *options, f"@{chosen}"]
    try:
        subprocess.run(command, cwd=sources, env=environment, timeout=SECONDS, check=False, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{module}: ended after {SECONDS} s")
    return read(outcomes)


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Return outcome and message by test."""
    if not path.exists():
        return {}
    rows = (line.split("\t", 2) for line in path.read_text(encoding="utf-8").splitlines())
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows if len(row) > 1}


def reason_of(test: str, message: str) -> tuple[str, bool]:
    """Return why a test does not pass, and whether it looks at numba or JAX alone."""
    text = f"{test}\t{message}"
    return next((reason for pattern, reason in REASONS.items() if re.search(pattern, text)), ("not explained", False))


def left(results: Sequence[Mapping[str, tuple[str, str]]]) -> dict[str, str]:
    """Return the error of each test that passes neither way, given the outcomes of the four ways.

    A test that passes with an expectation left out has that expectation as its error.
    """
    first, second, *relaxed = results
    errors = {}
    for test, (outcome, message) in first.items():
        if outcome != "failed" or second.get(test, ("", ""))[0] == "passed":
            continue
        seen = [way[test][1] for way in relaxed if way.get(test, ("", ""))[0] == "passed"]
        errors[test] = min(seen, key=len, default=message or second.get(test, ("", ""))[1])
    return errors


def page() -> str:
    """Return the page, from the outcomes of all modules that have run."""
    rows, others = [], []
    totals = {backend: Counter[str]() for backend in ("numba", "jax")}
    for path in sorted(OUTCOMES.glob("*.tsv")):
        if "@" in path.stem:
            continue
        results = [read(path.with_name(f"{path.stem}{end}.tsv")) for end, _, _ in WAYS]
        counts = Counter(outcome for outcome, _ in results[0].values())
        errors = left(results)
        reasons = {test: reason_of(test, message) for test, message in errors.items()}
        row = Counter(run=counts["passed"] + counts["failed"], passed=counts["passed"])
        row.update(again=counts["failed"] - len(errors), own=sum(own for _, own in reasons.values()))
        row["left"] = len(errors) - row["own"]
        totals[path.stem.partition("-")[0]].update(row)
        rows.append(f"| `{path.stem.replace('-', '/')}` | {' | '.join(str(row[name]) for name in COLUMNS)} |")
        others += [(*reasons[test], test) for test in errors]
    lines = [*SHARES, *(share(backend, total) for backend, total in totals.items())]
    lines += ["", "| tests | run | pass | pass after PyTensor's rewrites | of the back-end alone | others |"]
    lines += ["| --- | --- | --- | --- | --- | --- |", *rows, "", "## The others", ""]
    lines += ["| why | of the back-end alone | tests |", "| --- | --- | --- |"]
    for reason, private in sorted({(reason, own) for reason, own, _ in others}):
        names = Counter(shortened(test) for why, _, test in others if why == reason)
        listed = ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in sorted(names.items()))
        lines.append(f"| {reason} | {'yes' if private else 'no'} | {listed} |")
    return HEAD + "\n".join(lines) + "\n"


def share(backend: str, total: Mapping[str, int]) -> str:
    """Return the row of percentages of a back-end's tests."""
    passed, ran, private = total["passed"] + total["again"], total["run"], total["own"]
    shares = (f"{100 * passed / count:.1f} %" if count else "-" for count in (ran, ran - private))
    return f"| {backend} | {ran} | {passed} | {private} | {' | '.join(shares)} |"


def shortened(test: str) -> str:
    """Return the name of a test without its parameters, and its module without what all have in common."""
    path, _, name = test.partition("::")
    return f"{path.removeprefix('tests/link/').removesuffix('.py')}: {name.partition('[')[0].replace('::', '.')}"


def main() -> int:
    """Run modules, or write the page."""
    parser = argparse.ArgumentParser(description="Run PyTensor's tests of its linkers with theano_pytensor.")
    parser.add_argument("sources", nargs="?", type=Path)
    parser.add_argument("--only", nargs="*", default=None, help="modules below tests/link")
    parser.add_argument("--page", action="store_true", help="write the page of outcomes")
    options = parser.parse_args()
    for module in (options.only or list(modules(options.sources))) if options.sources else ():
        tests, results = [f"tests/link/{module}"], []
        for way in WAYS:
            results.append(run(options.sources, module, tests, way) if tests else {})
            passed = {test for result in results for test, (outcome, _) in result.items() if outcome == "passed"}
            tests = [test for test, (outcome, _) in results[0].items() if outcome == "failed" and test not in passed]
        print(module, dict(Counter(outcome for outcome, _ in results[0].values())), "left", len(tests), flush=True)
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
