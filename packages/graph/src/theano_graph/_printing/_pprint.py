"""Graphs as formulas, with printers for ops."""

from __future__ import annotations

import inspect
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .._errors import format_error
from .._expression._nodes import Variable
from .._expression._op import Op
from .._record import record
from .._traversal._walk import toposort
from ._printable import printable_graph

# ---- Printers that return whole texts: objects with a method ``process(variable, state)``


class PrinterState:
    """The argument of a printer that returns whole texts.

    Parameters
    ----------
    props : dict or PrinterState, optional
        Attributes.
    **more_props
        Further attributes.

    Attributes
    ----------
    memo : dict
        For texts that have been made, by variable.
    """

    def __init__(self, props: Any = None, **more_props: Any) -> None:
        self.memo: dict[Variable, str] = {}
        vars(self).update(vars(props) if isinstance(props, PrinterState) else props or {})
        vars(self).update(more_props)


class ProcessedText:
    """Lets an object with ``process(variable, state)`` write the outputs of an op.

    Parameters
    ----------
    printer : object
    """

    def __init__(self, printer: Any) -> None:
        self.printer = printer

    def fragments(self, variable: Variable, place: Any) -> list[str]:
        """Return the text."""
        return [str(self.printer.process(variable, PrinterState(pprinter=place.printer)))]


def on_variables(condition: Callable[..., Any], table: Any) -> Callable[[Variable], bool]:
    """Return a condition on variables for one on variables, or on states and variables.

    Parameters
    ----------
    condition : callable
        ``condition(variable)`` or ``condition(state, variable)``.
    table : PrettyPrinter
        Told to the condition as the attribute `pprinter` of the state.
    """
    try:
        count = len(inspect.signature(condition).parameters)
    except (TypeError, ValueError):
        count = 1
    if count != 2:
        return condition
    return lambda variable: bool(condition(PrinterState(pprinter=table), variable))


def template_of(pattern: Any) -> str:
    """Return the template ``{0:-1000}`` for the historical patterns ``%(0)s`` and ``("%(0)s", -1000)``.

    Parameters
    ----------
    pattern : str or tuple
    """
    text, *precedences = (pattern,) if isinstance(pattern, str) else pattern
    if "%(" not in text:
        return str(text)

    def field(match: re.Match[str]) -> str:
        position = int(match[1])
        return f"{{{position}:{precedences[position]}}}" if position < len(precedences) else f"{{{position}}}"

    braces = str(text).replace("{", "{{").replace("}", "}}")
    return re.sub(r"%\((\d+)\)s", field, braces).replace("%%", "%")


# ---- Text of a graph as formulas: operators between their operands, functions before theirs

LOOSEST = float("-inf")
TIGHTEST = float("inf")
# A formula that would be longer than this many calls is printed with names for the parts that are used several times.
EXPANSION_LIMIT = 2000


@record
class Operand:
    """A place in a text where the formula of a variable goes.

    Attributes
    ----------
    variable : Variable
    precedence : float
        How tightly the formula has to bind to stand here without parentheses.
    """

    variable: Variable
    precedence: float = LOOSEST


Fragment: TypeAlias = "str | Operand"


@record
class Place:
    """Where a formula goes.

    Attributes
    ----------
    precedence : float
        How tightly it has to bind to stand there without parentheses.
    minimal : bool
        Whether parentheses that are not needed are left out.
    printer : PrettyPrinter
        The table in use, for printers that look up others.
    """

    precedence: float
    minimal: bool
    printer: PrettyPrinter


