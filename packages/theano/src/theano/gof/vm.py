"""Linkers of machines that evaluate lazily."""

from typing import TYPE_CHECKING

from theano_linker_c.linkers import VM_Linker as VM_Linker

from .._lazy import lazy_names

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config

    from . import link as link
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "config",
            "theano": "theano",
            ".": "link",
        },
    )
