"""Run PyTensor's own tests of its numba and JAX linkers with `theano_pytensor`, and write the page of their outcomes.

    python tools/pymc/run_suite.py SOURCES                      run all modules below SOURCES/tests/link
    python tools/pymc/run_suite.py SOURCES --only numba/test_shape.py ...
    python tools/pymc/run_suite.py --page                       write docs/pytensor_suite.md from the outcomes

SOURCES is a checkout of PyTensor of the installed version; nothing of it is copied. Modules run one after the other,
each in a process of its own, and leave outcomes in ``reports/pytensor``. Tests that do not pass run once more with
graphs that PyTensor's own rewrites have made: some look at the outcome of these. A test counts that passes in one of
the two ways. `REASONS` says of each other one why it does not.
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
#: Why tests do not pass: a pattern of ``test<tab>message``, in the order in which they are tried.
REASONS: Mapping[str, str] = {
    r"DID NOT WARN": "asks for a warning that the back-end cannot do something, which ours can",
    r"DID NOT RAISE": "asks for an error where ours computes",
    r"Regex pattern did not match|exceeds matrix dimension|lengths for|batched_dot: shapes": (
        "the same error, of another class or with other words"
    ),
    r"multiple modes": "the function of PyTensor's own to compare with does not compile",
    r"test_qr\[.*pivot": "QR factors with pivots, or as LAPACK leaves them, are left to PyTensor",
    r"PerformWarning": "an op that the test itself defines, by PyTensor's `perform`, with our warning of it",
    r"get_item_\w+_grad": "gradients by elements that are read twice: ours add up, PyTensor's keep the last",
    r"Tracer|jax\.Array|jax\._src|jax\.jaxlib|block_until|test_scan_benchmark|wrap_jax|pinv_hermitian": (
        "looks at arrays, functions, random states or types of JAX"
    ),
    r"test_jax_pad|does not fit into the indexed part": (
        "a part whose length turns out to be 1 broadcasts when the function runs; ours raises an error"
    ),
    r"mvnormal_cov": "asks for draws by JAX where the matrix has no factor",
    r"inplace|is array|overwrite|== not True|not np.True_": "asks that an input is overwritten; ours may, and does not",
    r"isinstance\(|== \{0|len\(|aliased|inner_graph|buffer": "looks at nodes or buffers of PyTensor's rewrites",
}
HEAD = """# PyTensor's tests of its linkers

PyTensor's own tests of its back-ends numba and JAX, run with the mode `"THEANO"` in their place. The page is written by
`tools/pymc/run_suite.py`, which says how to run them. Left out are tests that PyTensor skips or expects to fail.

"""


def modules(sources: Path) -> Iterator[str]:
    """Yield the modules of tests, below ``tests/link``."""
    for backend in ("numba", "jax"):
        for path in sorted((sources / "tests" / "link" / backend).rglob("test_*.py")):
            yield path.relative_to(sources / "tests" / "link").as_posix()


def run(sources: Path, module: str, tests: Sequence[str], *, rewritten: bool) -> None:
    """Run the tests of a module and write their outcomes."""
    name = module.removesuffix(".py").replace("/", "-") + ("-rewritten" if rewritten else "")
    outcomes = OUTCOMES / f"{name}.tsv"
    outcomes.parent.mkdir(parents=True, exist_ok=True)
    outcomes.unlink(missing_ok=True)
    chosen = OUTCOMES / f"{name}.txt"
    chosen.write_text("\n".join(tests) + "\n", encoding="utf-8")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "SUITE_OUTCOMES": str(outcomes)}
    environment["SUITE_REWRITTEN"] = "1" if rewritten else "0"
    # The default mode of helpers would compile with C++.
    environment.setdefault("PYTENSOR_FLAGS", "cxx=")
    options = ["-q", "-p", "suite_plugin", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    command = [sys.executable, "-m", "pytest", *options, f"@{chosen}"]
    try:
        subprocess.run(command, cwd=sources, env=environment, timeout=SECONDS, check=False, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{module}: ended after {SECONDS} s")


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Return outcome and message by test."""
    if not path.exists():
        return {}
    rows = (line.split("\t", 2) for line in path.read_text(encoding="utf-8").splitlines())
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows if len(row) > 1}


def reason_of(test: str, message: str) -> str:
    """Return why a test does not pass."""
    text = f"{test}\t{message}"
    return next((reason for pattern, reason in REASONS.items() if re.search(pattern, text)), "not explained")


def page() -> str:
    """Return the page, from the outcomes of all modules that have run."""
    rows, others = [], []
    totals: Counter[str] = Counter()
    for path in sorted(OUTCOMES.glob("*.tsv")):
        if path.stem.endswith("-rewritten"):
            continue
        first, second = read(path), read(path.with_name(f"{path.stem}-rewritten.tsv"))
        counts = Counter(outcome for outcome, _ in first.values())
        ran = counts["passed"] + counts["failed"]
        again = [test for test, (outcome, _) in second.items() if outcome == "passed"]
        left = {t: message for t, (outcome, message) in first.items() if outcome == "failed" and t not in again}
        totals.update(ran=ran, passed=counts["passed"], again=len(again), left=len(left))
        rows.append(f"| `{path.stem.replace('-', '/')}` | {ran} | {counts['passed']} | {len(again)} | {len(left)} |")
        others += [(reason_of(test, message), test) for test, message in left.items()]
    full = f"| all | {totals['ran']} | {totals['passed']} | {totals['again']} | {totals['left']} |"
    lines = ["| tests | run | pass | pass after PyTensor's rewrites | others |", "| --- | --- | --- | --- | --- |"]
    lines += [*rows, full, "", "## The others", "", "| why | tests |", "| --- | --- |"]
    for reason in sorted({reason for reason, _ in others}):
        names = Counter(shortened(test) for why, test in others if why == reason)
        listed = ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in sorted(names.items()))
        lines.append(f"| {reason} | {listed} |")
    return HEAD + "\n".join(lines) + "\n"


def shortened(test: str) -> str:
    """Return the name of a test without its parameters, and its module without the common prefix."""
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
        run(options.sources, module, [f"tests/link/{module}"], rewritten=False)
        outcomes = read(OUTCOMES / f"{module.removesuffix('.py').replace('/', '-')}.tsv")
        failed = [test for test, (outcome, _) in outcomes.items() if outcome == "failed"]
        if failed:
            run(options.sources, module, failed, rewritten=True)
        print(module, dict(Counter(outcome for outcome, _ in outcomes.values())), flush=True)
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
