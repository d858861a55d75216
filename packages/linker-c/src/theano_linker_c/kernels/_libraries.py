"""Addresses of routines in libraries: BLAS, LAPACK and special functions."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from theano_graph import ConfigError, config, format_error, record

from .._lazy import cython_special, scipy_blas, scipy_lapack
from .._perform import perform_runner
from ._kernel import Encoded, Kernel, LoadedKernel, Site, type_number

# ---- C pointers that Python modules hand out in capsules


def capsule_name(capsule: Any) -> str:
    """Give the name of a capsule, which for Cython's functions is their C signature."""
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    name = get_name(capsule)
    return name.decode() if isinstance(name, bytes) else ""


def capsule_pointer(capsule: Any) -> int:
    """Give the pointer that a capsule holds, as an integer."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, capsule_name(capsule).encode()) or 0)


# ---- BLAS routines of the library that the flag ``blas.ldflags`` names, where it names one

# Declares the flag that is read here.


@record
class LinkArguments:
    """The arguments of a linker by their meaning.

    Parameters
    ----------
    libraries : tuple of str
        Names without ``lib`` and suffix, from ``-l``.
    folders, headers : tuple of str
        Directories from ``-L`` and ``-I``.
    others : tuple of str
        All that is left, paths of libraries among it.
    """

    libraries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def link_arguments(text: str) -> LinkArguments:
    """Split the arguments of a linker.

    Examples
    --------
    >>> link_arguments("-L/opt/blas -lopenblas").libraries
    ('openblas',)
    """
    arguments: dict[str, list[str]] = {"-l": [], "-L": [], "-I": [], "": []}
    words = iter(shlex.split(text))
    for word in words:
        key = word[:2] if word[:2] in arguments else ""
        arguments[key].append((word[2:] or next(words, "")) if key else word)
    return LinkArguments(tuple(arguments["-l"]), tuple(arguments["-L"]), tuple(arguments["-I"]), tuple(arguments[""]))


def library_files(arguments: LinkArguments) -> list[str]:
    """Give each library as something that the loader understands: a path, or a file name that it looks for.

    Examples
    --------
    >>> library_files(LinkArguments(others=("/opt/blas/libown.so",)))
    ['/opt/blas/libown.so']
    """
    paths = [word for word in arguments.others if not word.startswith("-")]
    return [*paths, *(_file_of(name, arguments.folders) for name in arguments.libraries)]


def _file_of(name: str, folders: tuple[str, ...]) -> str:
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    file_name = f"{'' if sys.platform == 'win32' else 'lib'}{name}{suffix}"
    here = (path for path in (os.path.join(folder, file_name) for folder in folders) if os.path.exists(path))
    return next(here, None) or ctypes.util.find_library(name) or file_name


@cache
def _load(flags: str) -> tuple[ctypes.CDLL, ...]:
    files = library_files(link_arguments(flags))
    if not files:
        raise ConfigError(
            format_error(f"`blas.ldflags` is {flags!r}, which names no library", hint="add one, as -lopenblas")
        )
    loaded = []
    for file in files:
        try:
            # A library finds the symbols of another one named with it among those loaded for all. A single
            # one is not: the BLAS of SciPy, loaded later, would be bound to its routines.
            loaded.append(ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL if len(files) > 1 else ctypes.RTLD_LOCAL))
        except OSError as error:
            raise ConfigError(
                format_error(
                    f"the BLAS library {file!r} cannot be loaded: {error}",
                    context=[f"`blas.ldflags` is {flags!r}, from {config.source_of('blas.ldflags')}"],
                    hint="name the folder with -L or give the full path of the library; with an empty `blas.ldflags` "
                    "the BLAS of SciPy is used",
                )
            ) from None
    return tuple(loaded)


def chosen_routine(name: str) -> int | None:
    """Give the address of a BLAS routine in the library that the user chose; None where there was no choice.

    Parameters
    ----------
    name : str
        As ``dgemm``.

    Raises
    ------
    ConfigError
        If the library cannot be loaded, or does not have the routine.

    Examples
    --------
    >>> chosen_routine("dgemm") is None
    True
    """
    flags = str(config.blas.ldflags).strip()
    return _address(name, flags) if flags else None


@cache
def _address(name: str, flags: str) -> int:
    for symbol in (name + "_", name):
        for library in _load(flags):
            if hasattr(library, symbol):
                return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
    raise ConfigError(
        format_error(
            f"none of the libraries {', '.join(library_files(link_arguments(flags)))} has the BLAS routine {name!r}",
            context=[f"`blas.ldflags` is {flags!r}, from {config.source_of('blas.ldflags')}"],
            hint="name a library with the Fortran interface of BLAS (routines such as dgemm_, with 32-bit integers)",
        )
    )


# ---- Addresses of BLAS routines: of the library that the user chose, or else of the one that SciPy was built with

_PREFIX = MappingProxyType({"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"})
_ROUTINE = MappingProxyType(
    {"dot": "dot", "gemv": "gemv", "vecmat": "gemv", "gemm": "gemm", "ger": "ger", "batched": "gemm"}
)


def blas_address(kind: str, dtype: str) -> tuple[str, int]:
    """Give name and address of the BLAS routine for a product; an empty name and 0 if there is none.

    Parameters
    ----------
    kind : {"dot", "gemv", "vecmat", "gemm", "ger", "batched"}
    dtype : str

    Returns
    -------
    tuple of (str, int)
        The Fortran routine takes 32-bit integers, all arguments by address.

    Raises
    ------
    ConfigError
        If the flag ``blas.ldflags`` names a library that cannot be loaded, or lacks the routine.

    Examples
    --------
    >>> blas_address("gemm", "float64")[0]
    'dgemm'
    """
    prefix = _PREFIX.get(dtype)
    if prefix is None:
        return "", 0
    routine = _ROUTINE[kind]
    if prefix in "cz" and routine in ("dot", "ger"):
        # Complex results of Fortran functions are returned in compiler-dependent ways; `geru` is a subroutine.
        routine = {"ger": "geru"}.get(routine, "")
    address = routine_address(prefix + routine) if routine else 0
    return (prefix + routine, address) if address else ("", 0)


def routine_address(name: str) -> int:
    """Give the address of a BLAS routine, as `dgemm`; 0 if there is none.

    Raises
    ------
    ConfigError
        If the flag ``blas.ldflags`` names a library that cannot be loaded, or lacks the routine.

    Examples
    --------
    >>> routine_address("dgemm") > 0
    True
    """
    chosen = chosen_routine(name)
    return _blas_in_scipy(name) if chosen is None else chosen


@cache
def _blas_in_scipy(name: str) -> int:
    capsule = scipy_blas().__pyx_capi__.get(name)
    return 0 if capsule is None else capsule_pointer(capsule)


# ---- Linear algebra that the runtime computes with LAPACK's routines, which are taken from SciPy

MatrixTask: TypeAlias = Literal[
    "cholesky",
    "triangular",
    "solve",
    "symmetric",
    "inverse",
    "det",
    "slogdet",
    "eigh",
    "svd",
    "factor_back",
    "qr",
    "cofactors",
    "eigh_back",
]
#: The routines of each task, in the order of their numbers in c/linear_algebra/lapack.c.
ROUTINES: Mapping[MatrixTask, tuple[str, ...]] = MappingProxyType(
    {
        "cholesky": ("potrf",),
        "triangular": ("trsv", "trsm"),
        "solve": ("getrf", "getrs"),
        "symmetric": ("sysv",),
        "inverse": ("getrf", "getri"),
        "det": ("getrf",),
        "slogdet": ("getrf",),
        "eigh": ("syevd",),
        "svd": ("gesdd",),
        "factor_back": ("trsm", "gemm"),
        "qr": ("geqrf", "orgqr"),
        "cofactors": ("getrf", "getri"),
        "eigh_back": ("gemm",),
    }
)
_REAL_PREFIX = MappingProxyType({"float32": "s", "float64": "d"})


@record
class LapackKernel(Kernel):
    """Linear algebra on matrices and stacks of them; matrices that fail are left to the op's `perform`.

    Parameters
    ----------
    task : str
        See `ROUTINES`.
    dtype : {"float32", "float64"}
        Of all operands and results.
    flag : int
        Whether the lower triangle matters; for "svd" and "qr" 0 (singular values or r only), 1 (reduced) or 2 (full).
    """

    task: MatrixTask
    dtype: str
    flag: int = 0

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload; None where SciPy lacks a routine."""
        addresses = lapack_addresses(self.task, self.dtype)
        if not addresses:
            return None
        number = list(ROUTINES).index(self.task)
        return "lapack", (number, type_number(self.dtype), self.flag, addresses, perform_runner(site.node))