class Printer(Protocol):
    """How the outputs of an op are written; returns text and operands, so that no depth of a graph nests calls."""

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the text of `variable`, an output of ``variable.owner``."""
        ...


def _inputs(variable: Variable) -> Sequence[Variable]:
    if variable.owner is None:
        raise ValueError(format_error(f"`{variable}` is the output of no op", hint="assign the printer to an op"))
    inputs: Sequence[Variable] = variable.owner.inputs
    return inputs


@dataclass(frozen=True)
class OperatorPrinter:
    """Writes an operator between its operands, or before a single one.

    Parameters
    ----------
    operator : str
    precedence : float
        The higher, the tighter it binds.
    associativity : {"left", "right", "both", "none"}
        Which operand may be the same operator without parentheses.
    """

    operator: str
    precedence: float
    associativity: Literal["left", "right", "both", "none"] = "left"

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the operands with the operator, in parentheses where these are wanted."""
        inputs = _inputs(variable)
        free = {"left": 0, "right": len(inputs) - 1}.get(self.associativity)
        operands = [
            Operand(x, self.precedence + (0 if self.associativity == "both" or i == free else 0.5))
            for i, x in enumerate(inputs)
        ]
        body: list[Fragment] = [self.operator] if len(inputs) == 1 else []
        for i, operand in enumerate(operands):
            if i:
                body.append(f" {self.operator} ")
            body.append(operand)
        if place.minimal and self.precedence >= place.precedence:
            return body
        return ["(", *body, ")"]


class FunctionPrinter:
    """Writes ``name(arguments)``.

    Parameters
    ----------
    *names : str
        One for each output of the op, or one for all.
    """

    def __init__(self, *names: str) -> None:
        if not names:
            raise ValueError(format_error("a FunctionPrinter needs a name"))
        self.names = names

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the name and the arguments."""
        index = variable.index or 0
        name = self.names[index] if index < len(self.names) else self.names[-1]
        return call(name, _inputs(variable))


class PatternPrinter:
    """Writes a template in which ``{0}``, ``{1}``, ... stand for the inputs.

    Parameters
    ----------
    template : str or tuple
        The historical form is understood too: ``"%(0)s.T"``, or a tuple of that and the precedences of the inputs. A
        format spec is the precedence that the input needs to go without parentheses: ``"{0:9}.T"``.
    precedence : float
        How tightly the text binds; without limit by default, so that it never gets parentheses itself.

    Raises
    ------
    ValueError
        If the template has a field that is no number.
    """

    def __init__(self, template: Any, precedence: float = TIGHTEST) -> None:
        self.template = template = template_of(template)
        self.precedence = precedence
        self._parts: list[str | tuple[int, float]] = []
        for text, name, spec, _ in string.Formatter().parse(template):
            if text:
                self._parts.append(text)
            if name is None:
                continue
            if not name.isdigit():
                raise ValueError(
                    format_error(
                        f"the field {name!r} of {template!r} is no input", hint="number the inputs: {0}, {1}, ..."
                    )
                )
            self._parts.append((int(name), float(spec) if spec else LOOSEST))

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the template with the inputs in it."""
        inputs = _inputs(variable)
        body: list[Fragment] = [
            part if isinstance(part, str) else Operand(inputs[part[0]], part[1]) for part in self._parts
        ]
        return body if self.precedence >= place.precedence else ["(", *body, ")"]


class TransparentPrinter:
    """Writes the first input in place of the op: for ops that readers need not see."""

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the first input."""
        return [Operand(_inputs(variable)[0], place.precedence)]


class DefaultPrinter:
    """Writes the op's own text as a function."""

    def fragments(self, variable: Variable, place: Place) -> Iterable[Fragment]:
        """Return the op and the arguments; with the number of the output where there are several."""
        node = variable.owner
        if node is None:
            return [leaf_text(variable)]
        return call(str(node.op) if len(node.outputs) == 1 else f"{node.op}.{variable.index}", node.inputs)


def call(name: str, inputs: Sequence[Variable]) -> list[Fragment]:
    """Return the fragments of ``name(inputs)``."""
    body: list[Fragment] = [f"{name}("]
    for i, x in enumerate(inputs):
        if i:
            body.append(", ")
        body.append(Operand(x))
    body.append(")")
    return body


def leaf_text(variable: Variable) -> str:
    """Return how a variable without an owner is written: its name, its value, or its type."""
    return str(variable)


