"""Word vectors: words that stand beside the same words get vectors that point the same way (skip-gram).

Run ``python examples/word_vectors.py [--quick] [--picture words.png]``. The text is the reference of the Python
language, which each Python carries with it (``pydoc_data.topics``); the picture shows frequent words in a plane.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, as_float, drawing, parameter, run

import theano
import theano.tensor as T
from theano.tensor.nnet import softplus

WINDOW, NEGATIVE, SIZE = 3, 5, 50


def text() -> tuple[Array, list[str], Array]:
    """Return the text as numbers of words, the words that occur ten times or more, and how often each does."""
    words = re.findall(r"[a-z_]+", " ".join(topics.values()).lower())
    counts = {word: n for word, n in Counter(words).most_common() if n >= 10}
    number = {word: k for k, word in enumerate(counts)}
    return np.array([number[word] for word in words if word in number]), list(counts), np.array([*counts.values()])


def pairs(numbers: Array) -> tuple[Array, Array]:
    """Return each word with each of its neighbours."""
    shifts = [(numbers[:-k], numbers[k:]) for k in range(1, WINDOW + 1)]
    left, right = (np.concatenate(side) for side in zip(*shifts, strict=True))
    return np.concatenate([left, right]), np.concatenate([right, left])


class Vectors:
    """A vector of each word, and one of each word as a neighbour."""

    def __init__(self, rng: np.random.Generator, words: int) -> None:
        self.vectors = parameter(rng, "vectors", words, SIZE, scale=0.1)
        self.contexts = parameter(rng, "contexts", words, SIZE, scale=0.1)

    def training(self) -> Any:
        """Return a function of words, neighbours, and words drawn by chance, that takes a step and gives the loss."""
        word, context, chance = T.lvector("word"), T.lvector("context"), T.lmatrix("chance")
        # Gradients by the rows that a batch reads, not by the whole matrices.
        v, c, others = self.vectors[word], self.contexts[context], self.contexts[chance]
        good = (v * c).sum(axis=1)
        bad = (v.dimshuffle(0, "x", 1) * others).sum(axis=2)
        loss = softplus(-good).sum() + softplus(bad).sum()
        slopes = T.grad(loss, [v, c, others])
        rate = T.scalar("rate")
        updates = [
            (self.vectors, T.inc_subtensor(v, -rate * slopes[0])),
            (self.contexts, T.inc_subtensor(T.inc_subtensor(c, -rate * slopes[1])[chance], -rate * slopes[2])),
        ]
        return theano.function([word, context, chance, rate], loss / word.shape[0], updates=updates)


class Found(NamedTuple):
    """Results: losses, and the nearest words of some words."""

    losses: list[float]
    near: dict[str, list[str]]


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(5)
    numbers, words, counts = text()
    # Frequent words say little about their neighbours; most of their occurrences are left out.
    sample = numbers[rng.random(len(numbers)) < np.sqrt(2e-3 * len(numbers) / counts[numbers])]
    model = Vectors(rng, len(words))
    step = model.training()
    chances = counts**0.75 / (counts**0.75).sum()
    epochs, size, losses = 4 if quick else 40, 200, []
    for epoch in range(epochs):
        word, context = pairs(sample)
        order = rng.permutation(len(word))
        drawn = rng.choice(len(words), size=(len(word), NEGATIVE), p=chances)
        rate = as_float(0.1 * (1 - epoch / epochs))
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        losses.append(float(np.mean([step(word[p], context[p], drawn[p], rate) for p in parts])))

    vectors = model.vectors.get_value()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = {}
    for name in ("left", "integer", "raised", "true", "async", "import", "class"):
        order = np.argsort(-vectors @ vectors[words.index(name)])
        near[name] = [words[k] for k in order[1:9]]
        print(f"{name}: {', '.join(near[name])}")
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {len(words)} words")
    if picture is not None:
        draw(picture, vectors, words)
    return Found(losses, near)


def draw(path: Path, vectors: Array, words: list[str]) -> None:
    shown = [k for k, word in enumerate(words) if len(word) > 3][:90]
    centred = vectors[shown] - vectors[shown].mean(axis=0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    with drawing(path, size=(9, 6)) as axes:
        axes.scatter(*plane.T, s=4)
        for (across, up), k in zip(plane, shown, strict=True):
            axes.annotate(words[k], (across, up), fontsize=8)


if __name__ == "__main__":
    run(main, __doc__)
