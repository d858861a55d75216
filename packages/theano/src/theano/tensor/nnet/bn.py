"""Batch normalization."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.nnet.bn import (
    batch_normalization as batch_normalization, batch_normalization_test as batch_normalization_test,
    batch_normalization_train as batch_normalization_train,
)
from ._layer_ops import (
    AbstractBatchNormInference as AbstractBatchNormInference, AbstractBatchNormTrain as AbstractBatchNormTrain,
    AbstractBatchNormTrainGrad as AbstractBatchNormTrainGrad, BNComposite as BNComposite,
    as_common_dtype as as_common_dtype, bn_groupopt as bn_groupopt,
    local_abstract_batch_norm_inference as local_abstract_batch_norm_inference,
    local_abstract_batch_norm_train as local_abstract_batch_norm_train,
    local_abstract_batch_norm_train_grad as local_abstract_batch_norm_train_grad,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from ..._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
