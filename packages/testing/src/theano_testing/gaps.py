"""Which ops lack a gradient, an R-op, a shape rule or a test record.

    python -m theano_testing.gaps theano_tensor --tests packages/tensor/tests

lists, one a line, each class of ops of the given packages and its gaps, and fails if there is any. Reasons given
with ``declare_absent`` count as answers. Records come from the test modules below the given folders.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import unittest
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theano_graph import (
    Op,
    RuleTable,
    batch_rule,
    format_error,
    graph_inputs,
    inner_graph,
    pullback,
    pushforward,
    shape_rule,
    toposort,
)
from theano_linker_c.scalar import ScalarOp
from theano_tensor.elemwise import Elemwise

from ._records import OpRecord, known_records as known_records, record_absence as record_absence, record_outputs
from ._version import __version__

__all__ = [
    "ASPECTS",
    "Gap",
    "find_gaps",
    "known_records",
    "load_records",
    "op_classes",
    "record_absence",
    "recorded_classes",
    "without_batch_rule",
]

#: Things that an op may lack, in the order of reports.
ASPECTS = ("gradient", "R-op", "shape rule", "record")


@dataclass(frozen=True, slots=True)
class Gap:
    """A class of ops and its gaps.

    Attributes
    ----------
    op_class : type
    missing : tuple of str
        Some of `ASPECTS`, in their order.
    """

    op_class: type[Op]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        name = f"{self.op_class.__module__}.{self.op_class.__qualname__}"
        return f"{name} lacks: {', '.join(self.missing)}"


def op_classes(packages: Iterable[str]) -> list[type[Op]]:
    """Return the classes of ops that packages define and that can be run, in order of their names.

    All modules of the packages are imported. Classes that only serve as bases, since they say nowhere how they
    compute, are left out, and so are classes made inside of functions.

    Parameters
    ----------
    packages : iterable of str
        Names of packages or modules.

    Raises
    ------
    ImportError
        If there is no such package.

    Examples
    --------
    >>> "Dot" in [c.__name__ for c in op_classes(["theano_tensor.linear"])]
    True
    """
    roots = tuple(packages)
    for root in roots:
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), root + "."):
            importlib.import_module(module.name)
    matches = [
        c
        for c in _subclasses(Op)
        if any(c.__module__ == root or c.__module__.startswith(root + ".") for root in roots)
        and "<locals>" not in c.__qualname__
        and _is_runnable(c)
    ]
    return sorted(matches, key=lambda c: (c.__module__, c.__qualname__))


def find_gaps(packages: Iterable[str], records: Sequence[OpRecord] | None = None) -> list[Gap]:
    """Return the gaps of the ops of some packages.

    Parameters
    ----------
    packages : iterable of str
        Names of packages or modules.
    records : sequence of OpRecord, optional
        By default all that tests have been made of so far in this process (`op_tests`). An op has a record if it
        occurs in the expression that a record builds. A class with subclasses counts as a base of theirs: it has
        their gaps.

    Examples
    --------
    >>> all(gap.missing for gap in find_gaps(["theano_tensor.linear"]))
    True
    """
    classes = op_classes(packages)
    recorded = recorded_classes(known_records if records is None else records)
    gaps = []
    for op_class in classes:
        below = [c for c in classes if issubclass(c, op_class) and c is not op_class]
        family = [c for c in below if not any(issubclass(other, c) for other in below if other is not c)]
        missing = tuple(aspect for aspect in ASPECTS if not _answered_by(op_class, family, aspect, recorded))
        if missing:
            gaps.append(Gap(op_class, missing))
    return gaps


def without_batch_rule(packages: Iterable[str]) -> list[type[Op]]:
    """Return the ops of some packages that run in a loop over the entries of a batch, since they have no rule for it.

    Parameters
    ----------
    packages : iterable of str
        Names of packages or modules.

    Returns
    -------
    list of type
        Without scalar ops, bases of ops that have rules, and ops that are declared to have none.

    Examples
    --------
    >>> without_batch_rule(["theano_tensor.linear"])
    []
    """
    classes = [c for c in op_classes(packages) if not issubclass(c, ScalarOp)]
    lacking = [c for c in classes if not _answered(batch_rule, object.__new__(c))]
    with_rules = [c for c in classes if c not in lacking]
    return [c for c in lacking if not any(issubclass(other, c) for other in with_rules)]


def recorded_classes(records: Iterable[OpRecord]) -> set[type]:
    """Return the classes of the ops in the expressions that records build, inner graphs and scalar ops included."""
    matches: set[type] = set()
    for record in records:
        pending: list[Any] = [record_outputs(record)]
        while pending:
            outputs = pending.pop()
            for node in toposort(graph_inputs(outputs), outputs):
                matches.add(type(node.op))
                scalar = getattr(node.op, "scalar_op", None)
                if scalar is not None:
                    matches.add(type(scalar))
                inner = inner_graph(node.op)
                if inner is not None:
                    pending.append(list(inner.outputs))
    return matches


def _subclasses(base: type) -> Iterator[type[Op]]:
    seen: set[type] = set()
    pending: list[type] = [base]
    while pending:
        # Asked of `type`, since a class may hide the method.
        matches: list[type[Op]] = type.__subclasses__(pending.pop())
        for sub in matches:
            if sub not in seen:
                seen.add(sub)
                pending.append(sub)
                yield sub


def _is_runnable(op_class: type) -> bool:
    if issubclass(op_class, ScalarOp):
        return op_class.impl is not ScalarOp.impl
    private: Any = op_class
    return private.perform is not Op.perform or hasattr(private, "make_thunk") or hasattr(private, "c_code")


def _written(op_class: type, method: str) -> bool:
    """Return whether a class has a method that somebody has written, not one that stands for a rule."""
    return hasattr(op_class, method) and not getattr(getattr(op_class, method), "is_rule", False)


def _has(op_class: type, aspect: str, recorded: set[type]) -> bool:
    # Rules are looked up by the class alone; the constructor may want arguments.
    op: Any = object.__new__(op_class)
    if aspect == "gradient":
        return _answered(pullback, op) or _written(op_class, "grad") or _written(op_class, "L_op")
    if aspect == "R-op":
        if _answered(pushforward, op) or _written(op_class, "R_op") or pullback.absence(op) is not None:
            return True
        # The rule of `Elemwise` derives the R-op of a scalar op from its gradient; the Jacobian is diagonal.
        return issubclass(op_class, ScalarOp) and pushforward.get(object.__new__(Elemwise)) is not None
    if aspect == "shape rule":
        return _answered(shape_rule, op) or hasattr(op_class, "infer_shape") or issubclass(op_class, ScalarOp)
    return op_class in recorded or record_absence.absence(op) is not None


def _answered_by(op_class: type, family: Sequence[type], aspect: str, recorded: set[type]) -> bool:
    """Tell whether a class has something, or its last descendants have: it is a base of theirs then.

    One of these with a record runs the code of the base; rules are needed by all of them.
    """
    if _has(op_class, aspect, recorded):
        return True
    answers = [_has(c, aspect, recorded) for c in family]
    return any(answers) if aspect == "record" else bool(answers) and all(answers)


def _answered(table: RuleTable[Any], op: Any) -> bool:
    return table.get(op) is not None or table.absence(op) is not None


def load_records(folders: Iterable[str]) -> None:
    """Import the test modules below some folders, so that their records are known.

    Raises
    ------
    ImportError
        If one of them cannot be imported; it names the module and shows why.
    """
    for folder in folders:
        loader = unittest.TestLoader()
        loader.discover(folder, top_level_dir=folder)
        if loader.errors:
            raise ImportError(format_error(f"tests below {folder} cannot be imported", context=[str(loader.errors[0])]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a program; return the exit status: 1 if there are gaps."""
    parser = argparse.ArgumentParser(prog="python -m theano_testing.gaps", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--version", action="version", version=f"theano-testing {__version__}")
    parser.add_argument("packages", nargs="*", default=["theano_tensor"], help="packages to look into")
    parser.add_argument("--tests", action="append", default=[], help="folder of tests whose records count; repeatable")
    options = parser.parse_args(arguments)
    load_records(options.tests)
    gaps = find_gaps(options.packages)
    for gap in gaps:
        print(gap)
    print(f"{len(gaps)} of {len(op_classes(options.packages))} classes of ops have gaps")
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
