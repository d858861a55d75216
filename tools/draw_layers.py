"""Write the drawing of the layers into docs/architecture.md, from their declared requirements.

python tools/draw_layers.py            write it
python tools/draw_layers.py --check    only say whether it is out of date

The drawing is in Mermaid's language, which code hosts draw.
"""

from __future__ import annotations

import ast
import sys

from _house import RELEASED, ROOT, layer, split_requirements

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- layers: written by tools/draw_layers.py -->", "<!-- /layers -->"


def required(name: str) -> list[str]:
    """Return the direct requirements of a layer, without the ones that another requirement brings along."""
    ours, _ = split_requirements(layer(name).requires)
    names = [item.name for item in ours]
    brought = {other for item in names for other in everything_below(item)}
    return [item for item in RELEASED if item in names and item not in brought]


def everything_below(name: str) -> set[str]:
    """Return all layers that a layer requires, directly or not."""
    ours, _ = split_requirements(layer(name).requires)
    names = {item.name for item in ours}
    return names.union(*(everything_below(item) for item in names))


def subject(name: str) -> str:
    """Return the docstring of a layer's package, up to the first colon."""
    text = ast.get_docstring(ast.parse((layer(name).source / "__init__.py").read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0].split(":")[0].rstrip(".")


def drawing() -> str:
    """Return the drawing in Mermaid's language."""
    lines = ["```mermaid", "flowchart BT"]
    lines += [f'    {name}["<b>{name}</b><br/>{subject(name)}"]' for name in RELEASED]
    lines += [f"    {name} --> {below}" for name in RELEASED for below in required(name)]
    return "\n".join([*lines, "```"])


def main() -> None:
    """Write the drawing, or compare it."""
    text = PAGE.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    new = f"{text[:start]}\n{drawing()}\n{text[stop:]}"
    if new == text:
        return
    if "--check" in sys.argv[1:]:
        sys.exit("docs/architecture.md: the drawing of the layers is out of date; run `python tools/draw_layers.py`")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
