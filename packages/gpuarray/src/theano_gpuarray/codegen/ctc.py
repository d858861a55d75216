"""Sums over alignments of labels with sequences, on devices: the loss of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel, memory_type
from theano_linker_c.scalar import CValue, c_stored, c_type

from ._form import DeviceOperand, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, add_refusals, element, loaded, on_device, refusal, spread

# ---- The kernel


@record
class AlignmentsKernel(Kernel):
    """The loss of each example of a batch; inputs are scores (time, batch, symbols), labels and numbers of time steps.

    Parameters
    ----------
    dtype : str
        Of scores and results.
    gradient : bool
        Whether the gradient by the scores is a second result.
    """

    dtype: str
    gradient: bool


# ---- Sums over all alignments, in logarithms: one work-group for each example
#
# Graves, Fernandez, Gomez, Schmidhuber: Connectionist Temporal Classification, 2006, section 4.1. Between labels,
# before
# them and behind them are blanks: the states of an alignment, of which each work-item computes some at each time step.


_FLOATS = ("float16", "float32", "float64")
#: Work-items of a group: of an example, and of the scores of one time step.
_LOCAL, _ROW_LOCAL = 128, 32


@dataclass(frozen=True)
class _Batch:
    """The operands, and the arrays kept between launches.

    Parameters
    ----------
    scores, labels, lengths : DeviceOperand
    norms : DeviceOperand
        Of shape (time, batch): the logarithm of the sum of the exponentials of the scores.
    states : DeviceOperand
        Of shape (batch, states): the symbol of each state.
    later : DeviceOperand
        The next state with the same symbol, 0 where there is none; negative where there is one before.
    sums : DeviceOperand
        Of shape (time, batch, states).
    whole : DeviceOperand
        The logarithm of the probability of each example.
    """

    scores: DeviceOperand
    labels: DeviceOperand
    lengths: DeviceOperand
    norms: DeviceOperand
    states: DeviceOperand
    later: DeviceOperand
    sums: DeviceOperand
    whole: DeviceOperand

    @property
    def wide(self) -> str:
        """The dtype in which is computed."""
        return self.norms.dtype


def _mismatch(what: str) -> ValueError:
    return ValueError(format_error(f"ctc: {what}", hint="change the inputs"))


@register_device_form(AlignmentsKernel, supports=lambda kernel: kernel.dtype in _FLOATS)
def _alignments(kernel: AlignmentsKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    scores, labels, lengths = (on_device(recorder, x) for x in operands)
    steps, batch, _ = scores.shape
    if labels.shape[0] != batch or lengths.shape[0] != batch:
        raise _mismatch(f"there are {batch} examples, {labels.shape[0]} rows of labels and {lengths.shape[0]} lengths")
    wide = "float64" if kernel.dtype == "float64" else "float32"
    states = 2 * labels.shape[1] + 1
    given = _Batch(
        scores,
        labels,
        lengths,
        recorder.empty(wide, (steps, batch)),
        recorder.empty("int32", (batch, states)),
        recorder.empty("int32", (batch, states)),
        recorder.empty(wide, (steps, batch, states)),
        recorder.empty(wide, (batch,)),
    )
    loss = recorder.empty(kernel.dtype, (batch,))
    gradient = recorder.empty(kernel.dtype, scores.shape) if kernel.gradient else None
    if batch:
        _norms(recorder, given)
        _sums(recorder, given, loss)
    if gradient is None:
        return [loss]
    if gradient.size:
        _differentiate(recorder, given, gradient)
    return [loss, gradient]


def _differentiate(recorder: Recorder, batch: _Batch, gradient: DeviceOperand) -> None:
    """Compute the gradient, float16 by way of float32."""
    target = gradient if gradient.dtype == batch.wide else recorder.empty(batch.wide, gradient.shape)
    _shares(recorder, batch)
    _probabilities(recorder, batch, target)
    _subtract(recorder, batch, target)
    if target is not gradient:
        writer = KernelWriter("ctc_rounded")
        writer.reads(x=target)
        writer.writes(y=gradient)
        writer.walk(target.size)
        value = c_stored(
            CValue(f"((GLOBAL_MEM const {c_type(batch.wide)} *)(x + x_at))[i]", batch.wide), gradient.dtype
        )
        writer.add(f"((GLOBAL_MEM {memory_type(gradient.dtype)} *)(y + y_at))[i] = {value};")
        writer.end()
        writer.launch(recorder, *spread(recorder, target.size))


def _norms(recorder: Recorder, given: _Batch) -> None:
    """Compute the norms: a small group for each time and example."""
    steps, batch, symbols = given.scores.shape
    if not steps:
        return
    kind, end = c_type(given.wide), _suffix(given.wide)
    local = 1 if recorder.properties.cpu else min(_ROW_LOCAL, recorder.properties.max_local)
    writer = KernelWriter("ctc_norms")
    writer.reads(x=given.scores)
    writer.writes(y=given.norms)
    writer.number("batch", batch)
    writer.number("symbols", symbols)
    stride = writer.numbers("xs", given.scores.strides)
    score = loaded(given.scores.dtype, element(given.scores.dtype, "x", f"o + k * {stride[2]}")).text
    writer.local(kind, "part", local)
    writer.add(
        "const int64_t t = GID_0 / batch, b = GID_0 % batch;",
        f"const int64_t o = x_at + t * {stride[0]} + b * {stride[1]};",
        f"{kind} most = -INFINITY, sum = 0;",
        f"for (int64_t k = LID_0; k < symbols; k += {local}) most = fmax(most, {score});",
        *_joined(local, "fmax(part[LID_0], part[LID_0 + span])", "most"),
        f"for (int64_t k = LID_0; k < symbols; k += {local}) sum += exp{end}({score} - most);",
        *_joined(local, "part[LID_0] + part[LID_0 + span]", "sum"),
        f"if (LID_0 == 0) ((GLOBAL_MEM {kind} *)(y + y_at))[t * batch + b] = most + log{end}(sum);",
    )
    writer.launch(recorder, (steps * batch,), (local,))


def _probabilities(recorder: Recorder, given: _Batch, gradient: DeviceOperand) -> None:
    """Begin the gradient with the probabilities of symbols; zeros where there is none."""
    kind, end = c_type(given.wide), _suffix(given.wide)
    writer = KernelWriter("ctc_probabilities")
    writer.reads(x=given.scores, l=given.lengths, y=given.norms, w=given.whole)
    writer.writes(g=gradient)
    _, batch, symbols = gradient.shape
    stride = writer.numbers("xs", given.scores.strides)
    for name, value in (("ls", given.lengths.strides[0]), ("batch", batch), ("symbols", symbols)):
        writer.number(name, value)
    offset = f"x_at + t * {stride[0]} + b * {stride[1]} + k * {stride[2]}"
    score = loaded(given.scores.dtype, element(given.scores.dtype, "x", offset)).text
    writer.walk(gradient.size)
    writer.add(
        "const int64_t k = r % symbols, t = r / symbols / batch, b = r / symbols % batch;",
        f"const {kind} whole = ((GLOBAL_MEM const {kind} *)(w + w_at))[b];",
        f"const int counts = t < (int64_t){_length(given)} && whole > -INFINITY && whole < INFINITY;",
        f"const {kind} norm = ((GLOBAL_MEM const {kind} *)(y + y_at))[t * batch + b];",
        f"((GLOBAL_MEM {kind} *)(g + g_at))[i] = counts ? exp{end}({score} - norm) : 0;",
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, gradient.size))


def _suffix(dtype: str) -> str:
    return "" if dtype == "float64" else "f"


def _joined(local: int, join: str, name: str) -> list[str]:
    """Return the statements after which each work-item has the findings of its group."""
    if local == 1:
        return []
    return [
        f"part[LID_0] = {name};",
        "local_barrier();",
        f"for (int span = {local // 2}; span > 0; span /= 2) {{",
        f"if (LID_0 < span) part[LID_0] = {join};",
        "local_barrier();",
        "}",
        f"{name} = part[0];",
        "local_barrier();",
    ]


def _group(recorder: Recorder, states: int) -> int:
    local = min(_LOCAL, recorder.properties.max_local)
    while local > 1 and local // 2 >= states:
        local //= 2
    return local


def _merge(dtype: str) -> str:
    """Return a function that adds two numbers given by their logarithms."""
    kind, end = c_type(dtype), _suffix(dtype)
    return (
        f"static inline {kind} theano_log_sum({kind} a, {kind} b) {{\n"
        f"  const {kind} most = a > b ? a : b;\n"
        "  if (most == -INFINITY) return most;\n"
        f"  return most + log1p{end}(exp{end}((a > b ? b : a) - most));\n}}\n"
    )


def _emission(batch: _Batch, time: str, state: str) -> str:
    """Return the logarithm of the probability of a state's symbol at a time."""
    offset = f"x_at + ({time}) * xs0 + b * xs1 + (int64_t)symbol[{state}] * xs2"
    score = loaded(batch.scores.dtype, element(batch.scores.dtype, "x", offset)).text
    return f"({score} - norm[({time}) * batch + b])"


