"""Sparse operations that are seldom needed."""

from . import sp2 as sp2, truedot as truedot