class PrettyPrinter:
    """A table of printers, and the function that writes formulas with them.

    A printer is looked up first among the predicates, the latest first, then among the ops that equal the node's op,
    then among the op's classes, the nearest first. Without a printer, the text is ``op(arguments)``.

    Examples
    --------
    >>> from theano_graph import Apply, generic
    >>> class Plus(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, *inputs):
    ...         return Apply(self, inputs, [generic()])
    >>> table = PrettyPrinter()
    >>> table.assign(Plus, OperatorPrinter("+", 1, "both"))
    >>> table(Plus()(generic("x"), generic("y")))
    '(x + y)'
    """

    def __init__(self) -> None:
        self._predicates: list[tuple[Callable[[Variable], bool], Printer]] = []
        self._ops: dict[Op, Printer] = {}
        self._classes: dict[type[Op], Printer] = {}
        self._default: Printer = DefaultPrinter()

    def assign(self, condition: Any, printer: Any) -> None:
        """Say how something is written; a later assignment to the same condition replaces the earlier one.

        Parameters
        ----------
        condition : Op, subclass of Op, or callable
            A callable is given a variable that has an owner and tells whether `printer` writes it; one with two
            parameters is given a state, whose attribute `pprinter` is this table, and the variable.
        printer : Printer
            An object with a method ``process(variable, state)`` that returns the whole text will do too.

        Raises
        ------
        TypeError
            If `condition` or `printer` cannot be one.
        """
        if not callable(getattr(printer, "fragments", None)) and callable(getattr(printer, "process", None)):
            printer = ProcessedText(printer)
        if not callable(getattr(printer, "fragments", None)):
            raise TypeError(
                format_error(f"{printer!r} is no printer", hint="give it a method `fragments(variable, place)`")
            )
        if isinstance(condition, Op):
            self._ops[condition] = printer
        elif isinstance(condition, type):
            if not issubclass(condition, Op):
                raise TypeError(format_error(f"{condition.__name__} is no class of ops", hint="pass a subclass of Op"))
            self._classes[condition] = printer
        elif callable(condition):
            self._predicates.insert(0, (on_variables(condition, self), printer))
        else:
            raise TypeError(
                format_error(
                    f"{condition!r} is no condition", hint="pass an op, a class of ops or a predicate on variables"
                )
            )

    def copy(self) -> PrettyPrinter:
        """Return a table with the same assignments that can be changed apart."""
        new = PrettyPrinter()
        new._predicates = list(self._predicates)
        new._ops = dict(self._ops)
        new._classes = dict(self._classes)
        return new

    clone = copy

    def clone_assign(self, condition: Any, printer: Any) -> PrettyPrinter:
        """Return a copy in which one thing is written otherwise."""
        new = self.copy()
        new.assign(condition, printer)
        return new

    def process(self, r: Variable, pstate: Any = None) -> str:
        """Return the formula of a variable, as printers that return whole texts ask for those of operands."""
        return self._formula(r, None, {}, False, False, None)

    def process_graph(
        self, inputs: Sequence[Variable], outputs: Any, updates: Any = None, display_inputs: bool = False
    ) -> str:
        """Return the formulas of outputs and updates, one on a line, after a line with the inputs where wanted."""
        lines = [f"inputs: {', '.join(str(v) for v in inputs)}"] if display_inputs else []
        listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        lines += [self.process(v) for v in listed]
        lines += [f"{target} <- {self.process(value)}" for target, value in (updates or {}).items()]
        return "\n".join(lines)

    def of_op(self, op: Op) -> Printer | None:
        """Return the printer that is assigned to an op or one of its classes, or None."""
        entry = self._ops.get(op)
        if entry is not None:
            return entry
        for cls in type(op).__mro__:
            entry = self._classes.get(cls)
            if entry is not None:
                return entry
        return None

    def _of_variable(self, variable: Variable) -> Printer:
        for predicate, printer in self._predicates:
            if predicate(variable):
                return printer
        return (None if variable.owner is None else self.of_op(variable.owner.op)) or self._default

    def __call__(
        self,
        obj: Any,
        *,
        minimal: bool = False,
        stop_on_name: bool = False,
        max_lines: int | None = None,
        max_length: int | None = None,
    ) -> str:
        """Return the formulas of a graph.

        Parameters
        ----------
        obj : Variable, Apply, FunctionGraph, compiled function, or list of these
        minimal : bool
            Leave out parentheses that precedence makes needless; by default each operator has its own.
        stop_on_name : bool
            Write the name of a computed variable that has one in place of its formula.
        max_lines, max_length : int, optional
            Bounds of the number of lines, and of the characters in each; ``...`` marks omissions.

        Returns
        -------
        str
            One line for each output; updates are written ``w <- formula``. A graph whose formulas would be very long
            because parts of it are used again and again has these parts first, on lines ``t0 = formula``.

        Raises
        ------
        TypeError
            If `obj` is nothing that can be shown.
        """
        graph = printable_graph(obj)
        names = _shared_parts(graph.outputs)
        heads = [(f"{name} = ", variable) for variable, name in names.items()]
        for output in graph.outputs:
            target = graph.updates.get(output)
            heads.append(("" if target is None else f"{target} <- ", output))
        parts = len(names)
        lines: list[str] = []
        for i, (head, variable) in enumerate(heads):
            if max_lines is not None and len(lines) == max_lines:
                lines.append(f"... ({len(heads) - i} more lines)")
                break
            # A part is written out on its own line only; an output that is a part is written by its name.
            opened = variable if i < parts or variable not in names else None
            lines.append(head + self._formula(variable, opened, names, minimal, stop_on_name, max_length))
        return "\n".join(lines)

    def _formula(
        self,
        root: Variable,
        opened: Variable | None,
        names: Mapping[Variable, str],
        minimal: bool,
        stop_on_name: bool,
        max_length: int | None,
    ) -> str:
        parts: list[str] = []
        length = 0
        work: list[Fragment] = [Operand(root)]
        while work:
            item = work.pop()
            if isinstance(item, str):
                parts.append(item)
                length += len(item)
                if max_length is not None and length > max_length:
                    return "".join(parts)[:max_length] + "..."
                continue
            variable = item.variable
            if variable is not opened and variable in names:
                work.append(names[variable])
            elif variable.owner is None or (stop_on_name and variable.name is not None and variable is not root):
                work.append(leaf_text(variable))
            else:
                place = Place(item.precedence, minimal, self)
                work.extend(reversed(list(self._of_variable(variable).fragments(variable, place))))
        return "".join(parts)


