"""Shared parts of tests of devices: the list of present devices is known when test modules are imported.

Examples
--------
>>> import unittest
>>> import theano
>>> from theano_testing.gpuarray import needs_opencl
>>> @needs_opencl
... class TestOnDevice(unittest.TestCase):
...     def test_driver(self):
...         from theano.gpuarray.type import get_context
"""

from __future__ import annotations

import os
import unittest
from functools import cache
from typing import TypeVar, cast

from theano_gpuarray.contexts import DeviceUnavailable, open_context

__all__ = ["CONTEXT_VARIABLE", "REQUIRE_VARIABLE", "has_opencl", "needs_opencl", "tested_device"]

#: The variable of the environment that names the device on which tests of devices run.
CONTEXT_VARIABLE = "THEANO_TEST_CONTEXT"

#: The variable of the environment that makes it an error that there is no OpenCL.
REQUIRE_VARIABLE = "THEANO_REQUIRE_OPENCL"

_Case = TypeVar("_Case", bound=unittest.TestCase)


def tested_device() -> str:
    """Return the name of the device on which tests of devices run: "opencl", or the one in ``THEANO_TEST_CONTEXT``."""
    return os.environ.get(CONTEXT_VARIABLE) or "opencl"


@cache
def has_opencl() -> bool:
    """Tell whether the tested device is there, so that results of tests on devices can be compared.

    Raises
    ------
    AssertionError
        If there is none, and the environment variable ``THEANO_REQUIRE_OPENCL`` asks for one.
    """
    try:
        open_context(tested_device())
    except DeviceUnavailable as error:
        if os.environ.get(REQUIRE_VARIABLE, "0") not in {"", "0"}:
            raise AssertionError(f"{REQUIRE_VARIABLE} is set, and no OpenCL can be used: {error}") from error
        print(f"tests that compute on devices are left out: {error}", flush=True)
        return False
    return True


def needs_opencl(case: type[_Case]) -> type[_Case]:
    """Decorate a class of tests that compute on a device: without OpenCL they are no tests, and a line says so.

    Parameters
    ----------
    case : type
        A subclass of ``unittest.TestCase``.

    Returns
    -------
    type
        The class; or, where there is no OpenCL, one without tests.
    """
    return case if has_opencl() else cast(type[_Case], type(case.__name__, (), {}))
