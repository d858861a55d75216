"""Whether the processes of MPI have the same parameters and the same batch, told by a few numbers that are summed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import ReferenceType, ref

import numpy as np

from theano_linker_c import Container

from ._gradients import Step

#: After so many steps all values are compared, so that a write into an array shows, too.
EVERY = 100
#: So many numbers of a row are looked at.
WIDTH = 64


class Watched:
    """The values that all processes have in common: parameters, and the rule's variables.

    A value that was set is another array than the last update left, which is seen without a look at its content. A
    checksum of each set value goes into :attr:`mark`, which is therefore the same where the same was set.

    Parameters
    ----------
    step : Step
        The functions of a training step.

    Attributes
    ----------
    mark : int
        A checksum of all that was set so far.
    """

    def __init__(self, step: Step) -> None:
        boxes = {id(v.container): v.container for v in [*step.params, *step.kept]}
        for i, box in enumerate(step.update.input_storage):
            if step.update.maker.inputs[i].value is box:
                boxes[id(box)] = box
        self._boxes: list[Container] = [box for box in boxes.values() if isinstance(box.value, np.ndarray)]
        self._seen: list[ReferenceType[Any]] = []
        self.mark = 0
        self.keep()

    def keep(self) -> None:
        """Take the values as they are now for known."""
        self._seen = [ref(box.value) for box in self._boxes]

    def begin(self) -> None:
        """Count all values as set now, and nothing before."""
        self.mark = self._sum(range(len(self._boxes)), 0)
        self.keep()

    def number(self, steps: int) -> int:
        """Return a number that tells the values of processes apart, before a step."""
        changed = [
            i for i, (box, seen) in enumerate(zip(self._boxes, self._seen, strict=True)) if box.value is not seen()
        ]
        if changed:
            self.mark = self._sum(changed, self.mark)
            self.keep()
        every = self._sum(range(len(self._boxes)), self.mark) if steps % EVERY == 0 else self.mark
        return zlib.crc32(f"{steps} {every}".encode())

    def _sum(self, chosen: Iterable[int], start: int) -> int:
        for i in chosen:
            start = zlib.crc32(np.ascontiguousarray(self._boxes[i].value).data, zlib.crc32(str(i).encode(), start))
        return start


def number_of_batch(batch: Sequence[Any], split: Sequence[bool]) -> int:
    """Return a number that tells batches apart by some numbers of their first, middle and last rows."""
    size = 0
    for part, rows in zip(batch, split, strict=True):
        array = np.asarray(part)
        if array.dtype.hasobject or not array.size:
            continue
        middle = len(array) // 2 if rows else 0
        some = [array[i:][:1].reshape(-1)[:WIDTH] for i in (0, middle, -1)] if rows else [array]
        for piece in some:
            size = zlib.crc32(piece.tobytes(), size)
    return size


def spread(number: int) -> list[float]:
    """Return the numbers to sum over processes, so that :func:`agree` can tell whether all have the same number."""
    halves = number & 0xFFFF, number >> 16
    return [float(value) for half in halves for value in (half, half**2)]


def agree(sums: Sequence[float], size: int) -> bool:
    """Tell from the sums of :func:`spread` whether `size` processes have the same number.

    Examples
    --------
    >>> [agree(np.add(spread(70000), spread(other)).tolist(), 2) for other in (70000, 70001)]
    [True, False]
    """
    pairs = zip(sums[::2], sums[1::2], strict=True)
    return all(int(total) ** 2 == int(squares) * size for total, squares in pairs)
