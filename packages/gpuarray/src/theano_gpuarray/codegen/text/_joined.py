"""Kernels side by side in one launch: each work-group does what a group of one of them does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .._form import KernelSource, KernelText
from ._helpers import build_text

__all__ = ["joined_text"]

_ARRAY = re.compile(r"(\w+)\[")
#: What a kernel knows of groups, and the variables that say it of its own launch.
_GROUPS = re.compile(r"\b(?:GID|GDIM)_[01]\b")


@lru_cache(maxsize=256)
def joined_text(kernels: tuple[tuple[KernelText, int], ...]) -> KernelText:
    """Return a kernel that does the work of several launches, whose work-groups have one and the same size.

    Its groups are those of the first launch, then those of the second one, and so on. Launches of one text share its
    statements, and differ in what is passed.

    Parameters
    ----------
    kernels : tuple of (KernelText, int)
        Texts that have their source, and of how many launches each is.

    Returns
    -------
    KernelText
        For each launch there are the number of its first group, how many groups it has along the first dimension, and
        its own parameters.
    """
    declared: list[str] = []
    letters: list[str] = []
    body = ["const uint32_t theano_flat = GID_0, theano_all = GDIM_0;"]
    blocks: list[str] = []
    functions: dict[str, None] = {}
    preamble: dict[str, None] = {}
    first, total = 0, sum(count for _, count in kernels)
    for t, (text, count) in enumerate(kernels):
        source = text.source
        assert source is not None, "only texts with their source are joined"
        functions.update(dict.fromkeys(source.functions))
        preamble.update(dict.fromkeys(source.preamble))
        for k in range(first, first + count):
            declared += [f"const uint32_t theano_begin{k}", f"const uint32_t theano_across{k}"]
            declared += [_renamed(p, k) for p in source.parameters]
            letters += ["II", text.parameters]
        shared, lines = _split(source, t)
        body += shared
        blocks += _block(source, first, count, first + count == total, t, lines)
        first += count
    single = all(text.source is not None and text.source.single_item for text, _ in kernels)
    made = KernelSource(tuple(declared), (*body, *blocks), tuple(functions), tuple(preamble), single)
    return build_text("joined", made, "".join(letters))


def _name(parameter: str) -> str:
    return re.split(r"\W+", parameter)[-1]


def _renamed(parameter: str, k: int) -> str:
    name = _name(parameter)
    return f"{parameter[: -len(name)]}launch{k}_{name}"


def _split(source: KernelSource, t: int) -> tuple[list[str], list[str]]:
    """Return the declarations of local memory, which stand before all blocks, and the other statements."""

    def own(line: str) -> str:
        line = _GROUPS.sub(lambda found: f"theano_{found[0].lower()}", line)
        return names.sub(lambda found: f"text{t}_{found[0]}", line)

    is_shared = [line.lstrip().startswith("LOCAL_MEM ") for line in source.lines]
    arrays = [name for line, flag in zip(source.lines, is_shared, strict=True) if flag for name in _ARRAY.findall(line)]
    names = re.compile(rf"\b(?:{'|'.join(arrays) or '(?!)'})\b")
    shared = [own(line).strip() for line, flag in zip(source.lines, is_shared, strict=True) if flag]
    return shared, [own(line) for line, flag in zip(source.lines, is_shared, strict=True) if not flag]


def _block(source: KernelSource, first: int, count: int, is_last: bool, t: int, lines: Sequence[str]) -> Iterator[str]:
    """Give the statements of the groups of all launches of one text."""
    end = "theano_all" if is_last else f"theano_begin{first + count}"
    yield f"{'else ' * (t > 0)}{f'if (theano_flat < {end}) ' * (not is_last)}{{"
    yield "uint32_t theano_begin, theano_end, theano_across;"
    for parameter in source.parameters:
        yield f"{parameter.removeprefix('const ')};"
    for k in range(first, first + count):
        last = k == first + count - 1
        stop = end if last else f"theano_begin{k + 1}"
        yield f"{'else ' * (k > first)}{f'if (theano_flat < {stop}) ' * (not last)}{{"
        yield f"theano_begin = theano_begin{k}; theano_end = {stop}; theano_across = theano_across{k};"
        for parameter in source.parameters:
            yield f"{_name(parameter)} = launch{k}_{_name(parameter)};"
        yield "}"
    yield "const uint32_t theano_gid_0 = (theano_flat - theano_begin) % theano_across;"
    yield "const uint32_t theano_gid_1 = (theano_flat - theano_begin) / theano_across;"
    yield "const uint32_t theano_gdim_0 = theano_across;"
    yield "const uint32_t theano_gdim_1 = (theano_end - theano_begin) / theano_across;"
    yield from lines
    yield "}"
