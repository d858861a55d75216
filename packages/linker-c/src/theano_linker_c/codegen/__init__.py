"""One form for the loops of kernels and programs, before they are printed.

Rules for kernels write statements of the loop IR (:mod:`~theano_linker_c.codegen.ir`), passes work on these
(:mod:`~theano_linker_c.codegen.passes`), and printers make text of them (:mod:`~theano_linker_c.codegen.print`).
`verify` holds them to the rules of the IR.
"""

from .verify import (
    IRError as IRError,
    verify as verify,
    verify_exports as verify_exports,
    verify_if_wanted as verify_if_wanted,
)

__all__ = ["IRError", "verify", "verify_exports", "verify_if_wanted"]
