"""Modules that keep their historical place."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import (
        blocksparse as blocksparse,
        conv as conv,
        cuda as cuda,
        fourier as fourier,
        linalg as linalg,
        minimal as minimal,
        multinomial as multinomial,
        neighbours as neighbours,
        softsign as softsign,
        solve as solve,
    )
