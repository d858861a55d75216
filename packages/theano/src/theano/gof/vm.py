"""Linkers of machines that evaluate lazily."""

from theano_linker_c.linkers import VM_Linker as VM_Linker