def _length(batch: _Batch) -> str:
    """Return how many time steps example ``b`` has."""
    return loaded(batch.lengths.dtype, element(batch.lengths.dtype, "l", "l_at + b * ls")).text


def _declare(writer: KernelWriter, given: _Batch) -> None:
    """Add the common parameters of both walks along time: group ``b`` is an example."""
    kind = c_type(given.wide)
    writer.reads(x=given.scores, l=given.lengths, y=given.norms)
    writer.writes(c=given.states, v=given.sums)
    steps, batch, symbols = given.scores.shape
    writer.numbers("xs", given.scores.strides)
    for name, value in (
        ("ls", given.lengths.strides[0]),
        ("steps", steps),
        ("batch", batch),
        ("symbols", symbols),
        ("states", given.states.shape[1]),
    ):
        writer.number(name, value)
    writer.add(
        "const int64_t b = GID_0;",
        f"GLOBAL_MEM const {kind} *const norm = (GLOBAL_MEM const {kind} *)(y + y_at);",
        f"GLOBAL_MEM {kind} *const sums = (GLOBAL_MEM {kind} *)(v + v_at);",
        "GLOBAL_MEM int32_t *const symbol = (GLOBAL_MEM int32_t *)(c + c_at) + b * states;",
        f"int64_t length = (int64_t){_length(given)};",
    )


