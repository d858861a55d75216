"""Text and pictures of graphs and functions."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import (
    Apply as Apply, DefaultPrinter as DefaultPrinter, FunctionPrinter as FunctionPrinter, Op as Op,
    OperatorPrinter as OperatorPrinter, PatternPrinter as PatternPrinter, PrettyPrinter as PrettyPrinter,
    PrinterState as PrinterState, TransparentPrinter as TransparentPrinter, config as config, debugprint as debugprint,
    min_informative_str as min_informative_str, pp as pp, pprint as pprint, to_dot as to_dot, to_html as to_html,
    to_mermaid as to_mermaid, var_descriptor as var_descriptor,
)
from theano_linker_c import Function as Function, Print as Print, SharedVariable as SharedVariable
from ._pictures import (
    PictureError as PictureError, pydotprint as pydotprint, IgnorePrinter as IgnorePrinter, LeafPrinter as LeafPrinter,
    VALID_ASSOC as VALID_ASSOC, _TagGenerator as _TagGenerator, default_colorCodes as default_colorCodes,
    greek as greek, hex_digest as hex_digest, leaf_printer as leaf_printer,
    position_independent_str as position_independent_str, special as special, use_ascii as use_ascii,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from ._names import borrowed, pydot_library

PPrinter = PrettyPrinter
default_printer = DefaultPrinter()


def __getattr__(name: str) -> object:
    """Tell under the name `pydot_imported` whether pictures can be drawn through pydot, and the missing part if not."""
    if name == "pydot_imported":
        return pydot_library() is not None
    if name == "pydot_imported_msg":
        return "" if pydot_library() is not None else "Install the library pydot, and Graphviz."
    return borrowed(__name__, name)
