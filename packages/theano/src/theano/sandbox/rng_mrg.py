"""Random numbers by the generator MRG31k3p."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_tensor.random import mrg_random_make_inplace as mrg_random_make_inplace
from theano_tensor.random.mrg import (
    A1 as A1,
    A2 as A2,
    M1 as M1,
    M2 as M2,
    DotModulo as DotModulo,
    MRG_RandomStreams as MRG_RandomStreams,
    MRGUniform as mrg_uniform,
    guess_n_streams as guess_n_streams,
    jump,
    jump_matrices,
    mat_vec_mod as matVecModM,
    mult_mat_vect,
)

from .._names import also_called, lazy_names

__all__ = [
    "A1",
    "A2",
    "M1",
    "M2",
    "A1p72",
    "A1p134",
    "A2p72",
    "A2p134",
    "DotModulo",
    "MRG_RandomStream",
    "MRG_RandomStreams",
    "ff_2p72",
    "ff_2p134",
    "guess_n_streams",
    "matVecModM",
    "mrg_next_value",
    "mrg_uniform",
    "multMatVect",
]

mrg_uniform_base = mrg_uniform
#: Its name in Theano 1.1.
MRG_RandomStream = MRG_RandomStreams
multMatVect = also_called(__name__, "multMatVect", mult_mat_vect, A="first", B="second")

#: The matrices that move the halves of a state by 2**72 and by 2**134 steps.
A1p72, A2p72 = jump_matrices(72)
A1p134, A2p134 = jump_matrices(134)


def mrg_next_value(rstate: Any, new_rstate: Any, NORM: Any, mask: int, offset: Any) -> Any:
    """Draw one number from a stream of MRG31k3p.

    Parameters
    ----------
    rstate : array of 6 int32
    new_rstate : array of 6 int32
        Where the state after that goes.
    NORM : float
        The factor of the number.
    mask : int
        The bits of it that are kept.
    offset : number
        The addend before the factor.

    Returns
    -------
    number
    """
    old = [int(part) for part in rstate]
    halves = [
        [sum(int(a) * x for a, x in zip(row, part, strict=True)) % modulus for row in matrix]
        for matrix, part, modulus in ((A1, old[:3], M1), (A2, old[3:], M2))
    ]
    new_rstate[...] = [*halves[0], *halves[1]]
    difference = halves[0][0] - halves[1][0]
    number = difference if difference > 0 else difference + int(M1)
    return ((number & int(mask)) + offset) * NORM


def ff_2p72(rstate: Sequence[int] | np.ndarray[Any, Any]) -> object:
    """Return a state 2**72 steps further: the next substream."""
    return jump(rstate, 72)


def ff_2p134(rstate: Sequence[int] | np.ndarray[Any, Any]) -> object:
    """Return a state 2**134 steps further: the next stream."""
    return jump(rstate, 134)


__getattr__, __dir__ = lazy_names(__name__, __package__, {})