def _add_checks(recorder: Recorder, writer: KernelWriter, batch: _Batch) -> None:
    steps, _, symbols = batch.scores.shape
    explain: list[tuple[str, Callable[[int, int, int], Exception]]] = [
        ("bad_length", lambda place, value, n: _mismatch(f"input_lengths must be from 0 to {steps}")),
        (
            "bad_label",
            lambda place, value, n: _mismatch(f"labels must be smaller than {symbols}, the number of symbols"),
        ),
        ("blank_label", lambda place, value, n: _mismatch("0 is the blank, which is no label; padding is negative")),
    ]
    for name, error in explain:
        add_refusals(recorder, writer, error, name)


def _found_states(batch: _Batch, local: int) -> list[str]:
    """Return the statements that check a row of labels, and find the states and which of them have the same symbol."""
    label = loaded(batch.labels.dtype, element(batch.labels.dtype, "p", "p_at + b * ps0 + k * ps1")).text
    signed = "1" if batch.labels.dtype.startswith("uint") else f"{label} >= 0"
    return [
        "GLOBAL_MEM int32_t *const later = (GLOBAL_MEM int32_t *)(n + n_at) + b * states;",
        f"if (length < 0 || length > steps) {{ {refusal('b', 'length', 'steps', 'bad_length')} length = 0; }}",
        "if (LID_0 == 0) {",
        "count[0] = 0;",
        "for (int64_t k = 0; 2 * k + 1 < states; k++)",
        f"if ({signed}) {{",
        f"int64_t found = (int64_t){label};",
        # Where a label is refused another one stands in, so that nothing is read from elsewhere.
        f"if (found >= symbols || found < 0) {{ {refusal('b', 'found', 'symbols', 'bad_label')} found = 0; }}",
        f"else if (found == 0) {{ {refusal('b', 'found', 'symbols', 'blank_label')} }}",
        "symbol[2 * count[0]] = 0; symbol[2 * count[0] + 1] = (int32_t)found; count[0]++;",
        "}",
        "symbol[2 * count[0]] = 0;",
        "}",
        "theano_barrier();",
        "const int64_t last = 2 * (int64_t)count[0];",
        f"for (int64_t s = LID_0; s <= last; s += {local}) {{",
        "int32_t next = 0, first = 1;",
        "if (s % 2 == 0) { next = s < last ? (int32_t)s + 2 : 0; first = s == 0; }",
        "else {",
        "for (int64_t q = 1; q < s; q += 2) if (symbol[q] == symbol[s]) { first = 0; break; }",
        "for (int64_t q = s + 2; q < last; q += 2) if (symbol[q] == symbol[s]) { next = (int32_t)q; break; }",
        "}",
        # No state follows state 0 of which there are others before: -1 stands for "not the first, and none follows".
        "later[s] = first ? next : -1 - next;",
        "}",
    ]


