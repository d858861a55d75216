"""Compiles kernels by the NVRTC that is installed, for a stand-in device of the architecture that is asked for."""

from __future__ import annotations

import ctypes
import os
import sys

from theano_gpuarray import _runtime
from theano_gpuarray.arrays._layout import _text
from theano_gpuarray.codegen.text import compile_options, prelude

FAKE = os.environ["THEANO_TEST_FAKE"]


def main(nvrtc: str, major: int) -> None:
    """Print the first bytes of the code, and the compiler's log for wrong text."""
    fake = ctypes.CDLL(FAKE)
    fake.fake_capability(0, major)
    driver = _runtime.open_driver("cuda", {"cuda": FAKE, "nvrtc": nvrtc})
    context = driver.open(0)
    print(driver.properties(0)["arch"])
    for target, source in (("float16", "float64"), ("uint64", "float32"), ("bool", "int8"), ("float32", "float16")):
        text = _text(3, target, source, True)
        binary = context.compile(f"{prelude('cuda')}\n{text.text}", compile_options("cuda"))
        context.load(binary).kernel(text.name, text.parameters)
        print(binary[:4] == b"\x7fELF", text.name.encode() in binary)
    try:
        context.compile("__global__ void f() {\n  nothing_of_the_kind;\n}")
    except _runtime.DeviceError as error:
        print(str(error).splitlines()[1])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
