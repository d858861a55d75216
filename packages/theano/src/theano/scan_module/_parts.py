"""The parts of a loop's inputs and outputs, and the shapes of its results."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano_graph import Constant, graph_inputs, toposort
from theano_tensor.rewrites.shape import ShapeFeature

from ._helpers import reconstruct_graph

# ---- Loops taken apart by the kinds of their inputs and outputs, and loops without some of their outputs

_SETTINGS = ("truncate_gradient", "name", "mode", "destroy_map", "gpua", "as_while", "profile", "allow_gc", "kept_last")


class _Reader:
    """Takes a list part by part."""

    def __init__(self, given: Sequence[Any]) -> None:
        self.given, self.place = list(given), 0

    def take(self, number: int) -> list[Any]:
        """Return the next ones."""
        self.place += number
        return self.given[self.place - number : self.place]

    def rest(self) -> list[Any]:
        """Return all that is left."""
        return self.take(len(self.given) - self.place)


class scan_args:
    """The inputs and outputs of a loop by their kinds; the inner ones are a copy.

    Parameters
    ----------
    outer_inputs, outer_outputs : sequence of Variable
        Those of a node.
    _inner_inputs, _inner_outputs : sequence of Variable
        Those of its op.
    info : dict
        That of its op.

    Attributes
    ----------
    n_steps : Variable
    outer_in_seqs, inner_in_seqs, outer_in_non_seqs, inner_in_non_seqs : list
        And so on with `shared`, `mit_mot`, `mit_sot`, `sit_sot`, `nit_sot` for ``outer_in``, ``outer_out``,
        ``inner_in`` and ``inner_out``. Inner inputs of mitmots and mitsots are lists, one for each.
    mit_mot_in_slices, mit_mot_out_slices, mit_sot_in_slices : list of list of int
        Taps.
    cond : list
        The condition that ends the loop early, if there is one.
    other_info : dict
        The settings of the op.
    """

    def __init__(
        self,
        outer_inputs: Sequence[Any],
        outer_outputs: Sequence[Any],
        _inner_inputs: Sequence[Any],
        _inner_outputs: Sequence[Any],
        info: Mapping[str, Any],
    ) -> None:
        inner_inputs, inner_outputs = reconstruct_graph(_inner_inputs, _inner_outputs, "")
        self.cond = [inner_outputs.pop()] if info["as_while"] else []
        self.mit_mot_in_slices = list(info["tap_array"][: info["n_mit_mot"]])
        first = info["n_mit_mot"]
        self.mit_sot_in_slices = list(info["tap_array"][first : first + info["n_mit_sot"]])
        self.mit_mot_out_slices = list(info["mit_mot_out_slices"])
        self.other_info = {k: info[k] for k in _SETTINGS if k in info}
        self._read_inputs(_Reader(outer_inputs), _Reader(inner_inputs), info)
        self._read_outputs(_Reader(outer_outputs), _Reader(inner_outputs), info)

    def _read_inputs(self, outer: _Reader, inner: _Reader, info: Mapping[str, Any]) -> None:
        (self.n_steps,) = outer.take(1)
        self.outer_in_seqs, self.inner_in_seqs = outer.take(info["n_seqs"]), inner.take(info["n_seqs"])
        self.outer_in_mit_mot = outer.take(info["n_mit_mot"])
        self.inner_in_mit_mot = [inner.take(len(taps)) for taps in self.mit_mot_in_slices]
        self.outer_in_mit_sot = outer.take(info["n_mit_sot"])
        self.inner_in_mit_sot = [inner.take(len(taps)) for taps in self.mit_sot_in_slices]
        self.outer_in_sit_sot, self.inner_in_sit_sot = outer.take(info["n_sit_sot"]), inner.take(info["n_sit_sot"])
        self.outer_in_shared = outer.take(info["n_shared_outs"])
        self.inner_in_shared = inner.take(info["n_shared_outs"])
        self.outer_in_nit_sot = outer.take(info["n_nit_sot"])
        self.outer_in_non_seqs, self.inner_in_non_seqs = outer.rest(), inner.rest()

    def _read_outputs(self, outer: _Reader, inner: _Reader, info: Mapping[str, Any]) -> None:
        self.outer_out_mit_mot = outer.take(info["n_mit_mot"])
        self.inner_out_mit_mot = [inner.take(len(taps)) for taps in self.mit_mot_out_slices]
        for kind in ("mit_sot", "sit_sot", "nit_sot"):
            setattr(self, f"outer_out_{kind}", outer.take(info[f"n_{kind}"]))
            setattr(self, f"inner_out_{kind}", inner.take(info[f"n_{kind}"]))
        self.outer_out_shared = outer.take(info["n_shared_outs"])
        self.inner_out_shared = inner.take(info["n_shared_outs"])

    outer_out_mit_sot: list[Any]
    outer_out_sit_sot: list[Any]
    outer_out_nit_sot: list[Any]
    inner_out_mit_sot: list[Any]
    inner_out_sit_sot: list[Any]
    inner_out_nit_sot: list[Any]

    @property
    def inner_inputs(self) -> list[Any]:
        """All inner inputs, in the order of the op."""
        taps = [v for group in (*self.inner_in_mit_mot, *self.inner_in_mit_sot) for v in group]
        return [*self.inner_in_seqs, *taps, *self.inner_in_sit_sot, *self.inner_in_shared, *self.inner_in_non_seqs]

    @property
    def outer_inputs(self) -> list[Any]:
        """All inputs of the node, in its order."""
        buffers = [*self.outer_in_mit_mot, *self.outer_in_mit_sot, *self.outer_in_sit_sot]
        others = [*self.outer_in_shared, *self.outer_in_nit_sot, *self.outer_in_non_seqs]
        return [self.n_steps, *self.outer_in_seqs, *buffers, *others]

    @property
    def inner_outputs(self) -> list[Any]:
        """All inner outputs, in the order of the op."""
        several = [v for group in self.inner_out_mit_mot for v in group]
        single = [*self.inner_out_mit_sot, *self.inner_out_sit_sot, *self.inner_out_nit_sot]
        return [*several, *single, *self.inner_out_shared, *self.cond]

    @property
    def outer_outputs(self) -> list[Any]:
        """All outputs of the node, in its order."""
        buffers = [*self.outer_out_mit_mot, *self.outer_out_mit_sot, *self.outer_out_sit_sot]
        return [*buffers, *self.outer_out_nit_sot, *self.outer_out_shared]

    @property
    def info(self) -> dict[str, Any]:
        """The arguments of an op with these inputs and outputs."""
        counts = {
            f"n_{kind}": len(getattr(self, f"outer_in_{kind}"))
            for kind in ("seqs", "mit_mot", "mit_sot", "sit_sot", "nit_sot")
        }
        taps = [*self.mit_mot_in_slices, *self.mit_sot_in_slices, *([-1] for _ in self.inner_in_sit_sot)]
        written = sum(len(taps) for taps in self.mit_mot_out_slices)
        info = {"tap_array": taps, "mit_mot_out_slices": self.mit_mot_out_slices, "n_mit_mot_outs": written}
        return counts | info | {"n_shared_outs": len(self.outer_in_shared)} | self.other_info

    def __copy__(self) -> scan_args:
        clone = object.__new__(type(self))
        clone.__dict__.update({k: copy.copy(v) if isinstance(v, (list, dict)) else v for k, v in self.__dict__.items()})
        return clone

    def merge(self, other: scan_args) -> scan_args:
        """Return one with the inputs and outputs of both."""
        merged = copy.copy(self)
        for name in self.__dict__:
            if name.startswith(("inner_", "outer_")) or name.endswith("_slices"):
                getattr(merged, name).extend(getattr(other, name))
        return merged


def _states(op: Any) -> list[list[Any]]:
    """Return the inner inputs that belong to each output."""
    places = op.var_mappings["inner_inp_from_outer_out"]
    return [[op.inputs[i] for i in places[k]] for k in range(len(places))]


def scan_can_remove_outs(op: Any, out_idxs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return which of some outputs are needed for the others, and which are not."""
    results = op.var_mappings["inner_out_from_outer_out"]
    asked = {i for k in out_idxs for i in results[k]}
    needed = set(graph_inputs([v for i, v in enumerate(op.outputs) if i not in asked]))
    states, kept, added = _states(op), set[int](), True
    while added:
        added = False
        for k in out_idxs:
            if k not in kept and any(v in needed for v in states[k]):
                kept.add(k)
                needed |= set(graph_inputs([op.outputs[i] for i in results[k]]))
                added = True
    return [k for k in out_idxs if k in kept], [k for k in out_idxs if k not in kept]


