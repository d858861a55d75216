"""A recurrent net with LSTM cells that writes text, one character after the other, as it has learned from real text.

Run ``python examples/lstm_text.py [--quick] [--picture loss.png]``. The text is the reference of the Python language,
which each Python carries with it (``pydoc_data.topics``).
"""

from __future__ import annotations

import re
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NamedTuple

import numpy as np
from demo_tools import Array, adam, as_float, drawing, parameter, run, zeros

import theano
import theano.tensor as T
from theano.tensor.nnet import categorical_crossentropy, sigmoid, softmax

STEPS, BATCH = 50, 32
LETTERS = "abcdefghijklmnopqrstuvwxyz .,()_'"


def text() -> Array:
    """Return the numbers of all letters of the text."""
    words = re.sub(r"[^a-z.,()_']+", " ", " ".join(topics.values()).lower())
    return np.array([LETTERS.index(letter) for letter in words])


class Lstm:
    """A layer of LSTM cells between letters and the probabilities of the next letter."""

    def __init__(self, rng: np.random.Generator, hidden: int) -> None:
        letters = len(LETTERS)
        self.hidden = hidden
        self.letters = parameter(rng, "letters", letters, 4 * hidden, scale=0.1)
        self.states = parameter(rng, "states", hidden, 4 * hidden)
        # Cells remember at first: the bias of the gate that forgets is one.
        self.bias = theano.shared(as_float(np.repeat([0.0, 1.0, 0.0, 0.0], hidden)), name="bias")
        self.out, self.out_bias = parameter(rng, "out", hidden, letters), zeros("out_bias", letters)
        self.params = [self.letters, self.states, self.bias, self.out, self.out_bias]

    def step(self, letters: Any, h: Any, c: Any) -> tuple[Any, Any]:
        """Return states and cells after one more letter of each text in a batch."""
        n = self.hidden
        gates = self.letters[letters] + T.dot(h, self.states) + self.bias
        take, keep, show = (sigmoid(gates[:, k * n : (k + 1) * n]) for k in range(3))
        c = keep * c + take * T.tanh(gates[:, 3 * n :])
        return show * T.tanh(c), c

    def next_letters(self, h: Any) -> Any:
        return softmax(T.dot(h, self.out) + self.out_bias)


class Found(NamedTuple):
    """Results: bits a letter after each part of the training, on unseen text, and a text that the net writes."""

    bits: list[float]
    unseen: float
    written: str


def train(net: Lstm, letters: Array, steps: int) -> tuple[list[float], Any]:
    """Train on many places of the text at once; return the bits a letter, and their function for another text."""
    x = T.lmatrix("x")  # one column a place, one row a letter
    start = [theano.shared(as_float(np.zeros((BATCH, net.hidden)))) for _ in range(2)]
    (h, c), _ = theano.scan(net.step, sequences=x[:-1], outputs_info=start)
    predicted = net.next_letters(h.reshape((-1, net.hidden)))
    bits = categorical_crossentropy(predicted, x[1:].flatten()).mean() / np.log(2)
    # States go on where the last part of the text ended; gradients do not.
    updates = [*adam(bits, net.params, 0.004), (start[0], h[-1]), (start[1], c[-1])]
    step = theano.function([x], bits, updates=updates, name="train")
    columns = letters[: len(letters) // BATCH * BATCH].reshape(BATCH, -1).T
    losses = []
    for i in range(steps):
        at = i * STEPS % (len(columns) - STEPS - 1)
        losses.append(float(step(columns[at : at + STEPS + 1])))
    return losses, theano.function([x], bits, updates=updates[-2:], name="evaluate")


def write(net: Lstm, rng: np.random.Generator, count: int) -> str:
    """Return text that the net writes, each letter drawn with the probability that the net gives it."""
    letter, h, c = T.lvector("letter"), T.matrix("h"), T.matrix("c")
    after = net.step(letter, h, c)
    step = theano.function([letter, h, c], [net.next_letters(after[0]), *after], name="write")
    state = [as_float(np.zeros((1, net.hidden))) for _ in range(2)]
    written = [LETTERS.index(" ")]
    for _ in range(count):
        chances, *state = step([written[-1]], *state)
        sharper = np.asarray(chances[0], dtype="float64") ** 1.5
        written.append(int(rng.choice(len(LETTERS), p=sharper / sharper.sum())))
    return "".join(LETTERS[k] for k in written)


def main(quick: bool = False, picture: Path | None = None) -> Found:
    rng = np.random.default_rng(4)
    letters = text()
    net = Lstm(rng, 64 if quick else 192)
    bits, evaluate = train(net, letters[:-40_000], 100 if quick else 2500)
    stream = letters[-40_000:][: 40_000 // BATCH * BATCH].reshape(BATCH, -1).T
    unseen = float(np.mean([evaluate(stream[at : at + STEPS + 1]) for at in range(0, 500, STEPS)]))
    written = write(net, rng, 200)
    print(f"{bits[0]:.2f} -> {bits[-1]:.2f} bits a letter, {unseen:.2f} on unseen text; it writes:\n{written}")
    if picture is not None:
        with drawing(picture) as axes:
            axes.plot(bits)
            axes.set_xlabel("step")
            axes.set_ylabel("bits a letter")
            axes.set_title(f"“{written[-80:].strip()}”", fontsize=9)
    return Found(bits, unseen, written)


if __name__ == "__main__":
    run(main, __doc__)
