"""What an expression is: variables, ops, the nodes that join them, graphs that can be changed, and configuration.

The layer knows nothing of arrays and depends on nothing. See the package's README for how to build on it.
"""

from . import _flags as _flags, utils as utils
from ._collector import collector_paused as collector_paused
from ._configuration._changes import ChangedFlags as ChangedFlags
from ._configuration._config import Config as Config, Flag as Flag, add_flag as add_flag, config as config
from ._configuration._kinds import (
    BoolFlag as BoolFlag,
    EnumFlag as EnumFlag,
    FlagKind as FlagKind,
    FloatFlag as FloatFlag,
    IntFlag as IntFlag,
    StrFlag as StrFlag,
)
from ._configuration._sources import parse_settings as parse_settings
from ._errors import (
    AlreadyThere as AlreadyThere,
    ConfigError as ConfigError,
    ConfigWarning as ConfigWarning,
    CycleError as CycleError,
    DuplicateRuleError as DuplicateRuleError,
    GraphError as GraphError,
    IncompatibleReplacementError as IncompatibleReplacementError,
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
    MissingRuleError as MissingRuleError,
    MissingTestValueError as MissingTestValueError,
    ReplacementKeptError as ReplacementKeptError,
    TheanoError as TheanoError,
    UnknownFlagError as UnknownFlagError,
    WrongTestValueError as WrongTestValueError,
    compose as compose,
)
from ._expression._eval_hook import set_eval_hook as set_eval_hook
from ._expression._graph_argument import call_with_graph as call_with_graph, takes_graph as takes_graph
from ._expression._html_hook import ShownAsHtml as ShownAsHtml
from ._expression._nodes import (
    Apply as Apply,
    AtomicVariable as AtomicVariable,
    Constant as Constant,
    Node as Node,
    Variable as Variable,
    describe as describe,
)
from ._expression._op import (
    Op as Op,
    PureOp as PureOp,
    call_make_thunk as call_make_thunk,
    connection_pattern as connection_pattern,
    has_own_thunk as has_own_thunk,
    is_variable as is_variable,
    set_construction_hook as set_construction_hook,
    set_perform_hook as set_perform_hook,
    set_thunk_hook as set_thunk_hook,
)
from ._expression._origin import (
    Origin as Origin,
    UserFrame as UserFrame,
    begin_origin_from as begin_origin_from,
    current_origin as current_origin,
    end_origin as end_origin,
    origin_from as origin_from,
)
from ._expression._rules import (
    PullbackRule as PullbackRule,
    PushforwardRule as PushforwardRule,
    RuleTable as RuleTable,
    ShapeRule as ShapeRule,
    pullback as pullback,
    pushforward as pushforward,
    rule_tables as rule_tables,
    shape_rule as shape_rule,
)
from ._expression._tags import NoParams as NoParams, Tag as Tag
from ._expression._type import (
    Generic as Generic,
    SingletonType as SingletonType,
    Type as Type,
    filter_options as filter_options,
    generic as generic,
)
from ._function_graph._features import (
    Bookkeeper as Bookkeeper,
    Feature as Feature,
    History as History,
    NodeFinder as NodeFinder,
    NoOutputFromInplace as NoOutputFromInplace,
    PrintListener as PrintListener,
    ReplaceValidate as ReplaceValidate,
    Validator as Validator,
)
from ._function_graph._fgraph import FunctionGraph as FunctionGraph
from ._function_graph._journal import Undo as Undo
from ._function_graph._uses import Client as Client
from ._pickling import _reduce as _reduce
from ._printing._debugprint import debugprint as debugprint
from ._printing._descriptions import min_informative_str as min_informative_str, var_descriptor as var_descriptor
from ._printing._diagram import (
    Diagram as Diagram,
    DiagramEdge as DiagramEdge,
    DiagramShape as DiagramShape,
    diagram as diagram,
    to_dot as to_dot,
    to_html as to_html,
    to_mermaid as to_mermaid,
)
from ._printing._pprint import (
    DefaultPrinter as DefaultPrinter,
    Fragment as Fragment,
    FunctionPrinter as FunctionPrinter,
    Operand as Operand,
    OperatorPrinter as OperatorPrinter,
    PatternPrinter as PatternPrinter,
    Place as Place,
    PrettyPrinter as PrettyPrinter,
    Printer as Printer,
    TransparentPrinter as TransparentPrinter,
    pp as pp,
    pprint as pprint,
)
from ._printing._pprint_process import PrinterState as PrinterState
from ._printing._printable import (
    PrintableGraph as PrintableGraph,
    inner_graph as inner_graph,
    letters as letters,
    printable_graph as printable_graph,
)
from ._printing._text import (
    as_string as as_string,
    default_node_formatter as default_node_formatter,
    op_as_string as op_as_string,
)
from ._record import record as record
from ._test_values import (
    TestComputationError as TestComputationError,
    compute_test_values as compute_test_values,
    get_test_value as get_test_value,
)
from ._traversal._clone import (
    clone_get_equiv as clone_get_equiv,
    clone_graph as clone_graph,
    clone_replace as clone_replace,
    equal_computations as equal_computations,
    is_same_graph as is_same_graph,
)
from ._traversal._constructed import nodes_constructed as nodes_constructed
from ._traversal._postorder import sources_first as sources_first
from ._traversal._search import (
    io_connection_pattern as io_connection_pattern,
    list_of_nodes as list_of_nodes,
    sort_apply_nodes as sort_apply_nodes,
    stack_search as stack_search,
    variables_and_orphans as variables_and_orphans,
)
from ._traversal._walk import (
    ancestors as ancestors,
    applys_between as applys_between,
    general_toposort as general_toposort,
    graph_inputs as graph_inputs,
    is_in_ancestors as is_in_ancestors,
    ordered_nodes as ordered_nodes,
    orphans_between as orphans_between,
    toposort as toposort,
    variables_between as variables_between,
    view_roots as view_roots,
    walk as walk,
)
from ._user_code import (
    asked_by_user as asked_by_user,
    cell_of as cell_of,
    is_library_module as is_library_module,
    register_library as register_library,
    shown_name as shown_name,
    warn_user as warn_user,
)
from ._version import __version__ as __version__
from ._word_modules import (
    UnsafeArchiveError as UnsafeArchiveError,
    announce_words as announce_words,
    word_modules as word_modules,
)

