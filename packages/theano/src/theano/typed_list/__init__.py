"""Lists of values of one type."""

from . import basic as basic, type as type
from .basic import *
from .type import TypedListType as TypedListType
