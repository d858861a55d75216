"""Seeds, comparison within tolerances, and the check of a gradient by finite differences."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_testing.linker_c import FunctionContents as FunctionContents
from theano_testing.tensor import (
    GradientError as GradientError, InferShapeTester as InferShapeTester, MockRandomState as MockRandomState,
    fetch_seed as fetch_seed, numeric_grad as numeric_grad, seed_rng as seed_rng,
)
from ._historical import (
    AttemptManyTimes as AttemptManyTimes, T_OpContractMixin as T_OpContractMixin,
    TestOptimizationMixin as TestOptimizationMixin, WrongValue as WrongValue, assertFailure_fast as assertFailure_fast,
    assert_allclose as assert_allclose, attr as attr, custom_name_func as custom_name_func,
    str_diagnostic as str_diagnostic, verify_grad as verify_grad,
)
from unittest import SkipTest as SkipTest
# isort: on
# fmt: on
# End of the names of names.toml.

import importlib

from .._names import borrowed

OptimizationTestMixin = TestOptimizationMixin


def __getattr__(name: str) -> object:
    """Find the class `parameterized`, whose library is imported only when it is asked for."""
    if name == "parameterized":
        return importlib.import_module(name).parameterized
    return borrowed(__name__, name)
