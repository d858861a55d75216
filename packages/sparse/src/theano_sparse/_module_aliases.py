"""Earlier names of modules of this package: pickles that were written with them are read (`theano_graph`)."""

ALIASES = {
    "_core._build": "_core._op",
    "_core._compressed": "_compressed",
    "_core._duplicates": "_core._conversion",
    "_native._forms": "_compressed",
    "_native._products": "_compressed",
    "_native._rewrites": "_rewrites",
    "_operations._sums": "_operations._structured",
}
