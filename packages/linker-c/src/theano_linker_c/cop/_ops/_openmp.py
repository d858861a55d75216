"""Ops whose C code may use OpenMP."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

from theano_graph import Apply, Op, config, format_error, warn_user

from ... import _flags as _flags
from ..._cache import KernelCache
from ...compiler import CompilerOptions, CompilerWarning, digest, remove, run_compiler
from ...kernels import library, with_room
from .._compilation._thunks import storage_thunk

_PROBE = """#include <omp.h>
#ifdef __cplusplus
extern "C"
#endif
int theano_openmp_threads(void) {
    int total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 8; i++)
        total += 1;
    return total == 8 ? omp_get_max_threads() : 0;
}
"""


@cache
def has_openmp(options: CompilerOptions) -> bool:
    """Tell whether the compiler can use OpenMP: tried once, and remembered on disk."""
    folder, toolchain = library.toolchain(options)
    if toolchain is None:
        return False
    arguments = [a for a in toolchain.arguments if a not in ("-nostartfiles", "-nodefaultlibs")]
    key = digest(_PROBE, toolchain.identity)
    store = KernelCache(folder, options.max_age, options.max_bytes)

    def works() -> bool:
        output = folder.temporary_file(".so")
        try:
            if not run_compiler(toolchain.command, [*arguments, "-fopenmp"], _PROBE, output).ok:
                return False
            ctypes.CDLL(output)
            store.store(output, [key])
        except OSError:
            return False
        finally:
            remove(output)
        return True

    return store.find(key) is not None or with_room(folder, works)


class OpenMPOp(Op):
    """An op whose C code uses OpenMP where that is wanted and the compiler has it.

    A subclass with an `__init__` of its own takes ``openmp=None`` and hands it on. Its C code asks ``self.openmp``
    whether it may write the pragmas.

    Parameters
    ----------
    openmp : bool, optional
        Whether to use OpenMP; by default the flag `openmp`.

    Attributes
    ----------
    openmp : bool

    Examples
    --------
    >>> OpenMPOp(openmp=False).c_compile_args()
    []
    """

    openmp: bool | None = None

    def __init__(self, openmp: bool | None = None) -> None:
        self.openmp = bool(config.openmp) if openmp is None else bool(openmp)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        # Pickles go to machines with other flags; the user's setting of this op counts on.
        if self.openmp is None:
            self.openmp = bool(config.openmp)

    def prepare_c(self) -> None:
        """Turn OpenMP off, with a warning, where the compiler has none; called before the C code is asked for."""
        if self.openmp is None:
            self.openmp = bool(config.openmp)
        options = CompilerOptions.from_config()
        if self.openmp and options.command and not has_openmp(options):
            self.openmp = False
            warn_user(
                format_error(
                    f"the compiler {options.command} cannot use OpenMP: {self} runs in one thread",
                    hint="install the compiler's OpenMP library, or set THEANO_FLAGS=openmp=False",
                ),
                CompilerWarning,
            )

    def c_headers(self) -> list[str]:
        """Return the header of OpenMP where it is used."""
        return ["<omp.h>"] if self.openmp else []

    def c_compile_args(self) -> list[str]:
        """Return the arguments that turn OpenMP on, where it is used."""
        self.prepare_c()
        return ["-fopenmp"] if self.openmp else []

    def make_thunk(
        self,
        node: Apply,
        storage_map: Mapping[Any, list[Any]],
        compute_map: Mapping[Any, list[Any]],
        no_recycling: Any = (),
        impl: str | None = None,
    ) -> Any:
        """Look whether OpenMP can be used, and return a thunk: C code, or `perform` where `impl` is "py"."""
        self.prepare_c()
        return storage_thunk(node, storage_map, compute_map, impl)

    #: Machines need no thunk of this kind: they run C code and `perform` themselves.
    make_thunk.is_default = True  # type: ignore[attr-defined]