def compress_outs(
    op: Any, not_required: Sequence[int], inputs: Sequence[Any]
) -> tuple[list[Any], list[Any], dict[str, Any], list[Any], dict[int, int]]:
    """Return a loop without some outputs: inner inputs and outputs, info, inputs of the node, and old -> new places.

    Parameters
    ----------
    op : Scan
    not_required : sequence of int
        Which outputs of the node go; nothing else may need their states.
    inputs : sequence of Variable
        Those of the node.
    """
    mappings, gone = op.var_mappings, set(not_required)
    retained = [k for k in sorted(mappings["inner_out_from_outer_out"]) if k not in gone]
    inner_in = {i for k in gone for i in mappings["inner_inp_from_outer_out"][k]}
    inner_out = {i for k in gone for i in mappings["inner_out_from_outer_out"][k]}
    outer_in = {mappings["outer_inp_from_outer_out"][k] for k in gone}
    info = dict(op.info)
    first = 0
    for kind in ("mit_mot", "mit_sot", "sit_sot", "nit_sot"):
        number = op.info[f"n_{kind}"]
        info[f"n_{kind}"] = number - sum(first <= k < first + number for k in gone)
        first += number
    info["n_shared_outs"] = op.info["n_shared_outs"] - sum(k >= first for k in gone)
    info["tap_array"] = [taps for k, taps in enumerate(op.info["tap_array"]) if k not in gone]
    info["mit_mot_out_slices"] = [taps for k, taps in enumerate(op.info["mit_mot_out_slices"]) if k not in gone]
    info["n_mit_mot_outs"] = sum(len(taps) for taps in info["mit_mot_out_slices"])
    before = op.n_mit_mot + op.n_mit_sot
    single = [k for k in retained if before <= k < before + op.n_sit_sot]
    last = {k + before for k in op.info.get("kept_last", ())}
    info["kept_last"] = tuple(position for position, k in enumerate(single) if k in last)
    places = {k: place for place, k in enumerate(retained)}
    inner_outputs = [v for i, v in enumerate(op.outputs) if i not in inner_out]
    if op.info["as_while"]:
        places[len(op.outputs) - 1] = len(inner_outputs) - 1
    return (
        [v for i, v in enumerate(op.inputs) if i not in inner_in],
        inner_outputs,
        info,
        [v for i, v in enumerate(inputs) if i not in outer_in],
        places,
    )


