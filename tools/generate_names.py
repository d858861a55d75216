"""Write the names that modules take from elsewhere: those of layers, and those of the umbrella, listed in `names.toml`.

    python tools/generate_names.py            write them
    python tools/generate_names.py --check    only list stale files

The table of a module says for each source which names come from it: `"theano_graph" = "Apply Constant"`. The word
`Argmax=ArgMax` is another name for `ArgMax`. The source `"import"` is for modules (`np=numpy`). A table `lazy` lists
the lazy imports. The words `* -a -b` stand for all public names of a package of a layer
but `a` and `b`. `mirrors = ".basic"` gives a package each public name of its module.
In the module, this tool writes the lines between the two markers; the rest is written by hand.
`_namespaces.py` describes how layers name the definitions of their modules, and how scalar ops become functions of
tensors.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from _house import LAYERS, ROOT, layer
from _namespaces import exported, module_path, packages, written as namespace_written

UMBRELLA = ROOT / "packages" / "theano" / "src" / "theano"
DATA = ROOT / "packages" / "theano" / "names.toml"
BEGIN = "# Names of names.toml, written by tools/generate_names.py."
END = "# End of the names of names.toml."
WIDTH = 120
LAZY, MIRRORS, IMPORT = "lazy", "mirrors", "import"

Table = Mapping[str, Any]


def path_of(module: str) -> Path:
    """Return the file of a module, named without the leading ``theano.``; the empty name is the umbrella itself."""
    folder = UMBRELLA.joinpath(*module.split(".")) if module else UMBRELLA
    package = folder / "__init__.py"
    return package if package.exists() else folder.with_suffix(".py")


def pairs(words: str) -> Iterator[tuple[str, str]]:
    """Yield (name here, name in the source) for each word."""
    for word in words.split():
        name, _, original = word.partition("=")
        yield name, original or name


def all_of(source: str, words: str) -> str:
    """Return words without `*`, in the place of which the public names of a package of a layer stand."""
    operand = words.split()
    if "*" not in operand:
        return words
    package, *modules = source.split(".")
    (root,) = (layer(name).source for name in LAYERS if layer(name).module == package)
    left_out = {word.removeprefix("-") for word in operand if word.startswith("-")}
    names = [name for name in exported(module_path(root / "__init__.py", ".".join(modules))) if name not in left_out]
    return " ".join([*names, *(word for word in operand if word != "*" and not word.startswith("-"))])


def with_all(table: Table) -> Table:
    """Return a table in which no `*` stands any more."""
    return {key: all_of(key, value) if isinstance(value, str) else value for key, value in table.items()}


def packed(words: Iterable[str], indent: str) -> Iterator[str]:
    """Yield lines of words, as many in a line as its width allows."""
    line = indent
    for word in words:
        if len(line) + len(word) + 2 > WIDTH and line.strip():
            yield within_width(line)
            line = indent
        line += word + ", "
    yield within_width(line)


def within_width(line: str) -> str:
    """Return a line without trailing spaces; with `noqa` where a single name is too long for it."""
    line = line.rstrip()
    return line if len(line) <= WIDTH else f"{line}  # noqa: E501"


def import_lines(source: str, words: str, indent: str = "") -> Iterator[str]:
    """Yield the statement that imports names from a source."""
    taken = list(pairs(words))
    if source == IMPORT:
        yield from (f"{indent}import {original} as {name}" for name, original in taken)
        return
    names = [f"{original} as {name}" for name, original in taken]
    line = f"{indent}from {source} import {', '.join(names)}"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"{indent}from {source} import ("
        yield from packed(names, indent + "    ")
        yield f"{indent})"


def public_names(module: str, data: Mapping[str, Table]) -> list[str]:
    """Return the names of a star import from a module: its table, and definitions by hand."""
    table = data.get(module, {})
    names = [name for source, words in eager(table) for name, _ in pairs(words)]
    tree = ast.parse(without_block(path_of(module).read_text(encoding="utf-8")))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return sorted({name for name in names if not name.startswith("_")})


def eager(table: Table) -> Iterator[tuple[str, str]]:
    """Yield the sources and words of a table that are imported with the module."""
    return ((source, words) for source, words in table.items() if source not in (LAZY, MIRRORS))


def resolved(module: str, table: Table, data: Mapping[str, Table]) -> dict[str, Any]:
    """Return the table of a module with the names that it mirrors."""
    result = dict(table)
    mirrored = result.pop(MIRRORS, None)
    if mirrored is not None:
        other = f"{module}{mirrored}" if module else mirrored[1:]
        names = {name for _, words in eager(table) for name, _ in pairs(words)}
        result[mirrored] = " ".join(name for name in public_names(other, data) if name not in names)
        names |= {name for words in result.get(LAZY, {}).values() for name, _ in pairs(words)}
        there = [name for words in data[other].get(LAZY, {}).values() for name, _ in pairs(words)]
        lazy = " ".join(name for name in there if name not in names)
        if lazy:
            result[LAZY] = {**result.get(LAZY, {}), mirrored: lazy}
    return result


def block(module: str, data: Mapping[str, Table]) -> str:
    """Return the lines between the markers of a module."""
    table = resolved(module, data[module], data)
    lazy: dict[str, str] = table.pop(LAZY, {})
    depth = len(module.split(".")) if module else 0
    dots = "." * (depth + (path_of(module).name == "__init__.py"))
    lines = [BEGIN, "# fmt: off", "# isort: off"]
    taken = {name for words in (*dict(eager(table)).values(), *lazy.values()) for name, _ in pairs(words)}
    below = [name for name in children(f"theano.{module}".rstrip(".")) if name not in taken]
    if lazy or below:
        lines += ["from typing import TYPE_CHECKING", ""]
    if lazy:
        lines += [f"from {dots}_names import lazy_names", ""]
    for source, words in eager(table):
        lines += import_lines(source, words)
    if lazy or below:
        lines += ["", "if TYPE_CHECKING:"]
        lines += import_lines(".", " ".join(below), "    ") if below else []
    if lazy:
        for source, words in lazy.items():
            lines += import_lines(source, words, "    ")
        lines += ["else:", "    __getattr__, __dir__ = lazy_names(__name__, __package__, {"]
        for source, words in lazy.items():
            lines += lazy_lines(source, words)
        lines += ["    })"]
    return "\n".join([*lines, "# isort: on", "# fmt: on", END]) + "\n"


def lazy_lines(source: str, words: str) -> Iterator[str]:
    """Yield the entry of one source in the table of lazy imports."""
    text = " ".join(words.split())
    line = f'        "{source}": "{text}",'
    if len(line) <= WIDTH:
        yield line
        return
    yield f'        "{source}": ('
    part = ""
    for word in text.split():
        if len(part) + len(word) + 16 > WIDTH:
            yield f'            "{part}"'
            part = ""
        part += word + " "
    yield f'            "{part.rstrip()}"'
    yield "        ),"


def without_block(text: str) -> str:
    """Return the text of a module without this tool's lines."""
    begin, end = text.find(BEGIN), text.find(END)
    return text if begin < 0 else text[:begin] + text[end + len(END) + 1 :]


