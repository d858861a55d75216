"""Programs and the machines that run them."""

from .._instructions._data import (
    Accepts as Accepts,
    ArraySpec as ArraySpec,
    HasArraySpec as HasArraySpec,
    Hooks as Hooks,
    Instruction as Instruction,
    Program as Program,
    ProgramInput as ProgramInput,
    argument_spec_of as argument_spec_of,
    array_spec_of as array_spec_of,
)
from .._instructions._forms import (
    PERFORM as PERFORM,
    Form as Form,
    KernelForm as KernelForm,
    PerformForm as PerformForm,
)
from .._instructions._needed import (
    ALWAYS as ALWAYS,
    Calls as Calls,
    calls_of as calls_of,
    certain_error as certain_error,
    when_needed as when_needed,
)
from .._instructions._schedule import (
    Branch as Branch,
    Schedule as Schedule,
    branch_of as branch_of,
    lazy_form as lazy_form,
)
from .._machines._alike import arrays_alike as arrays_alike, dimensions as dimensions
from .._machines._machine import Machine as Machine
from .._machines._native import HAS_RUNTIME as HAS_RUNTIME, native_machine as native_machine
from .._machines._python import PythonMachine as PythonMachine
from .._machines._run_errors import (
    NodeError as NodeError,
    annotate as annotate,
    annotate_node as annotate_node,
)
from .._machines._thunks import MachineView as MachineView, Thunk as Thunk
from .._overwriting._shown import overwriting_form as overwriting_form
from .._perform import call_form as call_form
from ._clusters import (
    Cluster as Cluster,
    ClusterRule as ClusterRule,
    cluster_rule as cluster_rule,
    restored_cluster as restored_cluster,
    state_of_cluster as state_of_cluster,
)
from ._loop import (
    LoopSpec as LoopSpec,
    ResultKind as ResultKind,
    loop_of_step as loop_of_step,
    loop_runner as loop_runner,
    lowered_for_loop as lowered_for_loop,
)
from ._lower import form_again as form_again, lower as lower, on_lowered as on_lowered

__all__ = [
    "ALWAYS",
    "HAS_RUNTIME",
    "PERFORM",
    "Accepts",
    "ArraySpec",
    "Branch",
    "Calls",
    "Cluster",
    "ClusterRule",
    "Form",
    "HasArraySpec",
    "Hooks",
    "Instruction",
    "KernelForm",
    "LoopSpec",
    "Machine",
    "MachineView",
    "NodeError",
    "PerformForm",
    "Program",
    "ProgramInput",
    "PythonMachine",
    "ResultKind",
    "Schedule",
    "Thunk",
    "annotate",
    "annotate_node",
    "argument_spec_of",
    "array_spec_of",
    "branch_of",
    "call_form",
    "calls_of",
    "certain_error",
    "cluster_rule",
    "lazy_form",
    "loop_of_step",
    "loop_runner",
    "lower",
    "lowered_for_loop",
    "native_machine",
    "on_lowered",
    "overwriting_form",
    "restored_cluster",
    "state_of_cluster",
    "when_needed",
    "arrays_alike",
    "dimensions",
]
