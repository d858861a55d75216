"""Finds the libraries of devices: drivers, the compiler of CUDA kernels, and libraries of products and the like.

Nothing is linked with this package; each library is opened by its path, or by a name that the system's loader knows.
A library is looked for, in this order, in the folders of the flag ``gpuarray.library_path`` (cuDNN:
``dnn.library_path`` and the like), in installations of CUDA that the flag ``cuda.root`` and the variables CUDA_HOME,
CUDA_ROOT and CUDA_PATH name, in the wheels ``nvidia-*``, by the loader, and in usual folders.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from theano_graph import config, format_error, record

from ._errors import LibraryNotFound

__all__ = ["LIBRARIES", "Candidate", "FoundLibrary", "Library", "cuda_of_driver", "find_library", "opened"]

_ROOTS = ("CUDA_HOME", "CUDA_ROOT", "CUDA_PATH")
_WINDOWS = sys.platform == "win32"
_WHEEL_FOLDER = "bin" if _WINDOWS else "lib"
#: Folders below an installation of CUDA.
_OF_ROOT: tuple[str, ...] = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
_USUAL_ROOTS: tuple[str, ...] = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
_USUAL: tuple[str, ...] = ("/usr/lib/wsl/lib", "/usr/lib64/nvidia", "/usr/lib/nvidia")
if _WINDOWS:
    _OF_ROOT, _USUAL_ROOTS, _USUAL = ("bin", "bin/x64"), (), ()


@record
class Library:
    """A library that is looked for.

    Parameters
    ----------
    key : str
        As the runtime calls it.
    title : str
        Its name for people.
    names : mapping of str to int
        Names of its files on this system, the newest first, and the CUDA version that each belongs to; 0 for any.
    wheel : str
        The folder in the wheels of ``nvidia-*`` that it comes in; empty for libraries of drivers.
    hint : str
        How to get it.
    """

    key: str
    title: str
    names: Mapping[str, int]
    wheel: str
    hint: str


@record
class Candidate:
    """A place where a library may be.

    Parameters
    ----------
    path : str
        A path, or a name for the loader of the system.
    cuda : int
        The CUDA version that it belongs to; 0 for any.
    how : str
        Why it is looked for there.
    """

    path: str
    cuda: int
    how: str


@record
class FoundLibrary:
    """A library that has been found and can be loaded.

    Parameters
    ----------
    path : str
        A path, or a name that the loader of the system knows.
    how : str
        How it was found.
    """

    path: str
    how: str


def _toolkit(key: str, title: str, linux: Mapping[str, int], windows: Mapping[str, int], wheel: str) -> Library:
    """Describe a library of CUDA's toolkit."""
    package = f"nvidia-{wheel.replace('_', '-')}"
    newest = f"{package}-cu13" if wheel == "cudnn" else package
    hint = f"pip install {newest} ({package}-cu12 for CUDA 12), or set CUDA_HOME to the folder where CUDA is installed"
    return Library(key, title, windows if _WINDOWS else linux, wheel, hint)


_DRIVER_MEND = "install NVIDIA's driver for the card (nvidia-smi tells whether it works), or set device=cpu"
_ICD_MEND = (
    "install an OpenCL loader and the driver of the device (apt install ocl-icd-libopencl1, and pocl-opencl-icd to run "
    "on the CPU), or set device=cpu"
)
_OPENCL = {
    "win32": {"OpenCL.dll": 0},
    "darwin": {"/System/Library/Frameworks/OpenCL.framework/OpenCL": 0, "libOpenCL.dylib": 0},
}.get(sys.platform, {"libOpenCL.so.1": 0, "libOpenCL.so": 0})

#: All that is looked for, by key.
LIBRARIES: Mapping[str, Library] = {
    library.key: library
    for library in (
        Library("opencl", "the loader of OpenCL drivers", _OPENCL, "", _ICD_MEND),
        Library(
            "cuda",
            "the CUDA driver",
            {"nvcuda.dll": 0} if _WINDOWS else {"libcuda.so.1": 0, "libcuda.so": 0},
            "",
            _DRIVER_MEND,
        ),
        _toolkit(
            "nvrtc",
            "NVRTC, the compiler of CUDA kernels",
            {"libnvrtc.so.13": 13, "libnvrtc.so.12": 12, "libnvrtc.so.11.2": 11},
            {"nvrtc64_130_0.dll": 13, "nvrtc64_120_0.dll": 12, "nvrtc64_112_0.dll": 11},
            "cuda_nvrtc",
        ),
        _toolkit(
            "cublas",
            "cuBLAS, matrix products",
            {"libcublas.so.13": 13, "libcublas.so.12": 12, "libcublas.so.11": 11},
            {"cublas64_13.dll": 13, "cublas64_12.dll": 12, "cublas64_11.dll": 11},
            "cublas",
        ),
        _toolkit(
            "cublaslt",
            "cuBLASLt, matrix products and their epilogues",
            {"libcublasLt.so.13": 13, "libcublasLt.so.12": 12, "libcublasLt.so.11": 11},
            {"cublasLt64_13.dll": 13, "cublasLt64_12.dll": 12, "cublasLt64_11.dll": 11},
            "cublas",
        ),
        _toolkit(
            "cudnn",
            "cuDNN, operations of neural networks",
            {"libcudnn.so.9": 0, "libcudnn.so.8": 0},
            {"cudnn64_9.dll": 0, "cudnn64_8.dll": 0},
            "cudnn",
        ),
        _toolkit(
            "cufft",
            "cuFFT, Fourier transforms",
            {"libcufft.so.12": 13, "libcufft.so.11": 12, "libcufft.so.10": 11},
            {"cufft64_12.dll": 13, "cufft64_11.dll": 12, "cufft64_10.dll": 11},
            "cufft",
        ),
        _toolkit(
            "cusolver",
            "cuSOLVER, linear algebra",
            {"libcusolver.so.12": 13, "libcusolver.so.11": 12},
            {"cusolver64_12.dll": 13, "cusolver64_11.dll": 12},
            "cusolver",
        ),
    )
}


