"""Records of the results of functions, to see whether another run gives the very same."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_linker_c import Mode
from theano_linker_c.linkers import VM_Linker, WrapLinker

from ..printing import hex_digest, min_informative_str

_MOST = 100


class MismatchError(Exception):
    """A run differs from its record."""


class Record:
    """A sequence of lines that is written once, and compared with later.

    Parameters
    ----------
    file_object : text file, optional
    file_path : path, optional
        Opened where no file is given.
    replay : bool
        Whether lines are compared with those in the file instead of being written.

    Examples
    --------
    >>> import io
    >>> from theano.tests.record import Record
    >>> file = io.StringIO()
    >>> Record(file_object=file).handle_line("one\\n")
    >>> Record(file_object=io.StringIO(file.getvalue()), replay=True).handle_line("one\\n")
    """

    def __init__(self, file_object: Any = None, file_path: Any = None, replay: bool = False) -> None:
        if file_object is None and file_path is None:
            raise ValueError("Record: give a file, or the path of one")
        self.replay = replay
        self.file_path = file_path
        self.f = file_object if file_object is not None else open(file_path, "r" if replay else "w", encoding="utf-8")  # noqa: SIM115

    def handle_line(self, line: str) -> None:
        """Write a line, or compare it with the next one.

        Raises
        ------
        MismatchError
            If it is another one.
        """
        if not self.replay:
            self.f.write(line)
            return
        recorded = self.f.readline()
        if recorded != line:
            raise MismatchError(
                f"Replay detected mismatch.\n  now:      {_shortened(line)}\n  recorded: {_shortened(recorded)}"
            )


def _shortened(line: str) -> str:
    return f"{line[:_MOST]}..." if len(line) > _MOST else line.rstrip("\n")


class RecordMode(Mode):
    """Records every node that functions run, with digests of its operands and results.

    Parameters
    ----------
    record : Record, optional
        By default one that is made of the other arguments.
    **kwargs
        For :class:`Record`.
    """

    def __init__(self, record: Record | None = None, **kwargs: Any) -> None:
        self.set_record(Record(**kwargs) if record is None else record)
        super().__init__(WrapLinker([VM_Linker()], self._run), optimizer="fast_run")

    def set_record(self, record: Record) -> None:
        """Use another record from now on."""
        self.record = record
        self.known_fgraphs: set[str] = set()

    def _run(self, i: int, node: Apply, fn: Any) -> None:
        graph: Any = node.fgraph
        name = str(graph.name)
        if name not in self.known_fgraphs:
            self.known_fgraphs.add(name)
            self._line(f"Function {name} has {len(graph.apply_nodes)} apply nodes.", node)
        self._line(f"Function name: {name}", node)
        self._line(f"Node {i}:{node}", node)
        self._line(f"Inputs: {_digests(fn.inputs)}", node)
        fn()
        self._line(f"Outputs: {_digests(fn.outputs)}", node)

    def _line(self, line: str, node: Apply) -> None:
        try:
            self.record.handle_line(line + "\n")
        except MismatchError as error:
            operands = "\n".join(min_informative_str(v) for v in node.inputs)
            raise MismatchError(f"Non-determinism detected at {node}: {error}\n  operands:\n{operands}") from error


def _digests(cells: list[list[Any]]) -> str:
    return " ".join(hex_digest(cell[0]) for cell in cells)
