"""A stand-in for the libraries of CUDA, for tests where no GPU is.

It has the driver, NVRTC and cuBLAS. Memory of its devices is memory of the host; the text of kernels is compiled by g++
for the processor, and launches run on it, the threads of a block as fibers. Calls that a device would refuse are
refused, and faults that it would pass without a word show:

- Work runs when somebody waits for it, in an order that streams and events allow, chosen by the number in the variable
  ``THEANO_FAKE_SEED``; so do blocks, and threads between two barriers.
- Memory is not 0 when it is given out, bytes around it are looked at, and so is memory that has been freed.
- Arguments that are no memory of a device, addresses that are not aligned, indices out of the bounds of an array in
  local memory, barriers that not all threads come to, too many threads or too much local memory are errors.

A process uses it where the flag ``gpuarray.library_path`` names its folder::

    THEANO_FLAGS=device=cuda,gpuarray.library_path=$(python -m theano_testing_workshop.cuda) python program.py

Examples
--------
>>> from theano_testing_workshop.cuda import has_compilers, libraries
>>> from pathlib import Path
>>> not has_compilers() or (Path(libraries()) / "libcuda.so.1").is_file()
True
"""

from ._build import (
    HEADERS,
    build,
    check_on_cuda,
    has_compilers,
    libraries,
    link_libraries,
    needs_compilers,
    run_on_cuda,
)

__all__ = [
    "HEADERS",
    "build",
    "check_on_cuda",
    "has_compilers",
    "libraries",
    "link_libraries",
    "needs_compilers",
    "run_on_cuda",
]
