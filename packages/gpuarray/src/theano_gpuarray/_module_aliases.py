"""Earlier names of modules of this package: pickles that were written with them are read (`theano_graph`)."""

ALIASES = {
    "codegen._copies": "codegen._kernel_writer",
    "codegen._kernel_text": "codegen._form",
    "codegen._refusals": "codegen._kernel_writer",
}
