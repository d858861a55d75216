"""Typed lists."""

from __future__ import annotations

from typing import Any

from theano import typed_list

from .._table import Site, rule


@rule("typed_list.MakeList")
def _make(site: Site) -> Any:
    return typed_list.make_list(site.inputs)


@rule("typed_list.GetItem")
def _item(site: Site) -> Any:
    return typed_list.getitem(*site.inputs)


@rule("typed_list.Append")
def _append(site: Site) -> Any:
    return typed_list.append(*site.inputs)


@rule("typed_list.Extend")
def _extend(site: Site) -> Any:
    return typed_list.extend(*site.inputs)


@rule("typed_list.Insert")
def _insert(site: Site) -> Any:
    return typed_list.insert(*site.inputs)


@rule("typed_list.Remove")
def _remove(site: Site) -> Any:
    return typed_list.remove(*site.inputs)


@rule("typed_list.Reverse")
def _reverse(site: Site) -> Any:
    return typed_list.reverse(*site.inputs)


@rule("typed_list.Index")
def _index(site: Site) -> Any:
    return typed_list.index_(*site.inputs)


@rule("typed_list.Count")
def _count(site: Site) -> Any:
    return typed_list.count(*site.inputs)


@rule("typed_list.Length")
def _length(site: Site) -> Any:
    return typed_list.length(*site.inputs)
