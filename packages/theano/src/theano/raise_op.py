"""An op that raises when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Op, batch_rule, describe, format_error
from theano_tensor import as_tensor_variable
from theano_tensor.batching import run_in_a_loop


class Raise(Op):
    """Raises an error when the function comes to it.

    Parameters
    ----------
    msg : str
        Text of the error.
    exc : type of exception

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano import raise_op
    >>> import theano, theano.tensor as T
    >>> x = T.dscalar("x")
    >>> f = theano.function([x], raise_op.Raise("not for me", ValueError)(x))
    >>> f(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: not for me...
    """

    __props__ = ("msg", "exc")

    def __init__(self, msg: str = "", exc: type[Exception] = NotImplementedError) -> None:
        if not (isinstance(exc, type) and issubclass(exc, Exception)):
            raise TypeError(
                format_error(f"Raise: {exc!r} is no class of exceptions", hint="pass one, as Raise(msg, ValueError)")
            )
        self.msg = msg
        self.exc = exc

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor, whose type the result has."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Raise the error."""
        raise self.exc(self.msg or describe(node.inputs[0]))

    def do_constant_folding(self, node: Apply) -> bool:
        """Compiling the function must not raise."""
        return False

    def __str__(self) -> str:
        return f"Raise{{{self.exc.__name__}({self.msg!r})}}"


batch_rule.register(Raise)(run_in_a_loop)
