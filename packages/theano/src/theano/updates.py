"""Updates of shared variables, checked when they are added."""

from theano_linker_c import OrderedUpdates as OrderedUpdates, SharedVariable as SharedVariable