# ---- Shapes of graphs in terms of the shapes of their inputs, and which expressions may be used where


def infer_shape(outs: Sequence[Any], inputs: Sequence[Any], input_shapes: Sequence[Any]) -> list[Any]:
    """Return the shapes of outputs as tuples of expressions, given those of the inputs; None for a type without shape.

    Examples
    --------
    >>> from theano.scan_module.scan_utils import infer_shape
    >>> import theano.tensor as T
    >>> x, n = T.dvector("x"), T.lscalar("n")
    >>> ((length,),) = infer_shape([T.exp(x)], [x], [(n,)])
    >>> int(length.eval({n: 3}))
    3
    """
    feature = ShapeFeature()
    for variable, shape in zip(inputs, input_shapes, strict=True):
        feature.set_shape(variable, shape)
    return [feature.shape_of[out] for out in outs]


class Validator:
    """Tells which expressions need no variable of a set, or have an equivalent that does not.

    Parameters
    ----------
    valid, invalid : iterable of Variable, optional
        Variables that may be used, and variables that may not.
    valid_equivalent : dict, optional
        Variable that may not be used -> one that stands for it.
    """

    def __init__(
        self,
        valid: Iterable[Any] | None = None,
        invalid: Iterable[Any] | None = None,
        valid_equivalent: Mapping[Any, Any] | None = None,
    ) -> None:
        self.valid_equivalent = dict(valid_equivalent or {})
        self.valid = {*(valid or ()), *self.valid_equivalent.values()}
        self.invalid = {*(invalid or ()), *self.valid_equivalent}

    def check(self, out: Any) -> tuple[Any, bool] | None:
        """Return a variable in place of `out` that may be used, and whether it is `out`; None if there is none."""
        nodes = toposort([*self.valid, *self.invalid], [out])
        for v in [v for node in nodes for v in node.inputs if v.owner is None] + [out]:
            if v.owner is None:
                self._leaf(v)
        for node in nodes:
            if all(self._usable(v) is not None for v in node.inputs):
                if any(v in self.invalid for v in node.inputs):
                    copy = node.clone_with_new_inputs([self._usable(v) for v in node.inputs])
                    for old, new in zip(node.outputs, copy.outputs, strict=True):
                        self._stands_for(old, new)
                else:
                    self.valid.update(node.outputs)
            else:
                self.invalid.update(node.outputs)
        usable = self._usable(out)
        return None if usable is None else (usable, usable is out)

    def _leaf(self, v: Any) -> None:
        if v in self.valid or v in self.invalid:
            return
        (self.valid if isinstance(v, Constant) else self.invalid).add(v)

    def _stands_for(self, old: Any, new: Any) -> None:
        self.invalid.add(old)
        self.valid.add(new)
        self.valid_equivalent[old] = new

    def _usable(self, v: Any) -> Any:
        return v if v in self.valid and v not in self.invalid else self.valid_equivalent.get(v)
