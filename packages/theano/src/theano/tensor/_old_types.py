"""Old names of the classes of types."""

from theano_tensor import TensorType

#: The class of types of arrays, by its oldest name.
Tensor = TensorType
