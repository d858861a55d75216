"""Ops whose C code may use OpenMP or BLAS: the compiler's arguments and the declarations."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from theano_graph import Apply, Op, config, format_error, warn_user

from .._cache import KernelCache
from ..compiler import CompilerOptions, CompilerWarning, digest, remove, run_compiler
from ..kernels import library, link_arguments, with_room
from ._units import storage_thunk

# ---- Ops whose C code may use OpenMP

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


# ---- BLAS in the C code of ops: the compiler's arguments, and the declarations of the routines

#: Routine -> its arguments: c character, i number, T numbers that are read, R numbers that are written.
_ROUTINES = MappingProxyType(
    {
        "copy": "iTiRi",
        "swap": "iRiRi",
        "scal": "iTRi",
        "axpy": "iTTiRi",
        "dot": "iTiTi",
        "nrm2": "iTi",
        "asum": "iTi",
        "gemv": "ciiTTiTiTRi",
        "symv": "ciTTiTiTRi",
        "trmv": "ccciTiRi",
        "trsv": "ccciTiRi",
        "ger": "iiTTiTiRi",
        "syr": "ciTTiRi",
        "gemm": "cciiiTTiTiTRi",
        "symm": "cciiTTiTiTRi",
        "syrk": "cciiTTiTRi",
        "syr2k": "cciiTTiTiTRi",
        "trmm": "cccciiTTiRi",
        "trsm": "cccciiTTiRi",
    }
)
_WITH_RESULT = frozenset({"dot", "nrm2", "asum"})
_FROM_SCIPY = """\
#include <Python.h>

static void *theano_blas_routine(void **known, const char *name) {
  if (*known == NULL) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule("scipy.linalg.cython_blas");
    PyObject *table = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    PyObject *capsule = table ? PyMapping_GetItemString(table, name) : NULL;
    if (capsule)
      *known = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    Py_XDECREF(capsule);
    Py_XDECREF(table);
    Py_XDECREF(module);
    if (*known == NULL) {
      PyErr_Print();
      Py_FatalError("SciPy does not give the BLAS routine that C code of an op calls");
    }
    PyGILState_Release(state);
  }
  return *known;
}
"""


def blas_arguments(
    libs: bool = True, flags: bool = False, libs_dir: bool = False, include_dir: bool = False
) -> list[str]:
    """Return the compiler's arguments for ops whose C code calls BLAS, as the flag ``blas.ldflags`` says.

    Parameters
    ----------
    libs : bool
        Names of libraries, for `c_libraries`.
    flags : bool
        Other arguments, for `c_compile_args`.
    libs_dir : bool
        Directories of libraries, for `c_lib_dirs`.
    include_dir : bool
        Directories of headers, for `c_header_dirs`.

    Returns
    -------
    list of str
        All kinds that are asked for; empty where the flag is, since the BLAS of SciPy needs no arguments.

    Examples
    --------
    >>> blas_arguments()
    []
    """
    arguments = link_arguments(str(config.blas.ldflags))
    return [
        *(arguments.libraries if libs else ()),
        *(arguments.others if flags else ()),
        *(arguments.folders if libs_dir else ()),
        *(arguments.headers if include_dir else ()),
    ]


def blas_declarations() -> str:
    """Return C text that declares the Fortran routines of BLAS, as ``dgemm_``: for `c_support_code`.

    All arguments go by address. With an empty flag ``blas.ldflags`` the names stand for the routines of SciPy, which
    are looked up at the first call; otherwise for those of the library that the op is linked with.

    Examples
    --------
    >>> "dgemm_" in blas_declarations()
    True
    """
    linked = bool(str(config.blas.ldflags).strip())
    lines = [line for kind in ("float", "double") for line in _declared(kind, linked)]
    if linked:
        lines = ["#ifdef __cplusplus", 'extern "C" {', "#endif", *lines, "#ifdef __cplusplus", "}", "#endif"]
    head = "" if linked else _FROM_SCIPY
    return "\n".join(("#ifndef THEANO_BLAS_DECLARED", "#define THEANO_BLAS_DECLARED", head, *lines, "#endif", ""))


def _declared(kind: str, linked: bool) -> list[str]:
    kinds = {"c": "const char *", "i": "const int *", "T": f"const {kind} *", "R": f"{kind} *"}
    lines = []
    for routine, arguments in _ROUTINES.items():
        name = kind[0].replace("f", "s") + routine
        taken = ", ".join(kinds[letter] for letter in arguments)
        return_type = kind if routine in _WITH_RESULT else "void"
        if linked:
            lines.append(f"{return_type} {name}_({taken});")
        else:
            lines.append(f"typedef {return_type} (*theano_{name}_type)({taken});")
            lines.append(f"static void *theano_{name}_known;")
            lines.append(f'#define {name}_ ((theano_{name}_type)theano_blas_routine(&theano_{name}_known, "{name}"))')
    return lines
