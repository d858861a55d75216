"""Deferred compilers while a function is linked: they note missing kernels, or hand out compiled ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..compiler import CompilerOptions
from ..cop import library as thunk_library
from ..cop._compilation._node_code import NodeCode, has_perform
from ..kernels import Kernel, LoadedKernel, library

if TYPE_CHECKING:
    from ..cop._compilation._units import LoadedCode


class MustWaitError(Exception):
    """The compiler has to be waited for: an op has C code only."""


class Collector:
    """Gives kernels that are loaded or on disk, and notes the others.

    Attributes
    ----------
    kernels : dict of Kernel to None
        The kernels to compile, in order.
    node_codes : list of NodeCode
        The C code of ops that has to be.
    found : dict of Kernel to LoadedKernel or None
        The kernels at hand.
    """

    def __init__(self, options: CompilerOptions) -> None:
        self.options = options
        self.kernels: dict[Kernel, None] = {}
        self.node_codes: list[NodeCode] = []
        self.found: dict[Kernel, LoadedKernel | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compile."""
        return not self.kernels and not self.node_codes

    def build(self, kernels: Sequence[Kernel]) -> list[LoadedKernel | None]:
        """Return the machine code of kernels at hand."""
        present, missing = library.present(kernels, self.options)
        self.found.update(present)
        self.kernels.update(dict.fromkeys(missing))
        return [present.get(kernel) for kernel in kernels]

    def load(self, sources: Sequence[NodeCode]) -> list[LoadedCode] | None:
        """Return the machine code of ops' C code where all of it is there.

        Raises
        ------
        MustWaitError
            If it is not, and one of the ops has nothing else.
        """
        units = thunk_library.present(sources, self.options)
        if units is None:
            if not all(has_perform(node_code.node.op) for node_code in sources):
                raise MustWaitError
            self.node_codes.extend(sources)
        return units


class Supplier:
    """Hands out compiled kernels; further ones are compiled at once."""

    def __init__(self, options: CompilerOptions, found: Mapping[Kernel, LoadedKernel | None]) -> None:
        self.options = options
        self._found = found

    def build(self, kernels: Sequence[Kernel]) -> list[LoadedKernel | None]:
        """Return the machine code of kernels."""
        others = [kernel for kernel in kernels if kernel not in self._found]
        made = dict(zip(others, library.build(others, self.options), strict=True)) if others else {}
        return [made[kernel] if kernel in made else self._found[kernel] for kernel in kernels]

    def load(self, sources: Sequence[NodeCode]) -> list[LoadedCode] | None:
        """Return the machine code of ops' C code."""
        return thunk_library.load(sources, self.options)
