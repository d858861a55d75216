"""One form for the loops of kernels and programs, before they are printed.

Rules for kernels write statements of the loop IR (:mod:`~theano_linker_c.codegen.ir`), passes work on these
(:mod:`~theano_linker_c.codegen.passes`), and printers make text of them (:mod:`~theano_linker_c.codegen.print`).
`verify` holds them to the rules of the IR. `named` and `called` take opaque text apart into the names that it has.
"""

from .._c_interface import called as called, named as named
from .verify import (
    IRError as IRError,
    verify as verify,
    verify_exports as verify_exports,
    verify_if_wanted as verify_if_wanted,
)

__all__ = ["IRError", "called", "named", "verify", "verify_exports", "verify_if_wanted"]
