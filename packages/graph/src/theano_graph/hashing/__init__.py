"""The computation of a graph as a short text, the same in each process: structural hashes of graphs and of values.

`_hasher` walks over values and `_scope` over graphs, `_digests` hashes bytes and arrays, `_canonical` pickles plain
values, `_code` reads the code of users, and `_modules` its references to modules. `_copied` tells which
classes of variables say nothing. `import theano` does not load this package.
"""

from ._code import NoStructuralHashError, is_known_module, known_name
from ._hasher import StructuralHasher, structural_hash
from ._scope import GraphScope, hex_digest

__all__ = [
    "GraphScope",
    "NoStructuralHashError",
    "StructuralHasher",
    "hex_digest",
    "is_known_module",
    "known_name",
    "structural_hash",
]
