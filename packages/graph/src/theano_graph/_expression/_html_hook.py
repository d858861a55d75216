"""How notebooks show what a graph is made of: the part of the layer that prints graphs says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _HtmlHook:
    """Holder of the function behind :meth:`ShownAsHtml._repr_html_`; one object so that it can be set once."""

    function: Callable[[Any], str] | None = None


html_hook = _HtmlHook()


class ShownAsHtml:
    """Gives a class that :func:`printable_graph` knows its picture in notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        assert html_hook.function is not None, "the package has been imported whole"
        return html_hook.function(self)
