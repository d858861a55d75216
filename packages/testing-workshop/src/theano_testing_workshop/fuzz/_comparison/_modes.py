"""What the graphs are compiled with, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theano_linker_c import Mode
from theano_linker_c.modes import FAST_RUN
from theano_linker_c.scalar import ScalarOp, special
from theano_tensor import device as device  # moves what is computed with arrays of devices there

from .._programs._program import Operation

#: Functions that devices compute by formulas of their own, less exactly than SciPy: they have tests of their own.
SPECIAL = frozenset(op.name for op in vars(special).values() if isinstance(op, ScalarOp))


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """A mode under test.

    Attributes
    ----------
    name : str
    make : callable
        Returns the mode.
    text : str
        Source of the mode.
    capture : int or None
        After how many calls the machine captures its kernel calls; None: never.
    exported : bool
        Whether functions are exported as C, each by itself, which is compiled and called.
    vectorized : bool
        Whether each graph is applied to a batch, of whose entries one is compared.
    device : str or None
        The device where all arguments and shared variables go, so that what has a form for devices runs there.
    """

    name: str
    make: Callable[[], Mode]
    text: str
    capture: int | None = None
    exported: bool = False
    vectorized: bool = False
    device: str | None = None


#: The graph as written, computed in Python: what all others are compared with.
PLAIN = Configuration("plain", lambda: Mode("py", None), 'Mode("py", None)')
#: Rewritten and compiled.
NATIVE = Configuration("FAST_RUN", lambda: Mode("cvm", "fast_run"), 'Mode("cvm", "fast_run")')
#: The same; the kernel calls of the first call are captured, and made again in the later ones.
CAPTURED = Configuration("FAST_RUN, captured", NATIVE.make, NATIVE.text, 0)

#: Rewritten, and exported as C that stands alone.
EXPORTED = Configuration("exported", lambda: Mode("py", "fast_run"), 'Mode("py", "fast_run")', exported=True)

#: Rewritten, and applied to a batch.
VECTORIZED = Configuration("vectorized", lambda: Mode("py", "fast_run"), 'Mode("py", "fast_run")', vectorized=True)


def on_device(devname: str) -> Configuration:
    """Return the configuration of a device, as "opencl0:0"."""
    return Configuration(f"FAST_RUN on {devname}", NATIVE.make, NATIVE.text, device=devname)


def drawn_for(devname: str | None, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations of which graphs are made that run on a device, or not on one."""
    return [operation for operation in operations if devname is None or operation.name not in SPECIAL]


def _made(linker: str, optimizer: str | None) -> Configuration:
    text = f"Mode({linker!r}, {optimizer!r})"
    return Configuration(f"{linker}/{optimizer}", lambda: Mode(linker, optimizer), text)


def _without(tag: str) -> Configuration:
    text = f'Mode("cvm", "fast_run").excluding({tag!r})'
    return Configuration(f"FAST_RUN without {tag}", lambda: FAST_RUN.excluding(tag), text)


#: Each of these is tried on a part of the graphs.
VARIANTS: tuple[Configuration, ...] = (
    _made("cvm", "fast_compile"),
    _made("py", "fast_run"),
    _made("cvm", None),
    _made("vm", "fast_run"),
    _made("c|py_nogc", "o3"),
    _made("cvm", "o2"),
    _made("cvm", "merge"),
    _made("cvm", "stabilize"),
    _made("cvm", "unsafe"),
    *map(
        _without, ("fusion", "inplace", "canonicalize", "stabilize", "specialize", "BlasOpt", "local_subtensor_merge")
    ),
)
