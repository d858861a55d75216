"""Imports and look-ups of widely used programs of the time: each name exists, and is of the expected kind."""

from __future__ import annotations

import importlib
import inspect
import unittest
from typing import Any

import theano
import theano.tensor as T

# Program -> module -> names. Names that the programs take from layers that are not there yet (loops, sparse matrices,
# devices) are left out; so are optional ones.
PROGRAMS: dict[str, dict[str, str]] = {
    "Deep Learning Tutorials": {
        "theano": "config function shared In Param OrderedUpdates tensor printing grad clone",
        "theano.tensor": "matrix ivector lscalar cast dot tanh nnet mean log arange neq eq argmax grad switch sum sqrt",
        "theano.tensor.nnet": "sigmoid softmax binary_crossentropy categorical_crossentropy",
        "theano.tensor.shared_randomstreams": "RandomStreams",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.compile.ops": "as_op",
        "theano.misc.pkl_utils": "dump load",
        "theano.printing": "pydotprint debugprint Print",
    },
    "Lasagne": {
        "theano": "config shared function grad clone gof scalar",
        "theano.compile": "SharedVariable ViewOp view_op",
        "theano.gof": "Apply Op Variable",
        "theano.gradient": "grad_undefined consider_constant",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.tensor": "TensorType TensorVariable TensorConstant as_tensor_variable addbroadcast patternbroadcast "
        "set_subtensor unbroadcast specify_shape tensordot concatenate constant inc_subtensor alloc eye maximum",
        "theano.tensor.basic": "as_tensor_variable",
        "theano.tensor.nnet": "relu softplus elu selu conv2d conv3d softmax categorical_crossentropy",
        "theano.tensor.signal": "pool conv",
        "theano.tensor.signal.pool": "pool_2d pool_3d",
    },
    "Blocks and Fuel": {
        "theano": "Variable config printing tensor",
        "theano.gof": "Op Apply graph",
        "theano.gof.graph": "Constant Variable inputs io_toposort stack_search",
        "theano.gof.op": "get_test_value",
        "theano.compile": "SharedVariable function",
        "theano.compile.sharedvalue": "SharedVariable",
        "theano.misc.pkl_utils": "dump load PersistentNdarrayID PersistentSharedVariableID",
        "theano.printing": "debugprint",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.tensor": "TensorConstant shape_padright shape_padleft as_tensor_variable and_ eq or_",
        "theano.tensor.shared_randomstreams": "RandomStreams",
        "theano.tensor.sharedvar": "TensorSharedVariable",
        "theano.tensor.var": "TensorConstant TensorVariable",
        "theano.tensor.type": "TensorType",
    },
    "Keras": {
        "theano": "config function shared grad In",
        "theano.compile.sharedvalue": "SharedVariable",
        "theano.gof.fg": "MissingInputError",
        "theano.ifelse": "ifelse",
        "theano.printing": "Print",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.sandbox.softsign": "softsign",
        "theano.tensor": "extra_ops patternbroadcast batched_dot batched_tensordot switch set_subtensor clip round "
        "sgn erf tile repeat any all argmin prod var std minimum floor cumsum cumprod ge gt le lt neq eq TensorType",
        "theano.tensor.extra_ops": "to_one_hot",
        "theano.tensor.nnet": "relu sigmoid hard_sigmoid softmax softplus binary_crossentropy bn conv2d conv3d",
        "theano.tensor.nnet.abstract_conv": "AbstractConv2d_gradInputs AbstractConv3d_gradInputs separable_conv2d",
        "theano.tensor.nnet.bn": "batch_normalization_train batch_normalization_test batch_normalization",
        "theano.tensor.signal.pool": "pool_2d pool_3d",
        "theano.tensor.nnet.nnet": "softsign",
    },
    "PyMC3": {
        "theano": "config shared function clone grad scalar tensor",
        "theano.compile": "SharedVariable view_op ViewOp",
        "theano.compile.ops": "as_op",
        "theano.gof": "Op Apply Variable Constant",
        "theano.gof.graph": "inputs Constant Variable",
        "theano.gradient": "grad_not_implemented DisconnectedType hessian jacobian grad_undefined zero_grad",
        "theano.ifelse": "ifelse",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.scalar": "UnaryScalarOp BinaryScalarOp upgrade_to_float upgrade_to_float_no_complex float_types "
        "discrete_types complex_types int_types upcast_out",
        "theano.scalar.basic": "UnaryScalarOp upgrade_to_float",
        "theano.scalar.basic_scipy": "GammaLn Psi",
        "theano.tensor": "Op Apply Variable Constant as_tensor power as_tensor_variable TensorVariable Elemwise "
        "nlinalg slinalg extract_diag advanced_set_subtensor1 inc_subtensor set_subtensor logaddexp erfinv gammaln",
        "theano.tensor.nlinalg": "matrix_inverse det extract_diag trace matrix_dot alloc_diag",
        "theano.tensor.slinalg": "cholesky solve solve_lower_triangular solve_upper_triangular Cholesky Solve",
        "theano.tensor.sharedvar": "SharedVariable TensorSharedVariable",
        "theano.tensor.subtensor": "AdvancedIncSubtensor AdvancedIncSubtensor1 AdvancedSubtensor AdvancedSubtensor1 "
        "IncSubtensor Subtensor",
        "theano.tensor.var": "TensorConstant TensorVariable",
        "theano.tests.unittest_tools": "verify_grad",
    },
    "Pylearn2": {
        "theano": "config function shared printing gof tensor scalar sandbox Variable compile",
        "theano.compat": "OrderedDict izip six exc_message cmp",
        "theano.compat.python2x": "OrderedDict",
        "theano.compat.six": "string_types iteritems moves viewitems raise_from wraps create_bound_method "
        "assertRaisesRegex",
        "theano.compat.six.moves": "xrange reduce cPickle zip input builtins copyreg queue urllib intern reload_module",
        "theano.compile.mode": "get_default_mode FAST_RUN",
        "theano.configparser": "AddConfigVar BoolParam IntParam StrParam EnumStr FloatParam config TheanoConfigParser",
        "theano.gof.op": "get_debug_values debug_assert debug_error_message",
        "theano.gof.cmodule": "get_lib_extension get_module_cache get_gcc_shared_library_arg",
        "theano.gof.compilelock": "get_lock release_lock",
        "theano.gof.utils": "hash_from_code",
        "theano.gof.var": "Constant Variable",
        "theano.gradient": "consider_constant DisconnectedType disconnected_grad format_as",
        "theano.printing": "Print min_informative_str var_descriptor",
        "theano.sandbox.rng_mrg": "MRG_RandomStreams",
        "theano.tensor.basic": "get_scalar_constant_value as_tensor_variable NotScalarConstantError",
        "theano.tensor.xlogx": "xlogx",
    },
    "Theano-LSTM, Mariana, nolearn, sklearn-theano": {
        "theano": "gof function shared config tensor",
        "theano.gof": "Apply Op",
        "theano.gradient": "grad_not_implemented",
        "theano.tensor": "discrete_dtypes float_dtypes hashtype TensorType as_tensor_variable NotScalarConstantError",
        "theano.tensor.basic": "int_dtypes uint_dtypes complex_dtypes all_dtypes get_vector_length extract_constant "
        "inverse_permutation ScalarFromTensor TensorFromScalar MakeVector Shape",
        "theano.tensor.raise_op": "Raise",
        "theano.tensor.shared_randomstreams": "RandomStreams",
        "theano.tensor.type": "values_eq_approx_remove_inf_nan values_eq_approx_remove_nan "
        "values_eq_approx_always_true",
    },
    "ops of third parties": {
        "theano.compile": "optdb register_view_op_c_code register_deep_copy_op_c_code AddDestroyHandler",
        "theano.compile.mode": "optdb Mode predefined_linkers OPT_FAST_RUN",
        "theano.gof": "PureOp CLinkerOp COp OpenMPOp hashtype MethodNotDefined DestroyHandler NullType view_roots",
        "theano.gof.opt": "local_optimizer PatternSub OpSub in2out out2in copy_stack_trace LocalOptGroup",
        "theano.gof.toolbox": "Feature ReplaceValidate is_same_graph",
        "theano.misc.doubleop": "DoubleOp",
        "theano.misc.may_share_memory": "may_share_memory",
        "theano.misc.ordered_set": "OrderedSet",
        "theano.misc.safe_asarray": "_asarray",
        "theano.misc.strutil": "render_string",
        "theano.misc.windows": "call_subprocess_Popen output_subprocess_Popen",
        "theano.raise_op": "Raise",
        "theano.tensor.blas": "ldflags blas_header_text blas_header_version gemm_inplace Gemm local_dot_to_dot22",
        "theano.tensor.blas_headers": "blas_header_text",
        "theano.tensor.elemwise": "Elemwise DimShuffle CAReduce Sum",
        "theano.tensor.opt": "register_canonicalize register_specialize register_stabilize MakeVector Shape_i Assert",
        "theano.tests.unittest_tools": "InferShapeTester OptimizationTestMixin assert_allclose fetch_seed seed_rng",
    },
}


class TestImports(unittest.TestCase):
    def test_each_name_that_programs_import(self) -> None:
        for program, modules in PROGRAMS.items():
            for module, names in modules.items():
                result = importlib.import_module(module)
                for name in names.split():
                    with self.subTest(program, module=module, name=name):
                        self.assertIsNotNone(getattr(result, name))

    def test_what_is_subclassed_is_a_class(self) -> None:
        for thing in (T.Op, T.Apply, T.Variable, T.Constant, theano.gof.PureOp, theano.scalar.UnaryScalarOp):
            self.assertTrue(inspect.isclass(thing), thing)
        self.assertIs(T.Op, theano.gof.Op)

    def test_one_list_serves_a_package_and_its_basic_module(self) -> None:
        pairs: tuple[tuple[Any, Any], ...] = (
            (T, T.basic),
            (theano.scalar, theano.scalar.basic),
            (theano.typed_list, theano.typed_list.basic),
        )
        for package, basic in pairs:
            for name, value in vars(basic).items():
                if not name.startswith("_"):
                    with self.subTest(name):
                        self.assertIs(getattr(package, name), value)
