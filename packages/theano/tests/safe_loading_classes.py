"""Print the ops, types and classes of variables that the layers below have, by the names that these give them."""

from __future__ import annotations

import importlib
import pkgutil

import theano_linker_c
import theano_scan
import theano_sparse
import theano_tensor
from theano_graph import Op, Type, Variable

for package in (theano_linker_c, theano_tensor, theano_scan, theano_sparse):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)
todo: list[type] = [Op, Type, Variable]
seen: set[type] = set()
while todo:
    fresh: set[type] = set(todo.pop().__subclasses__()) - seen
    seen |= fresh
    todo += fresh
print(*sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in seen))
