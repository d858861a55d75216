"""Has all programs checked that are lowered while nose2 runs tests."""

from __future__ import annotations

import importlib.util
from typing import Any

from nose2.events import Plugin


class CheckPrograms(Plugin):  # type: ignore[misc]  # nose2 has no types
    """Checks donations, writes that wait and releases of every program; see :mod:`theano_testing.overwriting`."""

    alwaysOn = True
    configSection = "theano-testing"

    def startTestRun(self, event: Any) -> None:
        """Begin when the modules of the tests have been imported, which may set flags."""
        if importlib.util.find_spec("theano_linker_c") is not None:
            from theano_linker_c.program import on_lowered  # noqa: PLC0415  (not before the flags)
            from theano_testing.overwriting import check_program  # noqa: PLC0415

            on_lowered.append(check_program)
