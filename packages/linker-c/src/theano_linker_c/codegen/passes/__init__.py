"""Passes over statements, before they are printed."""

from ._accumulations import without_accumulations as without_accumulations
from ._effects import named_in as named_in, walk as walk, written_in as written_in
from ._invariants import hoisted as hoisted
from ._unread import without_unread as without_unread

__all__ = ["hoisted", "named_in", "walk", "without_accumulations", "without_unread", "written_in"]
