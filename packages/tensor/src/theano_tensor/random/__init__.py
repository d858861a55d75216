"""Random numbers: states of generators, draws from them, and streams that keep the states in shared variables."""

from . import mrg as mrg
from ._copies import copy_state as copy_state
from ._distributions import (
    binomial as binomial,
    choice as choice,
    multinomial as multinomial,
    normal as normal,
    permutation as permutation,
    poisson as poisson,
    random_integers as random_integers,
    uniform as uniform,
)
from ._draws import (
    choice_helper as choice_helper,
    multinomial_helper as multinomial_helper,
    permutation_helper as permutation_helper,
    random_integers_helper as random_integers_helper,
)
from ._function import RandomFunction as RandomFunction
from ._keys import (
    GeneratorOfKey as GeneratorOfKey,
    KeyOfGenerator as KeyOfGenerator,
    generator_of as generator_of,
    generator_of_key as generator_of_key,
    key_of as key_of,
    key_of_generator as key_of_generator,
)
from ._rewrites import (
    mrg_random_make_inplace as mrg_random_make_inplace,
    random_make_inplace as random_make_inplace,
)
from ._size import size_vector as size_vector
from ._states import (
    GeneratorType as GeneratorType,
    RandomStateSharedVariable as RandomStateSharedVariable,
    RandomStateType as RandomStateType,
    generator_type as generator_type,
    random_state_constructor as random_state_constructor,
    random_state_type as random_state_type,
)
from ._streams import GeneratorStreams as GeneratorStreams, RandomStreams as RandomStreams
from ._streams_base import RandomStreamsBase as RandomStreamsBase, permute_row_elements as permute_row_elements
from ._variable import RandomVariable as RandomVariable

__all__ = [
    "GeneratorOfKey",
    "GeneratorStreams",
    "GeneratorType",
    "KeyOfGenerator",
    "RandomFunction",
    "RandomStateSharedVariable",
    "RandomStateType",
    "RandomStreams",
    "RandomStreamsBase",
    "RandomVariable",
    "binomial",
    "choice",
    "choice_helper",
    "copy_state",
    "generator_of",
    "generator_of_key",
    "generator_type",
    "key_of",
    "key_of_generator",
    "mrg",
    "mrg_random_make_inplace",
    "multinomial",
    "multinomial_helper",
    "normal",
    "permutation",
    "permutation_helper",
    "permute_row_elements",
    "poisson",
    "random_integers",
    "random_integers_helper",
    "random_make_inplace",
    "random_state_constructor",
    "random_state_type",
    "size_vector",
    "uniform",
]