def _shared_parts(outputs: Sequence[Variable]) -> dict[Variable, str]:
    """Return names for the parts that are used several times if formulas without such names would be too long."""
    order = toposort((), outputs)
    # Sizes are capped: they grow exponentially when each node uses the one before it twice.
    sizes: dict[Any, int] = {}
    uses: dict[Variable, int] = {}
    taken: set[str | None] = set()
    for node in order:
        size = 1
        for x in node.inputs:
            taken.add(x.name)
            if x.owner is not None:
                size += sizes[x.owner]
                uses[x] = uses.get(x, 0) + 1
        sizes[node] = min(size, EXPANSION_LIMIT + 1)
    for output in outputs:
        uses[output] = uses.get(output, 0) + 1
    if sum(sizes[v.owner] for v in outputs if v.owner is not None) <= EXPANSION_LIMIT:
        return {}
    shared = [v for node in order for v in node.outputs if uses.get(v, 0) > 1]
    prefix = "t"
    while any(name is not None and name.startswith(prefix) and name[len(prefix) :].isdigit() for name in taken):
        prefix += "_"
    return {v: f"{prefix}{i}" for i, v in enumerate(shared)}


pprint = PrettyPrinter()


def pp(*args: Any) -> str:
    """Return the formulas of variables or functions as text.

    Parameters
    ----------
    *args : Variable, Apply, FunctionGraph or compiled function

    Returns
    -------
    str
        One line for each output. See :class:`PrettyPrinter` for options and for changing the text of ops.

    Raises
    ------
    TypeError
        If an argument is nothing that can be shown.

    Examples
    --------
    >>> from theano_graph import generic
    >>> pp(generic("x"))
    'x'
    """
    return pprint(args[0] if len(args) == 1 else list(args))