def written(module: str, data: Mapping[str, Table]) -> str:
    """Return the text of a module with its block brought up to date."""
    path = path_of(module)
    text = path.read_text(encoding="utf-8")
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < 0:
        sys.exit(f"{path} has no lines {BEGIN!r} and {END!r}\n  Hint: put both where the names belong.")
    return text[:begin] + block(module, data) + text[end + len(END) + 1 :]


def layers_out_of_date(check: bool) -> list[str]:
    """Return which packages of layers were out of date, and bring them up to date unless they are only checked."""
    stale = []
    for path in packages():
        exported.cache_clear()
        text = namespace_written(path)
        if text != path.read_text(encoding="utf-8"):
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(text, encoding="utf-8")
    exported.cache_clear()
    return stale


@cache
def without_file() -> dict[str, dict[str, str]]:
    """Return the modules of the table ``names.tsv`` that have no file, with the words of each source."""
    modules: dict[str, dict[str, str]] = {}
    path = UMBRELLA / "names.tsv"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        module, source, words = line.split("\t")
        if not source or words == "=":
            modules.setdefault(module, {})
        if source[:1].isalpha() and module in modules:
            modules[module][source] = words
    return modules


def children(module: str) -> list[str]:
    """Return the names of the modules without a file directly below one."""
    return [name.rpartition(".")[2] for name in without_file() if name.rpartition(".")[0] == module]


def stubs() -> Iterator[tuple[str, Path, str]]:
    """Yield the name, the file and the text of the stub of each module without a file: type checkers read them."""
    for module, sources in without_file().items():
        lines = ["# Written by tools/generate_names.py from names.tsv.", "# fmt: off"]
        for source, words in sources.items():
            if words == "=":
                lines.append(f"from {source} import *")
                continue
            for name, original in pairs(words):
                if source == original == "theano":
                    lines.append("import theano as theano")
                elif original in (".", source.partition(".")[0]):
                    lines += [f"import {source if original == '.' else original} as _{name}", f"{name} = _{name}"]
                elif name == original:
                    lines.append(f"from {source} import {name} as {name}")
                else:
                    lines += [f"from {source} import {original} as _{original}", f"{name} = _{original}"]
        taken = {name for words in sources.values() for name, _ in pairs(words)}
        lines += [f"from . import {name} as {name}" for name in children(module) if name not in taken]
        path = UMBRELLA.joinpath(*module.split(".")[1:])
        yield module, path / "__init__.pyi" if children(module) else path.with_suffix(".pyi"), "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the blocks of all modules, and the stubs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    stale = layers_out_of_date(options.check)
    listed: dict[str, Table] = tomllib.loads(DATA.read_text(encoding="utf-8"))
    data = {key: with_all(table) for key, table in listed.items()}
    for name in data:
        module = "" if name == "theano" else name.removeprefix("theano.")
        tables = {key.removeprefix("theano").removeprefix("."): table for key, table in data.items()}
        text = written(module, tables)
        if text != path_of(module).read_text(encoding="utf-8"):
            stale.append(name)
            if not options.check:
                path_of(module).write_text(text, encoding="utf-8")
    for name, path, text in stubs():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(f"the stub of {name}")
            if not options.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is out of date' if options.check else 'was brought up to date'}")
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
