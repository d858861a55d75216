"""How the time to compile grows: chains of ``h = tanh(h * w + h.sum() * 1e-3)`` with their gradient."""

from __future__ import annotations

from typing import Any

import numpy
from harness import OURS, Options, Row
from ready_child import compare_cold
from started import COUNTED

#: Links of a chain, and the seconds that it may take.
LIMITS = {50: 0.5, 200: 1.5, 2000: 15.0}


def prepare(package: str, mode: str | None, links: str) -> Any:
    """Compile the chain with its gradient and call it once."""
    import theano
    import theano.tensor as T

    x, w = T.dvector("x"), T.dvector("w")
    h = x
    for _ in range(int(links)):
        h = T.tanh(h * w + h.sum() * 1e-3)
    cost = h.sum()
    return theano.function([x, w], [cost, *T.grad(cost, [x, w])])(numpy.linspace(0, 1, 100), numpy.ones(100))


def run(options: Options) -> list[Row]:
    """Measure each length in processes of their own, with empty caches."""
    return [
        compare_cold(
            Row(f"building a chain of {links} links with its gradient: empty caches{COUNTED}", limit=limit),
            "chain",
            {OURS: "theano"},
            options,
            str(links),
        )
        for links, limit in LIMITS.items()
    ]