register_library(__file__)

__all__ = [
    "AlreadyThere",
    "Apply",
    "AtomicVariable",
    "Bookkeeper",
    "BoolFlag",
    "ChangedFlags",
    "Client",
    "Config",
    "ConfigError",
    "ConfigWarning",
    "Constant",
    "CycleError",
    "DefaultPrinter",
    "Diagram",
    "DiagramEdge",
    "DiagramShape",
    "DuplicateRuleError",
    "EnumFlag",
    "Feature",
    "Flag",
    "FlagKind",
    "FloatFlag",
    "Fragment",
    "FunctionGraph",
    "FunctionPrinter",
    "Generic",
    "GraphError",
    "History",
    "IncompatibleReplacementError",
    "InconsistencyError",
    "IntFlag",
    "MissingInputError",
    "MissingRuleError",
    "MissingTestValueError",
    "NoOutputFromInplace",
    "NoParams",
    "Node",
    "NodeFinder",
    "Op",
    "Operand",
    "OperatorPrinter",
    "Origin",
    "PatternPrinter",
    "Place",
    "PrettyPrinter",
    "PrintListener",
    "PrintableGraph",
    "PrinterState",
    "Printer",
    "PullbackRule",
    "PureOp",
    "PushforwardRule",
    "ReplaceValidate",
    "ReplacementKeptError",
    "RuleTable",
    "ShapeRule",
    "ShownAsHtml",
    "SingletonType",
    "StrFlag",
    "Tag",
    "TestComputationError",
    "TheanoError",
    "TransparentPrinter",
    "Type",
    "Undo",
    "UnknownFlagError",
    "UnsafeArchiveError",
    "UserFrame",
    "Validator",
    "Variable",
    "WrongTestValueError",
    "__version__",
    "add_flag",
    "ancestors",
    "applys_between",
    "as_string",
    "announce_words",
    "asked_by_user",
    "call_make_thunk",
    "cell_of",
    "clone_get_equiv",
    "clone_graph",
    "clone_replace",
    "collector_paused",
    "compose",
    "compute_test_values",
    "config",
    "connection_pattern",
    "current_origin",
    "debugprint",
    "default_node_formatter",
    "describe",
    "diagram",
    "equal_computations",
    "filter_options",
    "general_toposort",
    "generic",
    "get_test_value",
    "graph_inputs",
    "has_own_thunk",
    "inner_graph",
    "io_connection_pattern",
    "is_in_ancestors",
    "is_library_module",
    "is_same_graph",
    "is_variable",
    "list_of_nodes",
    "min_informative_str",
    "nodes_constructed",
    "op_as_string",
    "ordered_nodes",
    "origin_from",
    "begin_origin_from",
    "end_origin",
    "orphans_between",
    "parse_settings",
    "pp",
    "pprint",
    "letters",
    "printable_graph",
    "pullback",
    "pushforward",
    "register_library",
    "rule_tables",
    "set_construction_hook",
    "set_eval_hook",
    "set_perform_hook",
    "set_thunk_hook",
    "shape_rule",
    "shown_name",
    "sort_apply_nodes",
    "sources_first",
    "stack_search",
    "to_dot",
    "to_html",
    "to_mermaid",
    "toposort",
    "utils",
    "var_descriptor",
    "variables_and_orphans",
    "variables_between",
    "view_roots",
    "walk",
    "warn_user",
    "word_modules",
]