def _sums(recorder: Recorder, batch: _Batch, loss: DeviceOperand) -> None:
    """Find the states of each example, and add up over beginnings of alignments, time step by time step."""
    kind, end = c_type(batch.wide), memory_type(loss.dtype)
    writer, local = KernelWriter("ctc_sums"), _group(recorder, batch.states.shape[1])
    writer.function(_merge(batch.wide))
    _declare(writer, batch)
    writer.reads(p=batch.labels)
    writer.writes(n=batch.later, w=batch.whole, z=loss)
    writer.local("int32_t", "count", 1)
    writer.numbers("ps", batch.labels.strides)
    _add_checks(recorder, writer, batch)
    writer.add(*_found_states(batch, local))
    writer.add(
        "for (int64_t t = 0; t < length; t++) {",
        f"GLOBAL_MEM {kind} *const row = sums + (t * batch + b) * states;",
        f"for (int64_t s = LID_0; s <= last; s += {local}) {{",
        f"{kind} reached = t == 0 && s < 2 ? 0 : -INFINITY;",
        "if (t > 0) {",
        f"GLOBAL_MEM const {kind} *const before = row - batch * states;",
        "reached = before[s];",
        "if (s >= 1) reached = theano_log_sum(reached, before[s - 1]);",
        "if (s >= 3 && s % 2 && symbol[s] != symbol[s - 2]) reached = theano_log_sum(reached, before[s - 2]);",
        "}",
        f"row[s] = reached + {_emission(batch, 't', 's')};",
        "}",
        "theano_barrier();",
        "}",
        "if (LID_0 == 0) {",
        f"{kind} found = last > 0 ? -INFINITY : 0;",
        "if (length > 0) {",
        f"GLOBAL_MEM const {kind} *const row = sums + ((length - 1) * batch + b) * states;",
        "found = row[last]; if (last > 0) found = theano_log_sum(found, row[last - 1]);",
        "}",
        f"((GLOBAL_MEM {kind} *)(w + w_at))[b] = found;",
        f"((GLOBAL_MEM {end} *)(z + z_at))[b] = {c_stored(CValue('(-found)', batch.wide), loss.dtype)};",
        "for (int64_t s = last + 1; s < states; s++) symbol[s] = -1;",
        "}",
    )
    writer.launch(recorder, (batch.scores.shape[1],), (local,))


