"""Check that an installed gpuarray has its C runtime and uses it; the test of published wheels."""

from __future__ import annotations

import sys

import theano_gpuarray
from theano_gpuarray.contexts import DeviceUnavailable, open_driver


def main() -> int:
    """Copy to a device and back, on the null driver; the exit status is 1 where there is no runtime."""
    try:
        driver = open_driver("null")
    except DeviceUnavailable as error:
        print(error)
        return 1
    buffer = driver.open(0).allocate(4)
    buffer.write(0, b"text")
    match = bytearray(4)
    buffer.read(0, match)
    assert match == b"text"
    print(f"theano-gpuarray {theano_gpuarray.__version__} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
