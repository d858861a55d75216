"""The flags as tables: text for a terminal, HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable

Row = tuple[str, str, str, str]
"""Name, value, where the value comes from, and what the flag is for."""

_HEAD: Row = ("flag", "value", "from", "meaning")
_LONGEST_VALUE = 40
_LONGEST_MEANING = 60
_DEFAULT = "the default"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."


def as_text(rows: Iterable[Row]) -> str:
    """Return rows as columns; long values and meanings are cut, and defaults have no source."""
    shown = [_HEAD]
    for name, value, source, meaning in rows:
        source = "" if source == _DEFAULT else source
        shown.append((name, _cut(value, _LONGEST_VALUE), source, _cut(meaning, _LONGEST_MEANING)))
    widths = [max(len(row[i]) for row in shown) for i in range(3)]
    lines = [
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]) for row in shown
    ]
    lines.insert(1, "  ".join("-" * width for width in [*widths, len(_HEAD[3])]))
    return "\n".join(line.rstrip() for line in lines)


def as_html(rows: Iterable[Row], title: str) -> str:
    """Return rows as a table that can be folded; settings that are no defaults are bold."""
    cells = []
    for name, value, source, meaning in rows:
        weight = "" if source == _DEFAULT else " style='font-weight:bold'"
        texts = (name, value, source, meaning)
        cells.append(f"<tr{weight}>{''.join(f'<td>{html.escape(text)}</td>' for text in texts)}</tr>")
    head = "".join(f"<th>{text}</th>" for text in _HEAD)
    return (
        "<style>.theano-config td,.theano-config th{font-family:monospace;text-align:left;vertical-align:top}</style>"
        f"<details open class='theano-config'><summary>{html.escape(title)}: {len(cells)} flags</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table></details>"
    )
