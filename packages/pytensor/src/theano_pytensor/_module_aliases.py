"""Earlier names of modules of this package: pickles that were written with them are read (`theano_graph`)."""

ALIASES = {
    "_foreign": "_translation",
    "_pointer": "_linker",
    "_report": "_linker",
    "_table": "_translation",
    "_types": "_translation",
    "rules._blockwise": "rules._linear",
    "rules._control": "rules._scan",
    "rules._convolution": "rules._arrays",
    "rules._creation": "rules._arrays",
    "rules._extra": "rules._arrays",
    "rules._indexing": "rules._arrays",
    "rules._lists": "rules._arrays",
    "rules._loops": "rules._scan",
    "rules._scalars": "rules._elemwise",
    "rules._shapes": "rules._arrays",
}
