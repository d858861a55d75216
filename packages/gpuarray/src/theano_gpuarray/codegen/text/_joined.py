"""Kernels side by side in one launch: each work-group does what a group of one of them does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from theano_linker_c.codegen.ir import Assign, Let, Opaque, Region, Statement, value_of_text

from .._kernel_text import DeviceKernel, KernelText, LocalArray, Parameter
from ._helpers import build_text

__all__ = ["joined_text"]

#: Words for groups: they stand for the device's numbers in a launch of its own, and here for those of a part of one.
_GROUPS = ("GID_0", "GID_1", "GDIM_0", "GDIM_1")
_OWN_GROUPS = tuple(line for word in _GROUPS for line in (f"#undef {word}", f"#define {word} theano_{word.lower()}"))
_PLACE = tuple(
    Let(f"theano_{word}", "uint32_t", value_of_text(text))
    for word, text in (
        ("gid_0", "(theano_flat - theano_begin) % theano_across"),
        ("gid_1", "(theano_flat - theano_begin) / theano_across"),
        ("gdim_0", "theano_across"),
        ("gdim_1", "(theano_end - theano_begin) / theano_across"),
    )
)


@lru_cache(maxsize=256)
def joined_text(kernels: tuple[tuple[KernelText, int], ...]) -> KernelText:
    """Return a kernel that does the work of several launches, whose work-groups have one and the same size.

    Its groups are those of the first launch, then those of the second one, and so on. Launches of one text share its
    statements, and differ in what is passed.

    Parameters
    ----------
    kernels : tuple of (KernelText, int)
        Texts of kernels that are known, and of how many launches each is.

    Returns
    -------
    KernelText
        For each launch there are the number of its first group, how many groups it has along the first dimension, and
        its own parameters.
    """
    parameters: list[Parameter] = []
    body: list[Statement] = [Opaque(("const uint32_t theano_flat = GID_0, theano_all = GDIM_0;", *_OWN_GROUPS))]
    functions: dict[str, None] = {}
    preamble: dict[str, None] = {}
    parts = [(text.kernel, count) for text, count in kernels if text.kernel is not None]
    first, total = 0, sum(count for _, count in parts)
    for kernel, count in parts:
        functions.update(dict.fromkeys(kernel.functions))
        preamble.update(dict.fromkeys(kernel.preamble))
        for k in range(first, first + count):
            parameters += [Parameter("I", f"theano_begin{k}"), Parameter("I", f"theano_across{k}")]
            parameters += [_of_launch(parameter, k) for parameter in kernel.parameters]
        body.append(_block(kernel, first, count, first + count == total))
        first += count
    single = all(kernel.single_item for kernel, _ in parts)
    local = joined_arrays(kernel for kernel, _ in parts)
    return build_text(
        "joined", DeviceKernel(tuple(parameters), tuple(body), local, tuple(functions), tuple(preamble), single)
    )


def joined_arrays(kernels: Iterable[DeviceKernel]) -> tuple[LocalArray, ...]:
    """Return the arrays in local memory of kernels of which a group runs one: those of one name share memory."""
    arrays: dict[str, LocalArray] = {}
    for array in (array for kernel in kernels for array in kernel.local):
        other = arrays.setdefault(array.name, array)
        assert other.kind == array.kind, "arrays of one name have one type"
        arrays[array.name] = max(array, other, key=lambda each: each.lengths)
    return tuple(arrays.values())


def _of_launch(parameter: Parameter, k: int) -> Parameter:
    return replace(parameter, name=f"launch{k}_{parameter.name}")


def _block(kernel: DeviceKernel, first: int, count: int, is_last: bool) -> Region:
    """Return the statements of the groups of all launches of one text."""
    end = "theano_all" if is_last else f"theano_begin{first + count}"
    head = f"{'else ' * (first > 0)}{f'if (theano_flat < {end})' * (not is_last)}".rstrip()
    variables = [(name, "uint32_t") for name in ("theano_begin", "theano_end", "theano_across")]
    variables += [(parameter.name, parameter.kind) for parameter in kernel.parameters]
    body: list[Statement] = [Let(name, kind, None, False) for name, kind in variables]
    for k in range(first, first + count):
        last = k == first + count - 1
        stop = end if last else f"theano_begin{k + 1}"
        values = [f"theano_begin{k}", stop, f"theano_across{k}"]
        values += [_of_launch(parameter, k).name for parameter in kernel.parameters]
        choice = f"{'else ' * (k > first)}{f'if (theano_flat < {stop})' * (not last)}".rstrip()
        pairs = zip(variables, values, strict=True)
        body.append(Region(choice, tuple(Assign(name, value_of_text(value)) for (name, _), value in pairs)))
    return Region(head, (*body, *_PLACE, *kernel.body))
