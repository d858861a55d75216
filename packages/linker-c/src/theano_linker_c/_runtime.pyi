from array import array
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

#: Addresses of what kernels call, by name.
SHARED_CODE: dict[str, int]
#: Name of an instruction -> its number, and whether results are looked at.
INSTRUCTIONS: dict[str, tuple[int, bool]]

class Machine:
    failed_instruction: int
    position_of_error: int
    buffer_limit: int
    buffered_bytes: int
    view: Any
    nogil: bool
    program: Any
    thunks: list[Any]
    nodes: list[Any]
    storage_map: dict[Any, list[Any]]
    def __new__(
        cls,
        *,
        n_registers: int,
        inputs: tuple[Any, ...],
        cells: tuple[Any, ...],
        constants: tuple[Any, ...],
        instructions: tuple[Any, ...],
        outputs: tuple[int, ...],
        updates: tuple[Any, ...],
        single: bool,
        on_irregular: Callable[..., Any],
        on_input: Callable[..., Any],
        on_result: Callable[..., Any],
        on_error: Callable[..., Any],
        finish: Callable[..., Any] | None,
        buffer_limit: int,
        thread_scale: float,
        locks: tuple[UpdateLock, ...],
    ) -> Machine: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(self, values: Sequence[Any], /) -> list[Any]: ...
    def run_batch(
        self, elements: list[Any] | NDArray[Any], regular: Callable[[Any], tuple[Any, ...]] | None = None, /
    ) -> tuple[list[Any], BaseException | None]: ...
    def run_loop_code(
        self, address: int, forms: bytes, steps: int, values: tuple[Any, ...], /
    ) -> tuple[int, list[Any]] | int | None: ...
    def clear(self) -> None: ...
    def captured(self) -> list[tuple[int, int]]: ...
    def set_schedule(
        self, roots: tuple[int, ...], needs: tuple[tuple[int, ...], ...], readers: tuple[int, ...], /
    ) -> None: ...
    def retain_registers(self, registers: tuple[int, ...], /) -> None: ...
    def retained(self) -> dict[int, Any]: ...
    def start_profile(self, skip: int, observer: Callable[..., Any] | None, /) -> None: ...
    def read_profile(
        self,
    ) -> tuple[int, float, float, float, tuple[int, ...], tuple[float, ...]] | None: ...

def set_num_threads(count: int, /) -> None: ...
def get_num_threads() -> int: ...
def set_thread_threshold(cycles: float, /) -> float: ...
def set_capture_calls(calls: int, /) -> None: ...
def get_capture_calls() -> int: ...
def set_vector_bytes(length: int, /) -> int: ...
def code_files(folder: str, /) -> tuple[list[bytes], int]: ...
def first_look() -> object: ...
def uncommon(look: object, contents: dict[str, dict[str, Any]], /) -> list[Any]: ...
def meet_nodes(
    expressions: list[Any], known: dict[Any, Any], seen: dict[Any, None], kind: type[Any], /
) -> list[Any]: ...
def sketch_rows(nodes: Sequence[Any], number_of: Callable[[Any], int], constant: type[Any], /) -> bytes: ...
def graph_rows(
    scope: Any,
    roots: list[Any],
    numbers: dict[Any, int],
    stream: array[int],
    used: bytearray,
    apply: type[Any],
    /,
) -> list[Any] | None: ...

class UpdateLock:
    number: int
    def __new__(cls, storage: list[Any] | None = None, /) -> UpdateLock: ...
    def __enter__(self) -> UpdateLock: ...
    def __exit__(self, *_: object) -> None: ...