def _shares(recorder: Recorder, batch: _Batch) -> None:
    """Turn the sums into the share of alignments that are in each state at each time, from the last time step on."""
    kind, local, end = c_type(batch.wide), _group(recorder, batch.states.shape[1]), _suffix(batch.wide)
    remainder = recorder.empty(batch.wide, (batch.scores.shape[1], 2, batch.states.shape[1]))
    writer = KernelWriter("ctc_shares")
    writer.function(_merge(batch.wide))
    _declare(writer, batch)
    writer.reads(w=batch.whole)
    writer.writes(r=remainder)
    writer.add(
        f"const {kind} whole = ((GLOBAL_MEM const {kind} *)(w + w_at))[b];",
        f"GLOBAL_MEM {kind} *const both = (GLOBAL_MEM {kind} *)(r + r_at) + b * 2 * states;",
        "int64_t last = states - 1;",
        "while (last > 0 && symbol[last] < 0) last--;",
        "if (length > steps || !(whole > -INFINITY && whole < INFINITY)) length = 0;",
        "for (int64_t t = length - 1; t >= 0; t--) {",
        f"GLOBAL_MEM {kind} *const row = sums + (t * batch + b) * states;",
        f"GLOBAL_MEM {kind} *const now = both + t % 2 * states;",
        f"GLOBAL_MEM const {kind} *const then = both + (t + 1) % 2 * states;",
        f"for (int64_t s = LID_0; s <= last; s += {local}) {{",
        f"{kind} left = s >= last - 1 ? 0 : -INFINITY;",
        "if (t + 1 < length) {",
        f"left = then[s] + {_emission(batch, 't + 1', 's')};",
        f"if (s + 1 <= last) left = theano_log_sum(left, then[s + 1] + {_emission(batch, 't + 1', 's + 1')});",
        "if (s % 2 && s + 2 <= last && symbol[s] != symbol[s + 2])",
        f"left = theano_log_sum(left, then[s + 2] + {_emission(batch, 't + 1', 's + 2')});",
        "}",
        "now[s] = left;",
        f"row[s] = exp{end}(row[s] + left - whole);",
        "}",
        "theano_barrier();",
        "}",
    )
    writer.launch(recorder, (batch.scores.shape[1],), (local,))


def _subtract(recorder: Recorder, given: _Batch, gradient: DeviceOperand) -> None:
    """Subtract the shares from the probabilities; those of one symbol are added up by the first of its states."""
    kind = c_type(given.wide)
    steps, batch, symbols = gradient.shape
    states = given.states.shape[1]
    writer = KernelWriter("ctc_subtract")
    writer.writes(g=gradient)
    writer.reads(l=given.lengths, c=given.states, n=given.later, v=given.sums, w=given.whole)
    for name, value in (("ls", given.lengths.strides[0]), ("batch", batch), ("symbols", symbols), ("states", states)):
        writer.number(name, value)
    writer.walk(steps * batch * states)
    writer.add(
        "const int64_t s = r % states, t = r / states / batch, b = r / states % batch;",
        f"const {kind} whole = ((GLOBAL_MEM const {kind} *)(w + w_at))[b];",
        "const int32_t symbol = ((GLOBAL_MEM const int32_t *)(c + c_at))[b * states + s];",
        f"if (symbol < 0 || t >= (int64_t){_length(given)}) continue;",
        "GLOBAL_MEM const int32_t *const later = (GLOBAL_MEM const int32_t *)(n + n_at) + b * states;",
        "if (later[s] < 0) continue;",
        "if (!(whole > -INFINITY && whole < INFINITY)) continue;",
        f"{kind} sum = 0;",
        f"GLOBAL_MEM const {kind} *const shares = (GLOBAL_MEM const {kind} *)(v + v_at) + (t * batch + b) * states;",
        "for (int64_t q = s;;) {",
        "sum += shares[q];",
        "const int32_t next = later[q] < 0 ? -1 - later[q] : later[q];",
        "if (next == 0) break;",
        "q = next;",
        "}",
        f"((GLOBAL_MEM {kind} *)(g + g_at))[(t * batch + b) * symbols + symbol] -= sum;",
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, steps * batch * states))


__all__ = ["AlignmentsKernel"]
