"""Parts of arrays by index, on devices."""

from . import _read as _read, _write as _write

__all__: list[str] = []
