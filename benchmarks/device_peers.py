"""The contenders on devices: how they are set up, so that all compute alike, and how calls are compared."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy
from harness import NOT_INSTALLED, OURS, Options, compare, peer, version

#: By name, the factory of a call that waits for its result; None stands for a contender that is not installed.
Contenders: TypeAlias = Mapping[str, Callable[[], Callable[[], object] | None]]
_LINE = 160


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a case.

    Attributes
    ----------
    ours : float
        Seconds of a call.
    beside : dict of str to float or str
        Seconds of contenders, or why there are none; the first one is that of the aim.
    note : str
        Anything else to report.
    """

    ours: float
    beside: dict[str, float | str] = field(default_factory=dict)
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Our time divided by that of the contender of the aim; None where that is not known."""
        first = next(iter(self.beside.values()), None)
        return self.ours / first if isinstance(first, float) and first > 0 else None


def turns(quick: bool) -> Options:
    """Return the number of turns and their length."""
    return Options(rounds=5, turn_seconds=0.02) if quick else Options(rounds=21, turn_seconds=0.1)


def first_line(error: BaseException) -> str:
    """Return the first line of an error, with its class."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no text'}"[:_LINE]


def contest(ours: Callable[[], object], theirs: Contenders, quick: bool) -> Figures:
    """Time calls in turns; a contender that fails is left out, and its error told in its place.

    Raises
    ------
    Exception
        If our own call fails.
    """
    ours()
    calls: dict[str, Callable[[], object]] = {OURS: ours}
    beside: dict[str, float | str] = {}
    for name, make in theirs.items():
        beside[name] = NOT_INSTALLED
        try:
            call = make()
            if call is not None:
                call()
                calls[name] = call
        except Exception as error:  # noqa: BLE001  # the others are measured after any error
            beside[name] = f"fails: {first_line(error)}"
    times = compare(calls, turns(quick))
    ours_time = times.pop(OURS)
    assert isinstance(ours_time, float), "ours is always there"
    return Figures(ours_time, beside | times)


def _is_on_cuda() -> bool:
    theano: Any = importlib.import_module("theano")
    return bool(theano.gpuarray.type.get_context(None).kind == "cuda")


def _on_same_device(name: str, there: bool) -> None:
    """Refuse a contender that would compute on the processor while we compute on a card."""
    if _is_on_cuda() and not there:
        raise RuntimeError(f"the {name} that is installed has no code for this device")


def jax() -> Any:
    """Return JAX, whose products of float32 are not rounded to TF32; None where it is not installed."""
    module: Any = peer("jax")
    if module is not None:
        module.config.update("jax_default_matmul_precision", "float32")
        _on_same_device("jax", module.default_backend() in ("gpu", "cuda"))
    return module


def on_device_of_jax(make: Callable[[], Callable[..., Any]], values: tuple[Any, ...]) -> Callable[[], object] | None:
    """Return a call of a step of JAX with data on its device."""
    module = jax()
    return None if module is None else partial(make(), *(module.device_put(value) for value in values))


def torch(tf32: bool) -> Any:
    """Return PyTorch, which rounds products of float32 to TF32 if that is asked for; None where it is not installed."""
    module: Any = peer("torch")
    if module is not None:
        module.backends.cuda.matmul.allow_tf32 = tf32
        module.backends.cudnn.allow_tf32 = tf32
        _on_same_device("torch", module.cuda.is_available())
    return module


def cupy() -> Any:
    """Return CuPy; None where it is not installed."""
    module: Any = peer("cupy")
    if module is not None:
        module.cuda.runtime.getDeviceCount()  # an error where there is none
    return module


def describe_device() -> str:
    """Return names and versions of the device, of its driver and libraries, and of all contenders."""
    theano: Any = importlib.import_module("theano")
    context = theano.gpuarray.type.get_context(None)
    properties = context.driver.properties(context.native.index)
    parts = [f"{context.devname}: {context.description}", str(properties["version"])]
    number, _ = context.driver.version("cudnn")
    parts += [f"cuDNN {number}"] * bool(number) + _from_nvidia(context.kind)
    parts += [f"theano {theano.__version__}", f"numpy {numpy.__version__}"]
    names = ("jax", "jaxlib", "torch", "cupy-cuda13x", "cupy-cuda12x", "cupy")
    return ", ".join(parts + [f"{name} {release}" for name in names if (release := version(name)) != NOT_INSTALLED])


def _from_nvidia(kind: str) -> list[str]:
    """Return the version of the driver of a card, as its own program tells it."""
    if kind != "cuda":
        return []
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return ["nvidia-smi tells nothing"]
    return [f"nvidia-smi: {'; '.join(done.stdout.split(chr(10))).strip('; ')}"]
