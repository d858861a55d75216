"""The kinds of inputs and outputs that a loop has, and which of its variables belong together.

Outputs are told apart by how many earlier steps a step is given (``it``, input taps) and how many of them it writes
(``ot``, output taps): several and several (mitmot), several and one (mitsot), a single one and one (sitsot), none
and one (nitsot). Values that are no arrays, states of random streams for instance, are handed on as `shared` ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply


class Kinds:
    """What a loop has, and where: see the module.

    Attributes
    ----------
    n_seqs, n_mit_mot, n_mit_sot, n_sit_sot, n_nit_sot, n_shared_outs : int
        How many sequences there are, and how many outputs of each kind.
    n_mit_mot_outs : int
        How many inner outputs the mitmots have.
    tap_array : list of list of int
        For each output with input taps, in the order of the kinds, what they are.
    mit_mot_out_slices : list of list of int
        For each mitmot, its output taps.
    as_while : bool
        Whether the last inner output ends the loop.
    """

    n_seqs: int
    n_mit_mot: int
    n_mit_mot_outs: int
    n_mit_sot: int
    n_sit_sot: int
    n_nit_sot: int
    n_shared_outs: int
    tap_array: list[list[int]]
    mit_mot_out_slices: list[list[int]]
    as_while: bool
    #: Whether a node has an input for each nitsot, which says how many of its steps are kept.
    counts_nit_sots = True

    # ---- how many there are before each kind

    def _inner_start(self, recurrent: int) -> int:
        return self.n_seqs + sum(len(taps) for taps in self.tap_array[:recurrent])

    @property
    def _recurrent(self) -> int:
        return self.n_mit_mot + self.n_mit_sot + self.n_sit_sot

    @property
    def _mit_mot_results(self) -> int:
        return sum(len(taps) for taps in self.mit_mot_out_slices)

    # ---- sequences

    def inner_seqs(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are rows of sequences."""
        return list(list_inputs[: self.n_seqs])

    def outer_seqs(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that are sequences."""
        return _inputs(list_inputs)[1 : 1 + self.n_seqs]

    # ---- outputs with taps

    def mitmot_taps(self) -> list[list[int]]:
        """Return the input taps of mitmots."""
        return self.tap_array[: self.n_mit_mot]

    def mitmot_out_taps(self) -> list[list[int]]:
        """Return the output taps of mitmots."""
        return self.mit_mot_out_slices[: self.n_mit_mot]

    def mitsot_taps(self) -> list[list[int]]:
        """Return the input taps of mitsots."""
        return self.tap_array[self.n_mit_mot : self.n_mit_mot + self.n_mit_sot]

    def inner_mitmot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of mitmots."""
        return list(list_inputs[self.n_seqs : self._inner_start(self.n_mit_mot)])

    def inner_mitsot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of mitsots."""
        last = self._inner_start(self.n_mit_mot + self.n_mit_sot)
        return list(list_inputs[self._inner_start(self.n_mit_mot) : last])

    def inner_sitsot(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs of sitsots."""
        first = self._inner_start(self.n_mit_mot + self.n_mit_sot)
        return list(list_inputs[first : first + self.n_sit_sot])

    def outer_mitmot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that mitmots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs, self.n_mit_mot)

    def outer_mitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that mitsots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self.n_mit_mot, self.n_mit_sot)

    def outer_sitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that sitsots start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self.n_mit_mot + self.n_mit_sot, self.n_sit_sot)

    def inner_mitmot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of mitmots."""
        return list(list_outputs[: self._mit_mot_results])

    def inner_mitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of mitsots."""
        return _part(list_outputs, self._mit_mot_results, self.n_mit_sot)

    def inner_sitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of sitsots."""
        return _part(list_outputs, self._mit_mot_results + self.n_mit_sot, self.n_sit_sot)

    def outer_mitmot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are mitmots."""
        return _outputs(list_outputs)[: self.n_mit_mot]

    def outer_mitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are mitsots."""
        return _part(_outputs(list_outputs), self.n_mit_mot, self.n_mit_sot)

    def outer_sitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are sitsots."""
        return _part(_outputs(list_outputs), self.n_mit_mot + self.n_mit_sot, self.n_sit_sot)

    # ---- outputs without taps

    def outer_nitsot(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that say how many steps of nitsots are kept."""
        first = 1 + self.n_seqs + self._recurrent + self.n_shared_outs
        return _part(_inputs(list_inputs), first, self.n_nit_sot if self.counts_nit_sots else 0)

    def inner_nitsot_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs of nitsots."""
        return _part(list_outputs, self._mit_mot_results + self.n_mit_sot + self.n_sit_sot, self.n_nit_sot)

    def outer_nitsot_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are nitsots."""
        return _part(_outputs(list_outputs), self._recurrent, self.n_nit_sot)

    # ---- what is handed on, and what stays

    def inner_shared(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are handed on from step to step and are no arrays."""
        return _part(list_inputs, self._inner_start(self._recurrent), self.n_shared_outs)

    def outer_shared(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that these start from."""
        return _part(_inputs(list_inputs), 1 + self.n_seqs + self._recurrent, self.n_shared_outs)

    def inner_shared_outs(self, list_outputs: Sequence[Any]) -> list[Any]:
        """Return the inner outputs that are their new values."""
        first = self._mit_mot_results + self.n_mit_sot + self.n_sit_sot + self.n_nit_sot
        return _part(list_outputs, first, self.n_shared_outs)

    def outer_shared_outs(self, list_outputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the outputs of a node that are their last values."""
        return _part(_outputs(list_outputs), self._recurrent + self.n_nit_sot, self.n_shared_outs)

    def inner_non_seqs(self, list_inputs: Sequence[Any]) -> list[Any]:
        """Return the inner inputs that are the same in all steps."""
        return list(list_inputs[self._inner_start(self._recurrent) + self.n_shared_outs :])

    def outer_non_seqs(self, list_inputs: Apply | Sequence[Any]) -> list[Any]:
        """Return the inputs of a node that are the same in all steps."""
        first = 1 + self.n_seqs + self._recurrent + self.n_shared_outs
        return _inputs(list_inputs)[first + (self.n_nit_sot if self.counts_nit_sots else 0) :]

    # ---- what belongs together

    def mappings(self, inner_inputs: int) -> dict[str, dict[int, Any]]:
        """Return which of the inner and outer inputs and outputs belong to the same sequence, state or constant.

        Parameters
        ----------
        inner_inputs : int
            How many there are.

        Returns
        -------
        dict
            Twelve entries ``X_from_Y`` for each two of ``outer_inp, inner_inp, inner_out, outer_out``: a dictionary
            from indices in Y to an index in X, -1 for none, where X is a set of outer variables, and to a list of
            indices where it is a set of inner variables.
        """
        found: dict[str, dict[int, Any]] = {f"{x}_from_{y}": {} for x in _SETS for y in _SETS if x != y}
        for group in self._groups(inner_inputs):
            for source, places in group.items():
                for place in places:
                    for target, others in group.items():
                        if target != source:
                            single = others[0] if others else -1
                            found[f"{target}_from_{source}"][place] = (
                                list(others) if target.startswith("inner") else single
                            )
        return found

    def _groups(self, inner_inputs: int) -> list[dict[str, list[int]]]:
        """Return the variables of each sequence, output and constant, by their places."""
        groups = [_group([0], [], [], [])]
        groups += [_group([1 + k], [k], [], []) for k in range(self.n_seqs)]
        inner, result = self.n_seqs, 0
        for k, taps in enumerate(self.tap_array):
            written = len(self.mit_mot_out_slices[k]) if k < self.n_mit_mot else 1
            inner_places = list(range(inner, inner + len(taps)))
            groups.append(_group([1 + self.n_seqs + k], inner_places, list(range(result, result + written)), [k]))
            inner, result = inner + len(taps), result + written
        recurrent = len(self.tap_array)
        shared, counts = 1 + self.n_seqs + recurrent, self.n_nit_sot if self.counts_nit_sots else 0
        for k in range(self.n_nit_sot):
            outer = [shared + self.n_shared_outs + k] if counts else []
            groups.append(_group(outer, [], [result + k], [recurrent + k]))
        result += self.n_nit_sot
        for k in range(self.n_shared_outs):
            groups.append(_group([shared + k], [inner + k], [result + k], [recurrent + self.n_nit_sot + k]))
        inner += self.n_shared_outs
        first = shared + self.n_shared_outs + counts
        return groups + [_group([first + k], [inner + k], [], []) for k in range(inner_inputs - inner)]


#: The four sets of variables of a loop.
_SETS = ("outer_inp", "inner_inp", "inner_out", "outer_out")


def _group(*places: list[int]) -> dict[str, list[int]]:
    return dict(zip(_SETS, places, strict=True))


def _part(variables: Sequence[Any], first: int, number: int) -> list[Any]:
    return list(variables[first : first + number])


def _inputs(given: Apply | Sequence[Any]) -> list[Any]:
    return list(given.inputs if isinstance(given, Apply) else given)


def _outputs(given: Apply | Sequence[Any]) -> list[Any]:
    return list(given.outputs if isinstance(given, Apply) else given)
