"""Streams of random numbers by the combined recurrence MRG31k3p."""

from ._choose import (
    ChoiceFromUniform as ChoiceFromUniform,
    MultinomialFromUniform as MultinomialFromUniform,
)
from ._streams import MRG_RandomStreams as MRG_RandomStreams, guess_n_streams as guess_n_streams
from ._uniform import (
    A1 as A1,
    A2 as A2,
    M1 as M1,
    M2 as M2,
    DotModulo as DotModulo,
    MRGUniform as MRGUniform,
    jump as jump,
    jump_matrices as jump_matrices,
    mat_vec_mod as mat_vec_mod,
    mult_mat_vect as mult_mat_vect,
    substreams as substreams,
)

__all__ = [
    "A1",
    "A2",
    "M1",
    "M2",
    "ChoiceFromUniform",
    "DotModulo",
    "MRGUniform",
    "MRG_RandomStreams",
    "MultinomialFromUniform",
    "guess_n_streams",
    "jump",
    "jump_matrices",
    "mat_vec_mod",
    "mult_mat_vect",
    "substreams",
]
