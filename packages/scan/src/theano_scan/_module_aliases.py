"""Earlier names of modules of this package: pickles that were written with them are read (`theano_graph`)."""

ALIASES = {
    "_call._checkpoints": "_call._views",
    "_call._step_call": "_call._arguments",
    "_derivatives._documented": "_loop._derivatives",
    "_derivatives._lowering": "_loop._derivatives",
    "_derivatives._running": "_loop._derivatives",
    "_device_steps": "device",
    "_loop._buffers": "_loop._plan",
    "_loop._checks": "_loop._plan",
    "_loop._kinds": "_loop._plan",
    "_loop._stores": "_loop._run",
    "rewrites._merging": "rewrites._simplify",
    "rewrites._pruning": "rewrites._simplify",
}
