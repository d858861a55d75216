# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
import theano as theano
from theano.compile._historical import expandable_types as expandable_types
from theano.compile._historical import shape_i_op as shape_i_op
from theano_linker_c import DeepCopyOp as DeepCopyOp
from theano_linker_c import ViewOp as ViewOp
from theano_linker_c import deep_copy_op as deep_copy_op
from theano_linker_c import view_op as view_op
from theano_linker_c.ops import FromFunctionOp as FromFunctionOp
from theano_linker_c.ops import OutputGuard as OutputGuard
from theano_linker_c.ops import as_op as as_op
from theano_linker_c.ops import register_deep_copy_op_c_code as register_deep_copy_op_c_code
from theano_linker_c.ops import register_view_op_c_code as register_view_op_c_code
from theano_tensor import Rebroadcast as Rebroadcast
from theano_tensor import ShapeOf as _ShapeOf
Shape = _ShapeOf
from theano_tensor import ShapeI as _ShapeI
Shape_i = _ShapeI
from theano_tensor import SpecifyShape as SpecifyShape
from theano_tensor import register_rebroadcast_c_code as register_rebroadcast_c_code
from theano_tensor import register_shape_c_code as register_shape_c_code
from theano_tensor import register_shape_i_c_code as register_shape_i_c_code
from theano_tensor import register_specify_shape_c_code as register_specify_shape_c_code
from theano_tensor import shape as shape
from theano_tensor import specify_shape as specify_shape
from theano_tensor.rewrites import known_shape_i as _known_shape_i
shape_i = _known_shape_i
