"""The modes that tests run in, and a decorator that runs a test in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from unittest import TestCase

from theano import Mode

MODES: tuple[str | Mode, ...] = (
    "FAST_RUN",
    "FAST_COMPILE",
    Mode(linker="py"),
    Mode(linker="cvm", optimizer=None),
)
CaseT = TypeVar("CaseT", bound=TestCase)


def in_each_mode(test: Callable[[CaseT, str | Mode], None]) -> Callable[[CaseT], None]:
    """Make a test of a function that takes the mode."""

    def run(self: CaseT) -> None:
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                test(self, mode)

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return run