def lapack_addresses(task: MatrixTask, dtype: str) -> tuple[int, ...]:
    """Give the addresses of the routines of a task; an empty tuple if SciPy does not have them.

    Examples
    --------
    >>> len(lapack_addresses("cholesky", "float64"))
    1
    """
    # BLAS first: it chooses the routines for this processor when it is loaded.
    scipy_blas()
    find = routine_address if task in ("triangular", "factor_back", "eigh_back") else _lapack_in_scipy
    addresses = tuple(find(_REAL_PREFIX[dtype] + name) for name in ROUTINES[task]) if dtype in _REAL_PREFIX else (0,)
    return addresses if all(addresses) else ()


@cache
def _lapack_in_scipy(name: str) -> int:
    capsule = scipy_lapack().__pyx_capi__.get(name)
    return 0 if capsule is None else capsule_pointer(capsule)


# ---- Addresses of special functions, taken from the ones that SciPy was built with

_VARIANT = re.compile(r"__pyx_fuse_(?:\d+_)*\d+")


@cache
def special_address(name: str, count: int) -> int:
    """Give the address of a function of `scipy.special` on doubles; 0 if SciPy has none.

    Parameters
    ----------
    name : str
        Name in `scipy.special`.
    count : int
        Number of its arguments; Cython adds an int, which says whether a Python method is to be called.

    Examples
    --------
    >>> special_address("psi", 1) != 0
    True
    """
    signature = f"double ({'double, ' * count}int __pyx_skip_dispatch)"
    for key, capsule in cython_special().__pyx_capi__.items():
        if _VARIANT.sub("", key) == name and capsule_name(capsule) == signature:
            return capsule_pointer(capsule)
    return 0


def set_special_functions(address_of: Callable[[str], int], functions: Iterable[tuple[str, int]]) -> None:
    """Set the pointers through which loaded code calls special functions; `address_of` gives where they lie."""
    for name, count in functions:
        pointer = ctypes.c_void_p.from_address(address_of(f"theano_special_{name}"))
        pointer.value = special_address(name, count)
