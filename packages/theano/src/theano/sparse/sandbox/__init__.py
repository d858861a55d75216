"""Sparse operations that are seldom needed."""

from . import sp as sp, sp2 as sp2, truedot as truedot
