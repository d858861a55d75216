"""Seeds of the random numbers in tests: fixed, but to be changed from outside."""

from __future__ import annotations

import os
import random

from theano_graph import config

#: The seed of tests for which nobody asks for another.
DEFAULT_SEED = 666
#: Name of the environment variable that overrides the flag ``unittests.rseed``: a number, or the word "random".
SEED_VARIABLE = "THEANO_TEST_SEED"


def fetch_seed(pseed: int | None = None) -> int:
    """Return the seed for the random numbers of a test.

    Parameters
    ----------
    pseed : int, optional
        The seed itself, where a test really needs a certain one.

    Returns
    -------
    int
        `pseed`, else the value of the environment variable ``THEANO_TEST_SEED``, else that of the flag
        ``unittests.rseed``, which is 666 unless it is set; ``random`` draws one.

    Raises
    ------
    ValueError
        If the environment variable holds something else.

    Examples
    --------
    >>> fetch_seed(1231)
    1231
    """
    if pseed is not None:
        return int(pseed)
    text = os.environ.get(SEED_VARIABLE) or config.unittests.rseed
    if text == "random":
        return random.randrange(2**31)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{SEED_VARIABLE}={text!r} is no seed\n  Hint: give a number or the word random") from None
