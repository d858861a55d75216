"""Seeds, comparison within tolerances, and the check of a gradient by finite differences."""

from theano_testing.linker_c import FunctionContents as FunctionContents
from theano_testing.tensor import (
    GradientError as GradientError,
    InferShapeTester as InferShapeTester,
    MockRandomState as MockRandomState,
    assert_allclose as _assert_allclose,
    fetch_seed as fetch_seed,
    numeric_grad as numeric_grad,
    seed_rng as seed_rng,
    verify_grad as verify_grad,
)

from .._keywords import also_called

assert_allclose = also_called(__name__, "assert_allclose", _assert_allclose, expected="actual", value="desired")
OptimizationTestMixin = FunctionContents
TestOptimizationMixin = FunctionContents
