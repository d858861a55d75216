"""BLAS in the C code of ops: the compiler's arguments, and the declarations of the routines."""

from __future__ import annotations

from types import MappingProxyType

from theano_graph import config

from ...kernels import link_arguments

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