def find_library(key: str, *, at_most: int = 0) -> FoundLibrary:
    """Return a library that can be loaded, the first one of all places.

    Parameters
    ----------
    key : str
        A key of `LIBRARIES`.
    at_most : int, optional
        The CUDA version of the driver: libraries for later ones do not work with it.

    Raises
    ------
    LibraryNotFound
        If none can be loaded; the text lists the places and files that were tried, and a cure.

    Examples
    --------
    >>> from theano_gpuarray._libraries import find_library
    >>> find_library("nothing")
    Traceback (most recent call last):
    KeyError: 'nothing'
    """
    library = LIBRARIES[key]
    looked: list[str] = []
    for candidate in candidates(library):
        if at_most and candidate.cuda > at_most:
            if os.path.exists(candidate.path):
                looked.append(f"{candidate.path}: there, but for CUDA {candidate.cuda}; the driver has CUDA {at_most}")
            continue
        problem = _problem(candidate.path)
        if problem is None:
            return FoundLibrary(candidate.path, candidate.how)
        looked.append(f"{candidate.path} ({candidate.how}): {problem}")
    needed = ", ".join(name for name, cuda in library.names.items() if not at_most or cuda <= at_most)
    raise LibraryNotFound(
        format_error(
            f"{library.title} is not found or cannot be loaded; it is one of {needed or 'no library for this system'}",
            context=looked,
            hint=library.hint,
        )
    )


def candidates(library: Library) -> Iterator[Candidate]:
    """Yield the places where a library may be, the likeliest first; folders without it are left out."""
    for folder, how in _first_folders(library):
        yield from _in_folder(library, folder, how)
    for name, cuda in library.names.items():
        yield Candidate(name, cuda, "asked the loader of the system")
    for folder in _usual_folders(library):
        yield from _in_folder(library, folder, "a usual folder")


def _in_folder(library: Library, folder: str, how: str) -> Iterator[Candidate]:
    for name, cuda in library.names.items():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            yield Candidate(path, cuda, how)


def _first_folders(library: Library) -> Iterator[tuple[str, str]]:
    """Yield folders that somebody has named, and those of wheels."""
    for folder in filter(None, str(config.gpuarray.library_path).split(os.pathsep)):
        yield folder, "the flag gpuarray.library_path"
    if library.key == "cudnn":
        yield from _folders_of_cudnn()
    if library.wheel:
        yield from _folders_of_roots()
        yield from _folders_of_wheels(library.wheel)
    yield os.path.join(sys.prefix, "Library", "bin") if _WINDOWS else os.path.join(sys.prefix, "lib"), "this Python"


def _folders_of_cudnn() -> Iterator[tuple[str, str]]:
    for flag in ("library_path", "bin_path"):
        folder = str(getattr(config.dnn, flag))
        if folder:
            yield folder, f"the flag dnn.{flag}"
    base = str(config.dnn.base_path)
    if base:
        for part in _OF_ROOT:
            yield os.path.join(base, part), "the flag dnn.base_path"


def _folders_of_roots() -> Iterator[tuple[str, str]]:
    roots = [(str(config.cuda.root), "the flag cuda.root")]
    roots += [(os.environ.get(name, ""), f"the variable {name}") for name in _ROOTS]
    for root, how in roots:
        if root:
            for part in _OF_ROOT:
                yield os.path.join(root, part), how


def _folders_of_wheels(wheel: str) -> Iterator[tuple[str, str]]:
    """Yield the folders in which wheels of ``nvidia-*`` put a library: one for each CUDA version, or one of its own."""
    for path in sys.path:
        folder = os.path.join(path, "nvidia")
        if path and os.path.isdir(folder):
            for part in ("cu13", wheel):
                inner = os.path.join(folder, part, _WHEEL_FOLDER)
                yield inner, "a wheel of nvidia"
                if _WINDOWS:
                    yield os.path.join(inner, "x86_64"), "a wheel of nvidia"


def _usual_folders(library: Library) -> Sequence[str]:
    if library.wheel:
        return [os.path.join(root, part) for root in _USUAL_ROOTS for part in _OF_ROOT]
    return _USUAL


def _problem(path: str) -> str | None:
    """Say why a library cannot be loaded; None if it can."""
    try:
        opened(path)
    except OSError as error:
        text = " ".join(str(error).split())
        return text.removeprefix(f"{path}: ")
    return None


def opened(path: str) -> ctypes.CDLL:
    """Return a loaded library.

    Raises
    ------
    OSError
        If it is not there or cannot be loaded.
    """
    if _WINDOWS and os.path.isabs(path):
        add = getattr(os, "add_dll_directory", None)
        if add is not None:
            with contextlib.suppress(OSError):
                add(os.path.dirname(path))
    return ctypes.CDLL(path)


def cuda_of_driver(path: str) -> tuple[int, int]:
    """Return the version of CUDA, as (13, 0), that a CUDA driver has; (0, 0) where it does not tell.

    Parameters
    ----------
    path : str
        The driver's library.
    """
    version = ctypes.c_int(0)
    get = getattr(opened(path), "cuDriverGetVersion", None)
    if get is None or get(ctypes.byref(version)) != 0:
        return 0, 0
    return version.value // 1000, version.value % 1000 // 10
