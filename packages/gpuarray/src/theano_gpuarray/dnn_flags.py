"""The flags about convolutions of neural networks on devices, and their values."""

from __future__ import annotations

from theano_graph import EnumFlag, IntFlag, StrFlag, add_flag

#: Ways of choosing an algorithm at run time.
RUNTIME = ("guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change")
FORWARD = ("small", "none", "large", "fft", "fft_tiling", "winograd", "winograd_non_fused", *RUNTIME)
BACKWARD_DATA = ("none", "deterministic", "fft", "fft_tiling", "winograd", "winograd_non_fused", *RUNTIME)
BACKWARD_FILTER = ("none", "deterministic", "fft", "small", "winograd_non_fused", "fft_tiling", *RUNTIME)
PRECISIONS = ("as_input_f32", "as_input", "float16", "float32", "float64")

#: The algorithms of the library for volumes.
FORWARD_3D = ("none", "small", "fft_tiling", *RUNTIME)
BACKWARD_DATA_3D = ("none", "deterministic", "fft_tiling", *RUNTIME)
BACKWARD_FILTER_3D = ("none", "small", *RUNTIME)

_WHERE = "Where cuDNN computes them; read when a function is compiled. Kernels of our own are all computed in one way."
add_flag("dnn.conv.algo_fwd", f"The algorithm of convolutions. {_WHERE}", EnumFlag(*FORWARD))
add_flag("dnn.conv.algo_bwd_data", f"The algorithm of gradients by images. {_WHERE}", EnumFlag(*BACKWARD_DATA))
add_flag("dnn.conv.algo_bwd_filter", f"The algorithm of gradients by filters. {_WHERE}", EnumFlag(*BACKWARD_FILTER))
add_flag(
    "dnn.conv.precision",
    "The dtype in which `dnn_conv` and its gradients compute: of the operands, where float16 may be float32, or one.",
    EnumFlag(*PRECISIONS),
)
add_flag(
    "metaopt.verbose",
    "How much `conv_meta` prints when it measures convolutions: 0 nothing, 1 unsupported ones, 2 times and choices.",
    IntFlag(0),
)
add_flag(
    "metaopt.optimizer_excluding",
    "Ways of computing that `conv_meta` leaves out, separated by colons: 'conv_dnn', 'conv_gemm'.",
    StrFlag(""),
)
add_flag(
    "metaopt.optimizer_including",
    "Ways of computing that `conv_meta` tries besides the usual ones, separated by colons: there are none now.",
    StrFlag(""),
)
