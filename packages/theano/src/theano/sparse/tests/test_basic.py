"""Random sparse variables and values."""

from theano_testing.sparse import sparse_random_inputs as sparse_random_inputs

__all__ = ["sparse_random_inputs"]
