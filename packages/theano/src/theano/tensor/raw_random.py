"""Draws of random numbers from given states.

Each distribution is a function of a state that returns the draw and the state after it.
"""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.random import (
    RandomFunction as RandomFunction, RandomStateType as RandomStateType, RandomStreamsBase as RandomStreamsBase,
    binomial as binomial, choice as choice, choice_helper as choice_helper, multinomial as multinomial,
    multinomial_helper as multinomial_helper, normal as normal, permutation as permutation,
    permutation_helper as permutation_helper, permute_row_elements as permute_row_elements, poisson as poisson,
    random_integers as random_integers, random_integers_helper as random_integers_helper,
    random_make_inplace as random_make_inplace, random_state_type as random_state_type, uniform as uniform,
)
from ._random_shapes import _infer_ndim_bcast as _infer_ndim_bcast
# isort: on
# fmt: on
# End of the names of names.toml.

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from theano import gof as gof, tensor as tensor, theano as theano
    from theano_linker_c import optdb as optdb

    from ..gof._historical_utils import string_types as string_types
    from . import opt as opt
else:
    # Programs that take everything from here take these modules with it.
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano": "theano gof tensor",
            "theano_linker_c": "optdb",
            ".": "opt",
            "..gof._historical_utils": "string_types",
        },
    )
