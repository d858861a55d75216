"""Write the types of the flags of `theano.config` for type checkers and editors, from their declarations.

    python tools/generate_flags.py            write packages/theano/src/theano/_flags.pyi
    python tools/generate_flags.py --check    only say whether it is out of date

It imports the library that it describes, so it needs an environment with all layers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from theano import config
from theano_graph import BoolFlag, FlagKind, FloatFlag, IntFlag

FILE = Path(__file__).resolve().parents[1] / "packages" / "theano" / "src" / "theano" / "_flags.pyi"
WIDTH = 120
HEAD = '''"""The flags of `theano.config` with their types, for editors and type checkers.

tools/generate_flags.py writes this file.
"""

from collections.abc import Callable, Mapping
from typing import Any

from theano_graph import ChangedFlags, Flag, FlagKind

'''
METHODS = """
    # Names that are no flags are errors; a program reads flags that it adds by `getattr`.
    def add_flag(
        self,
        name: str,
        doc: str,
        kind: FlagKind[Any],
        *,
        fixed: bool = False,
        on_change: Callable[[Any], None] | None = None,
    ) -> None: ...
    def flag_names(self) -> list[str]: ...
    def flag(self, name: str) -> Flag: ...
    def setting(self, name: str) -> str | None: ...
    def change_flags(self, values: Mapping[str, Any] | None = None, /, **flags: Any) -> ChangedFlags: ...
    def source_of(self, name: str) -> str: ...
    def unused_settings(self) -> list[str]: ...
    def check_settings(self) -> list[str]: ...
"""

Tree = Mapping[str, Any]


def tree() -> dict[str, Any]:
    """Return the flags as a tree: the sections are mappings, the leaves are types and purposes."""
    sections_tree: dict[str, Any] = {}
    for name in config.flag_names():
        *sections, last = name.split(".")
        branch = sections_tree
        for section in sections:
            branch = branch.setdefault(section, {})
        flag = config.flag(name)
        branch[last] = (type_of(flag.kind), " ".join(flag.doc.split()))
    return sections_tree


def type_of(kind: FlagKind[Any]) -> str:
    """Return the name of the type of a flag's values; words are text, too."""
    for cls, name in ((BoolFlag, "bool"), (IntFlag, "int"), (FloatFlag, "float")):
        if isinstance(kind, cls):
            return name
    return str(getattr(kind, "value_type", "str"))


def classes(name: str, flags: Tree, end: str = "") -> Iterator[str]:
    """Yield the classes of the sections below a class, and then the class."""
    lines = [f"class {name}:"]
    for key, item in flags.items():
        if isinstance(item, Mapping):
            section = f"{name.removesuffix('Flags')}{key[0].upper()}{key[1:]}Flags"
            yield from classes(section, item)
            lines.append(f"    {key}: {section}")
        else:
            kind, doc = item
            line = f"    {key}: {kind}  # {doc}"
            lines.append(line if len(line) <= WIDTH else line[: WIDTH - 3].rsplit(" ", 1)[0] + " ...")
    yield "\n".join(lines) + "\n" + end


def text() -> str:
    """Return the text of the generated file."""
    return HEAD + "\n".join(classes("Flags", tree(), METHODS))


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; the exit status tells")
    if not parser.parse_args().check:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text():
        return 0
    print(f"{FILE.name} differs from the declarations of flags; hint: python tools/generate_flags.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
