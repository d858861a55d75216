"""Flags of devices that nothing heeds, and of mistakes that this version never made: they may be set."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from theano_gpuarray.dnn_flags import BACKWARD_DATA, BACKWARD_FILTER, FORWARD, PRECISIONS, RUNTIME
from theano_graph import BoolFlag, FlagKind, FloatFlag, IntFlag, StrFlag

Declare = Callable[[str, str, FlagKind[Any], str], None]

#: The values of the flags ``dnn.conv.*``.
SUPPORTED_DNN_CONV_ALGO_FWD = FORWARD
SUPPORTED_DNN_CONV_ALGO_BWD_DATA = BACKWARD_DATA
SUPPORTED_DNN_CONV_ALGO_BWD_FILTER = BACKWARD_FILTER
SUPPORTED_DNN_CONV_ALGO_RUNTIME = RUNTIME
SUPPORTED_DNN_CONV_PRECISION = PRECISIONS

NO_DEVICE = "the code that runs on devices is of another kind, and has no such choice"
_NO_BUG = "this version never made that mistake, so that there is nothing to warn of"
_DEVICES: tuple[tuple[str, str, FlagKind[Any]], ...] = (
    ("gpu.local_elemwise_fusion", "Whether elementwise operations on devices are fused.", BoolFlag(True)),
    ("gpuelemwise.sync", "Whether elementwise operations wait for the device.", BoolFlag(True)),
    ("gpuarray.sync", "Whether each operation waits for the device.", BoolFlag(False)),
    ("dnn.conv.algo_bwd", "Old name of two other flags.", StrFlag("")),
    ("dnn.conv.workmem", "Old name of ``dnn.conv.algo_fwd``.", StrFlag("")),
    ("dnn.conv.workmem_bwd", "Old name of two other flags.", StrFlag("")),
    ("magma.enabled", "Whether MAGMA is used.", BoolFlag(False)),
    ("magma.include_path", "Folder of the headers of MAGMA.", StrFlag("")),
    ("magma.library_path", "Folder of the library of MAGMA.", StrFlag("")),
)
_BUGS = (
    ("argmax_pushdown_bug", "0.3"),
    ("gpusum_01_011_0111_bug", "0.3"),
    ("sum_sum_bug", "0.3"),
    ("sum_div_dimshuffle_bug", "0.3"),
    ("gpu_set_subtensor1", "0.6"),
    ("vm_gc_bug", "0.5"),
    ("signal_conv2d_interface", "0.5"),
    ("reduce_join", "0.6"),
    ("inc_set_subtensor1", "0.7"),
    ("round", "0.9"),
    ("identify_1pexp_bug", "0.4.1"),
    ("inc_subtensor1_opt", "1.0.2"),
)
_OTHERS: tuple[tuple[str, str, FlagKind[Any], str], ...] = (
    (
        "blas.check_openmp",
        "Whether it is checked that the BLAS library uses threads where others do.",
        BoolFlag(True),
        "the library says by itself how many threads it uses",
    ),
    (
        "cache_optimizations",
        "Whether optimized graphs are kept between processes.",
        BoolFlag(False),
        "optimizing takes less time than reading and comparing kept graphs",
    ),
    (
        "check_input",
        "Whether compiled code checks the types of its inputs.",
        BoolFlag(True),
        "the checks are made once where values come in, and cost next to nothing",
    ),
    (
        "experimental.local_alloc_elemwise",
        "Whether filled arrays that only broadcast are removed.",
        BoolFlag(True),
        "that is a rewrite like others: exclude `local_alloc_elemwise` to be without it",
    ),
    (
        "tensor.insert_inplace_optimizer_validate_nb",
        "After how many changes the in-place optimizer checks a graph.",
        IntFlag(-1),
        "checks cost only the changed nodes, so that none is left out",
    ),
    (
        "optdb.position_cutoff",
        "Where sequences of rewriters end.",
        FloatFlag(math.inf),
        "a query says so: `theano.gof.Query(..., position_cutoff=...)`, or its attribute",
    ),
    (
        "optdb.max_use_ratio",
        "How many times one rewriter may be applied for each node of a graph.",
        FloatFlag(8.0),
        "each equilibrium has a limit of its own, and says which rewriters undo each other where it is reached",
    ),
    (
        "pickle_test_value",
        "Whether pickles of variables have their test values.",
        BoolFlag(True),
        "they always have them; delete `variable.tag.test_value` before",
    ),
    (
        "unpickle_function",
        "Whether functions are made when they are read from pickles.",
        BoolFlag(True),
        "they always are; the flag ``reoptimize_unpickled_function`` says whether their graphs are rewritten again",
    ),
    (
        "tensor.local_elemwise_fusion",
        "Whether elementwise operations are fused.",
        BoolFlag(True),
        "that is a rewrite like others: exclude `fusion` to be without it",
    ),
    (
        "print_global_stats",
        "Whether numbers about all functions are printed at the end.",
        BoolFlag(False),
        "``profile=True`` prints them with the profiles",
    ),
    (
        "profiling.time_thunks",
        "Whether profiles have the time of each node.",
        BoolFlag(True),
        "profiles always have it",
    ),
)


def declare_all(declare: Declare, default_of: Callable[[str], bool]) -> None:
    """Declare the flags.

    Parameters
    ----------
    declare : callable
        Takes a name, a sentence, the kind of flag, and why it has no effect.
    default_of : callable
        Tells whether the user wants to hear of mistakes fixed in a version.
    """
    for name, doc, kind in _DEVICES:
        declare(name, doc, kind, NO_DEVICE)
    for name, version in _BUGS:
        doc = f"Whether to warn where versions before {version} were wrong."
        declare(f"warn.{name}", doc, BoolFlag(partial(default_of, version)), _NO_BUG)
    for name, doc, kind, why in _OTHERS:
        declare(name, doc, kind, why)
