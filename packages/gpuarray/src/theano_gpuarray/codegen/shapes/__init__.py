"""Views, joins, and arrays that follow from lengths, on devices."""

from . import _joins as _joins, _routines as _routines, _views as _views

__all__: list[str] = []
