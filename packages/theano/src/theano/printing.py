"""Text and pictures of graphs and functions."""

from theano_graph import (
    DefaultPrinter as DefaultPrinter,
    FunctionPrinter as FunctionPrinter,
    OperatorPrinter as OperatorPrinter,
    PatternPrinter as PatternPrinter,
    PrettyPrinter as PrettyPrinter,
    TransparentPrinter as TransparentPrinter,
    debugprint as debugprint,
    min_informative_str as min_informative_str,
    pp as pp,
    pprint as pprint,
    to_dot as to_dot,
    to_html as to_html,
    to_mermaid as to_mermaid,
    var_descriptor as var_descriptor,
)
from theano_linker_c import Print as Print

from ._lazy import pydot_library
from ._pictures import PictureError as PictureError, pydotprint as pydotprint

PPrinter = PrettyPrinter


def __getattr__(name: str) -> object:
    """Tell under the name `pydot_imported` whether pictures can be drawn through pydot."""
    if name == "pydot_imported":
        return pydot_library() is not None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
