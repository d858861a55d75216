from ._table import special_definitions as special_definitions

__all__ = ["special_definitions"]
