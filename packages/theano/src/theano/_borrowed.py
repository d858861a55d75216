"""Names that modules of Theano had because they imported them themselves, and that programs and star imports took.

For each module the sources of such names, as `theano._lazy.lazy_names` reads them; they are imported when asked for.
"""

BORROWED: dict[str, dict[str, str]] = {
    "theano.compile": {
        "theano": "gof theano",
        "theano.gof": "graph",
    },
    "theano.compile.builders": {
        "theano": "gof theano",
    },
    "theano.compile.debugmode": {
        "theano": "gof theano",
        "theano.gof": "graph link utils",
    },
    "theano.compile.function": {
        "theano": "compat",
    },
    "theano.compile.function_module": {
        "theano": "gof theano",
        "theano.gof": "graph",
    },
    "theano.compile.io": {
        "theano": "gof",
    },
    "theano.compile.mode": {
        "theano": "gof theano",
    },
    "theano.compile.monitormode": {
        "theano": "theano",
    },
    "theano.compile.nanguardmode": {
        "theano": "T=tensor theano",
    },
    "theano.compile.ops": {
        "theano": "gof theano",
    },
    "theano.compile.profiling": {
        "theano": "theano",
        "theano.gof": "graph",
    },
    "theano.compile.sharedvalue": {
        "theano.gof": "utils",
    },
    "theano.d3viz.formatting": {
        "theano": "gof theano",
        "theano.compile": "Function builders",
    },
    "theano.gof.compiledir": {
        "theano": "theano",
    },
    "theano.gof.op": {
        "theano.gof.cmodule": "GCC_compiler",
    },
    "theano.gradient": {
        "theano": "gof theano",
        "theano.gof": "utils",
    },
    "theano.ifelse": {
        "theano": "gof theano",
        "theano.tensor": "opt",
    },
    "theano.printing": {
        "theano": "gof theano",
        "theano.compile": "debugmode",
    },
    "theano.raise_op": {
        "theano": "gof",
    },
    "theano.sandbox.multinomial": {
        "theano": "T=tensor theano",
        "theano.gof": "Apply Op",
        "theano.scalar": "as_scalar",
    },
    "theano.sandbox.rng_mrg": {
        "theano": "gradient scal=scalar tensor theano",
        "theano.compile": "function shared",
        "theano.gof": "Apply Op ParamsType Variable local_optimizer",
        "theano.gradient": "undefined_grad",
        "theano.sandbox": "multinomial",
        "theano.tensor": "TensorType as_tensor_variable cast get_vector_length opt",
    },
    "theano.scalar": {
        "theano": "gof printing theano",
        "theano.gof": "utils",
        "theano.scalar.basic_scipy": "TriGamma",
        "theano.tensor": "grad_not_implemented",
    },
    "theano.scalar.basic": {
        "theano": "gof printing theano",
        "theano.gof": "utils",
    },
    "theano.scalar.basic_scipy": {
        "theano": "theano",
    },
    "theano.scan_module.scan": {
        "theano": "compile gof tensor",
        "theano.compile": "ops",
        "theano.scan_module": "scan_op scan_utils",
        "theano.tensor": "opt",
    },
    "theano.scan_module.scan_checkpoints": {
        "theano": "theano",
    },
    "theano.scan_module.scan_op": {
        "theano": "compile gof gradient tensor theano",
        "theano.compile": "ScanProfileStats",
        "theano.scan_module": "scan_utils",
    },
    "theano.scan_module.scan_opt": {
        "theano": "gof scalar tensor theano",
        "theano.gof": "toolbox",
        "theano.scan_module": "scan_op scan_utils",
        "theano.tensor": "opt",
    },
    "theano.scan_module.scan_utils": {
        "theano": "compat gof scalar tensor theano",
    },
    "theano.tensor": {
        "theano.tensor._constant_signature": "TensorConstantSignature",
        "theano.tensor._old_printers": "SubtensorPrinter",
        "theano.tensor.extra_ops": "DiffOp",
        "theano.tensor.opt": "make_constant",
        "theano.tensor.subtensor": (
            "AdvancedBooleanIndexingError AdvancedIndexingError BaseAdvancedIncSubtensor "
            "BaseAdvancedSubtensor adv_index_broadcastable_pattern advanced_boolean_inc_subtensor "
            "advanced_boolean_set_subtensor advanced_boolean_subtensor as_index_variable "
            "check_advanced_indexing_dimensions check_and_reject_bool get_canonical_form_slice "
            "get_idx_list"
        ),
    },
    "theano.tensor.basic": {
        "theano.tensor._constant_signature": "TensorConstantSignature",
    },
    "theano.tensor.blas": {
        "theano.gof.opt": "inherit_stack_trace",
    },
    "theano.tensor.blas_c": {
        "theano.gof": "ParamsType",
        "theano.tensor": "T=basic",
    },
    "theano.tensor.blas_headers": {
        "theano.gof.cmodule": "GCC_compiler",
    },
    "theano.tensor.elemwise": {
        "theano.misc.frozendict": "frozendict",
        "theano.tensor._old_printers": "DimShufflePrinter",
    },
    "theano.tensor.inplace": {
        "theano": "scal=scalar",
    },
    "theano.tensor.io": {
        "theano": "gof theano",
        "theano.tensor": "tensor",
    },
    "theano.tensor.nnet.abstract_conv": {
        "theano": "theano",
        "theano.gof": "Apply Op",
        "theano.tensor": (
            "Assert NotScalarConstantError as_tensor_variable get_scalar_constant_value patternbroadcast"
        ),
    },
    "theano.tensor.nnet.blocksparse": {
        "theano": "theano",
        "theano.gof": "Apply Op",
        "theano.tensor": "grad_undefined",
    },
    "theano.tensor.nnet.bn": {
        "theano": "theano",
        "theano.gof": "Apply Op copy_stack_trace local_optimizer",
        "theano.scalar": "Composite",
        "theano.tensor": "T=basic TensorType add as_tensor_variable mul sub true_div",
        "theano.tensor.opt": "register_specialize_device",
    },
    "theano.tensor.nnet.conv": {
        "theano": "theano",
        "theano.gof": "Apply OpenMPOp",
        "theano.tensor": "NotScalarConstantError as_tensor_variable blas get_scalar_constant_value patternbroadcast",
        "theano.tensor.nnet.abstract_conv": "get_conv_output_shape get_conv_shape_1axis",
    },
    "theano.tensor.nnet.conv3d2d": {
        "theano": "tensor theano",
        "theano.gof": "Apply Op TopoOptimizer copy_stack_trace",
        "theano.tensor": "DisconnectedType",
    },
    "theano.tensor.nnet.corr": {
        "theano": "gof theano",
        "theano.gof": "Apply EnumList ParamsType",
        "theano.tensor": "TensorType as_tensor_variable blas_headers",
        "theano.tensor.blas": "blas_header_version ldflags",
        "theano.tensor.nnet.abstract_conv": "get_conv_output_shape",
    },
    "theano.tensor.nnet.corr3d": {
        "theano": "gof theano",
        "theano.gof": "Apply EnumList ParamsType",
        "theano.tensor": "TensorType as_tensor_variable blas_headers",
        "theano.tensor.blas": "blas_header_version ldflags",
        "theano.tensor.nnet.abstract_conv": "get_conv_output_shape",
    },
    "theano.tensor.nnet.ctc": {
        "theano": "T=tensor gof",
        "theano.gof": "local_optimizer",
        "theano.gof.cmodule": "GCC_compiler",
        "theano.tensor": "cpu_contiguous grad_undefined",
        "theano.tensor.opt": "register_canonicalize",
    },
    "theano.tensor.nnet.neighbours": {
        "theano": "T=tensor theano",
        "theano.gof": "Apply EnumList Op",
        "theano.tensor": "grad_not_implemented grad_undefined",
    },
    "theano.tensor.nnet.nnet": {
        "theano": "gof scalar theano",
        "theano.gof": "Apply copy_stack_trace",
        "theano.tensor": (
            "DisconnectedType as_tensor_variable elemwise extra_ops grad_not_implemented opt subtensor tensor=basic"
        ),
        "theano.tensor.type": "values_eq_approx_remove_inf values_eq_approx_remove_nan",
    },
    "theano.tensor.nnet.opt": {
        "theano": "compile gof theano",
        "theano.tensor": "opt",
        "theano.tensor.opt": "register_specialize_device",
    },
    "theano.tensor.nnet.sigm": {
        "theano": "gof printing scalar theano",
        "theano.tensor": "elemwise opt tensor=basic",
    },
    "theano.tensor.opt": {
        "theano.gof": "InconsistencyError",
        "theano.tensor": "advanced_inc_subtensor1 advanced_subtensor advanced_subtensor1 extract_constant",
        "theano.tensor._old_printers": "MakeVectorPrinter",
        "theano.tensor.blas": "values_eq_approx_remove_inf_nan",
        "theano.tensor.sort": "TopKOp",
        "theano.tensor.subtensor": "get_canonical_form_slice get_idx_list",
        "theano.tensor.type": "values_eq_approx_remove_inf values_eq_approx_remove_nan",
    },
    "theano.tensor.opt_uncanonicalize": {
        "theano": "gof scal=scalar",
        "theano.tensor": "T=basic",
    },
    "theano.tensor.raw_random": {
        "theano": "gof tensor theano",
        "theano.tensor": "opt",
    },
    "theano.tensor.shared_randomstreams": {
        "theano.compile": "SharedVariable shared shared_constructor",
        "theano.tensor": "raw_random",
    },
    "theano.tensor.sharedvar": {
        "theano": "theano",
    },
    "theano.tensor.signal.conv": {
        "theano": "tensor theano",
        "theano.tensor.nnet": "conv",
    },
    "theano.tensor.signal.pool": {
        "theano": "gof tensor theano",
        "theano.gof": "Apply EnumList OpenMPOp ParamsType Variable",
        "theano.tensor": "DisconnectedType",
    },
    "theano.tensor.subtensor": {
        "theano.tensor._old_printers": "SubtensorPrinter",
    },
    "theano.tensor.type": {
        "theano": "scal=scalar theano",
    },
    "theano.tensor.type_other": {
        "theano": "theano",
    },
    "theano.tensor.utils": {
        "theano": "theano",
    },
    "theano.tensor.var": {
        "theano": "theano",
        "theano.scalar": "ComplexError IntegerDivisionError",
    },
    "theano.tensor.xlogx": {
        "theano": "scalar",
    },
    "theano.tests.unittest_tools": {
        "theano": "T=tensor theano",
    },
    "theano.typed_list": {
        "theano": "T=tensor theano",
        "theano.gof": "Apply Constant Op Variable",
        "theano.tensor": "SliceType",
        "theano.typed_list": "opt",
    },
    "theano.typed_list.basic": {
        "theano": "T=tensor theano",
        "theano.gof": "Apply Constant Op Variable",
        "theano.tensor": "SliceType",
        "theano.typed_list.type": "TypedListType",
    },
    "theano.typed_list.opt": {
        "theano": "compile gof",
        "theano.gof.opt": "TopoOptimizer",
    },
    "theano.typed_list.type": {
        "theano": "gof",
    },
    "theano.sparse": {
        "scipy.sparse": "bsr_matrix",
        "theano.gradient": "DisconnectedType grad_not_implemented grad_undefined",
    },
    "theano.sparse.basic": {
        "scipy.sparse": "bsr_matrix",
        "theano.gradient": "DisconnectedType grad_not_implemented grad_undefined",
    },
    "theano.sparse.opt": {
        "theano.tensor.opt": "register_canonicalize register_specialize",
    },
    "theano.sparse.sandbox.sp": {
        "theano.gof": "Op",
        "theano.sparse.basic": (
            "ColScaleCSC Diag EnsureSortedIndices Remove0 RowScaleCSC SpSum SquareDiagonal clean col_scale "
            "diag ensure_sorted_indices remove0 row_scale sp_sum square_diagonal"
        ),
        "theano.tensor.opt": "register_specialize",
    },
    "theano.sparse.sandbox.sp2": {
        "theano.sparse.basic": (
            "AddSSData CSC CSM CSMProperties CSR Cast EliminateZeros=Remove0 HStack MulSV Remove0 "
            "SamplingDot SparseType StructuredAddSV VStack add_s_s add_s_s_data as_sparse_variable bcast "
            "ccast csm_data csm_indices csm_indptr csm_properties csm_shape dcast dot "
            "eliminate_zeros=remove0 fcast hstack icast lcast mul_s_d mul_s_s mul_s_v neg remove0 "
            "sampling_dot structured_add structured_add_s_v structured_exp structured_log structured_maximum "
            "structured_minimum structured_monoid structured_pow structured_sigmoid vstack wcast zcast"
        ),
        "theano.sparse.opt": (
            "MulSDCSC MulSDCSR MulSVCSR SamplingDotCSR StructuredAddSVCSR mul_s_d_csc mul_s_d_csr "
            "mul_s_v_csr sampling_dot_csr structured_add_s_v_csr"
        ),
        "theano.tensor.opt": "register_specialize",
    },
    "theano.sparse.sandbox.truedot": {
        "theano.sparse.basic": "SparseType as_sparse_variable dense_from_sparse transpose",
        "theano.sparse.tests.test_basic": "sparse_random_inputs",
    },
    "theano.sparse.utils": {
        "theano.gof.utils": "hash_from_code",
    },
}
