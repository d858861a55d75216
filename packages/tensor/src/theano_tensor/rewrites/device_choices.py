"""The rewrites that choose among implementations of convolutions on devices, by their names and tags.

The names are there from the start, so that modes may include and exclude them; their work is given by
`theano_tensor.device`, which is loaded with the first device. Without devices they leave graphs as they are.
"""

from __future__ import annotations

from theano_graph import FunctionGraph
from theano_linker_c.modes import optdb
from theano_optimize import GraphRewriter, RewriteProfile, SequenceDatabase

__all__ = ["DeviceChoice", "device_choices", "give_choice"]

_LEVELS = ("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe")
#: Name, tags and position. Those without the usual levels run only where somebody includes them.
_STEPS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("cudnn", (), 1),
    ("conv_gemm_alone", ("conv_gemm",), 2),
    ("conv_meta", (), 3),
    ("low_memory", (*_LEVELS, "conv_dnn", "cudnn"), 4),
    ("conv_dnn", (*_LEVELS, "cudnn"), 5),
    ("conv_gemm", _LEVELS, 6),
    ("conv_check", _LEVELS, 7),
)


class DeviceChoice(GraphRewriter):
    """A step that does nothing until devices are loaded, and then the work given to :func:`give_choice`.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.rewriter: GraphRewriter | None = None

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile | None:
        """Change the graph as the rewriter does that was given."""
        return RewriteProfile(self.name) if self.rewriter is None else self.rewriter.apply(fgraph)


device_choices = SequenceDatabase("device_choices")
_CHOICES = {name: DeviceChoice(name) for name, _, _ in _STEPS}
for _name, _tags, _position in _STEPS:
    device_choices.register(_name, _CHOICES[_name], *_tags, position=_position)
optdb.register("device_choices", device_choices, *_LEVELS, "gpuarray", position=49.25)


def give_choice(rewriter: GraphRewriter) -> None:
    """Give the step of the rewriter's name its work.

    Parameters
    ----------
    rewriter : GraphRewriter

    Raises
    ------
    KeyError
        If there is no such step.
    """
    _CHOICES[rewriter.name].rewriter = rewriter
