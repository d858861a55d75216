"""Seeds, comparison within tolerances, and the check of a gradient by finite differences."""

from theano_testing.linker_c import FunctionContents as FunctionContents
from theano_testing.tensor import (
    GradientError as GradientError,
    InferShapeTester as InferShapeTester,
    MockRandomState as MockRandomState,
    assert_allclose as assert_allclose,
    fetch_seed as fetch_seed,
    numeric_grad as numeric_grad,
    seed_rng as seed_rng,
    verify_grad as verify_grad,
)

OptimizationTestMixin = FunctionContents
TestOptimizationMixin = FunctionContents
