"""Pickles of graphs: who is whom, what nodes of users' classes say, and what goes wrong on the way."""

from __future__ import annotations

import copy
import io
import pickle
import unittest
from typing import Any, ClassVar

from hypothesis import given, settings, strategies as st
from support import NUMBER, chain, halves, join, names

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, equal_computations, toposort
from theano_testing.tiers import examples


class Marked(Variable):
    """A variable with a place of its own and whatever a program gives it."""

    __slots__ = ("unit",)


class Counted(Variable):
    """A variable that says itself what its pickle holds."""

    __slots__ = ("count",)

    def __getstate__(self) -> Any:
        return super().__getstate__(), "saved"

    def __setstate__(self, saved: Any) -> None:
        super().__setstate__(saved[0])
        self.count = saved[1]


class Named(Variable):
    """A variable of which a pickle holds the name alone."""

    def __reduce__(self) -> Any:
        return Named, (NUMBER, None, None, self.name)


class OwnApply(Apply):
    """A node with places and attributes of its own."""

    __slots__ = ("note",)


class StatefulApply(Apply):
    """A node that says itself what its pickle holds."""

    def __getstate__(self) -> Any:
        return ("own", super().__getstate__())

    def __setstate__(self, saved: Any) -> None:
        super().__setstate__(saved[1])


class Making(Op):
    """An op whose node and outputs are of the chosen classes."""

    __props__ = ("apply_class", "classes")

    def __init__(self, apply_class: Any, *classes: Any) -> None:
        self.apply_class = apply_class
        self.classes = classes

    def make_node(self, *inputs: Variable) -> Apply:
        return self.apply_class(self, list(inputs), [kind(NUMBER) for kind in self.classes])  # type: ignore[no-any-return]


def dump_in_python(obj: object) -> bytes:
    """Pickle with the pickler that the C one replaces."""
    file = io.BytesIO()
    pickle._Pickler(file).dump(obj)
    return file.getvalue()


def again(obj: Any) -> list[Any]:
    """Return what comes back from pickles and a deep copy."""
    dumps = [dump_in_python(obj), *(pickle.dumps(obj, protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1))]
    return [*map(pickle.loads, dumps), copy.deepcopy(obj)]


class TestIdentity(unittest.TestCase):
    def test_a_node_is_one_object_wherever_it_is_met(self) -> None:
        x, y = names("xy")
        out = join(join(x, y), x)
        for things in ([out, x, out.owner], [x, out, out.owner], [out.owner, out, x], [out.owner.inputs[0], out, x]):
            for copies in again(things):
                result = dict(zip(map(id, things), copies, strict=True))
                self.assertIs(result[id(out)].owner.inputs[1], result.get(id(x)))
                self.assertIs(result[id(out)].owner.outputs[0], result[id(out)])
                if id(out.owner) in result:
                    self.assertIs(result[id(out)].owner, result[id(out.owner)])

    def test_all_variables_of_a_graph(self) -> None:
        x = names("x")[0]
        out = chain(x, 30)
        order = toposort([x], [out])
        things = [x, *(node.outputs[0] for node in order)]
        for listed in (things, things[::-1]):
            for copies in again(listed):
                first, *others = copies if listed is things else copies[::-1]
                for before, after in zip([first, *others], others, strict=False):
                    self.assertIs(after.owner.inputs[0], before)

    def test_outputs_of_one_node(self) -> None:
        x = names("x")[0]
        first, second = halves(x)
        out = join(second, halves(second)[1])
        for copied in again([second, out, first]):
            self.assertIs(copied[0].owner, copied[2].owner)
            self.assertIs(copied[1].owner.inputs[0], copied[0])
            self.assertEqual([v.index for v in copied[0].owner.outputs], [0, 1])

    def test_two_graphs_in_one_pickle(self) -> None:
        x, y = names("xy")
        first, second = chain(x, 5), chain(y, 7)
        for one, two, both in again([first, second, join(first, second)]):
            self.assertIs(both.owner.inputs[0], one)
            self.assertIs(both.owner.inputs[1], two)
            self.assertTrue(equal_computations([first], [one], [x], [toposort([], [one])[0].inputs[0]]))

    def test_one_pickler_writes_twice(self) -> None:
        x = names("x")[0]
        middle = chain(x, 3)
        out = chain(middle, 3)
        file = io.BytesIO()
        pickler = pickle.Pickler(file)
        for thing in (middle, out, x):
            pickler.dump(thing)
        self.assertEqual(len(toposort([], [pickle.loads(pickle.dumps(out))])), 6)  # while the pickler lives
        file.seek(0)
        unpickler = pickle.Unpickler(file)
        middle2, out2, x2 = (unpickler.load() for _ in range(3))
        order = toposort([], [out2])
        self.assertIs(order[0].inputs[0], x2)
        self.assertIs(order[2].outputs[0], middle2)

    def test_tags_refer_to_the_graph(self) -> None:
        x = names("x")[0]
        out = chain(x, 6)
        order = toposort([x], [out])
        x.tag.last = out
        out.tag.self = [out]
        order[3].tag.first = order[0].outputs[0]
        order[1].outputs[0].tag.later = order[4]
        for thing in (out, x, [out, x], FunctionGraph([x], [out], clone=False)):
            for copied in again(thing):
                end = copied.outputs[0] if isinstance(copied, FunctionGraph) else copied
                end = end[0] if isinstance(end, list) else end
                end = end.tag.last if end.owner is None else end
                result = toposort([], [end])
                self.assertIs(end.tag.self[0], end)
                self.assertIs(result[0].inputs[0].tag.last, end)
                self.assertIs(result[3].tag.first, result[0].outputs[0])
                self.assertIs(result[1].outputs[0].tag.later, result[4])

    def test_function_graph_and_its_variables(self) -> None:
        x, y = names("xy")
        out = join(chain(x, 4), x)
        fgraph = FunctionGraph([x, y], [out], clone=False)
        for copied, end, start in again([fgraph, out, x]):
            self.assertIs(copied.outputs[0], end)
            self.assertIs(copied.inputs[0], start)
            self.assertEqual(
                copied.clients(start),
                [(n, i) for n in copied.apply_nodes for i, v in enumerate(n.inputs) if v is start],
            )
            copied.check_integrity()

    def test_shallow_copies(self) -> None:
        x = names("x")[0]
        out: Any = join(x)
        out.tag.note = [1]
        out.length = 3
        for thing in (out, out.owner, x):
            twin: Any = copy.copy(thing)
            self.assertIsNot(twin, thing)
            self.assertIs(type(twin), type(thing))
            self.assertIs(twin._tag, thing._tag)
        self.assertIs(copy.copy(out).owner, out.owner)
        self.assertEqual(copy.copy(out).length, 3)
        twin = copy.copy(out.owner)
        self.assertIs(twin.inputs, out.owner.inputs)
        for copied in again([twin, out]):
            self.assertIs(copied[0].outputs[0], copied[1])
            self.assertIsNot(copied[1].owner, copied[0])


class TestPartsThatAreKnown(unittest.TestCase):
    """Things that hold variables of one graph: what is written of it already is not walked through again."""

    def test_lists_from_the_inputs_on_grow_with_their_length(self) -> None:
        def everything(length: int) -> list[Variable]:
            things = [*names("x"), *names("y")]
            for _ in range(length):
                branch = join(things[0])
                for _ in range(10):
                    branch = join(branch, things[0])
                things.append(join(things[-1], branch))
            return things

        sizes = [len(pickle.dumps(everything(length))) for length in (100, 800)]
        self.assertLess(sizes[1], 8.5 * sizes[0])
        sizes = [len(dump_in_python(everything(length))) for length in (50, 200)]
        self.assertLess(sizes[1], 4.5 * sizes[0])

    def test_new_parts_of_any_size(self) -> None:
        x = names("x")[0]
        for lengths in ([3, 90, 70, 2, 1500], [2000, 1, 20000, 5], [1, 1]):
            things = [x]
            for length in lengths:
                things.append(join(chain(things[-1], length), things[0], things[-1]))
            for copied in (pickle.loads(pickle.dumps(things)), pickle.loads(dump_in_python(things))):
                self.assertEqual([v.owner.inputs[2] for v in copied[1:]], copied[:-1])
                self.assertEqual(len(toposort([], [copied[-1]])), sum(lengths) + len(lengths))

    @settings(deadline=None, max_examples=examples(60))
    @given(st.data())
    def test_variables_of_any_graph_in_any_order(self, data: st.DataObject) -> None:
        ops = [join, halves, Making(Apply, Marked), Making(OwnApply, Variable), Making(StatefulApply, Counted)]
        things: list[Any] = [*names("xy")]
        for _ in range(data.draw(st.integers(0, 40))):
            op = data.draw(st.sampled_from(ops))
            result: Any = op(*data.draw(st.lists(st.sampled_from(things[-8:]), min_size=1, max_size=3)))
            things += result if isinstance(result, list | tuple) else [result]
        things = data.draw(st.permutations(things))

        def connections(variables: list[Any]) -> list[Any]:
            position = {id(v): i for i, v in enumerate(variables)}
            return [v.owner and [position[id(i)] for i in (*v.owner.inputs, *v.owner.outputs)] for v in variables]

        for copied in again(things):
            self.assertEqual(connections(copied), connections(things))
            self.assertEqual([type(v.owner) for v in copied], [type(v.owner) for v in things])


class TestUsersClasses(unittest.TestCase):
    def test_attributes_and_places(self) -> None:
        x: Any = Marked(NUMBER, name="x")
        x.unit = "m"
        out: Any = Making(OwnApply, Marked, Variable)(x)[0]
        out.extra = {"x": x}
        out.owner.note = [out]
        bare = Making(OwnApply, Marked)(out)
        for first, second in again([out, bare]):
            self.assertIs(type(first.owner), OwnApply)
            self.assertEqual((first.owner.inputs[0].unit, first.owner.inputs[0].name), ("m", "x"))
            self.assertIs(first.extra["x"], first.owner.inputs[0])
            self.assertIs(first.owner.note[0], first)
            self.assertFalse(hasattr(second, "unit"))
            self.assertFalse(hasattr(second.owner, "note"))

    def test_states_of_their_own(self) -> None:
        x = Counted(NUMBER, name="x")
        result = Making(StatefulApply, Counted, Variable)(x)
        out: Any = chain(join(*result), 3)
        for dumped in (
            pickle.dumps(out),
            pickle.dumps([result, out]),
            dump_in_python(out),
            pickle.dumps(result[0].owner.outputs),
        ):
            loaded = pickle.loads(dumped)
            loaded = loaded[-1] if isinstance(loaded, list) else loaded
            node = toposort([], [loaded])[0]
            self.assertIs(type(node), StatefulApply)
            self.assertEqual(node.outputs[0].count, "saved")
            self.assertEqual(node.inputs[0].count, "saved")
            self.assertIs(node.outputs[0].owner, node)
            self.assertIs(node.outputs[1].owner, node)

    def test_reductions_of_their_own(self) -> None:
        x = Named(NUMBER, name="x")
        out = chain(x, 3)
        result = toposort([], [pickle.loads(pickle.dumps(out))])[0].inputs[0]
        self.assertEqual((type(result), result.name), (Named, "x"))

    def test_long_chains_of_users_nodes(self) -> None:
        for apply_class, classes in ((OwnApply, [Marked]), (StatefulApply, [Counted]), (Apply, [Counted, Variable])):
            value: Any = names("x")[0]
            step = Making(apply_class, *classes)
            for _ in range(3000):
                value = step(value)
                value = value[0] if isinstance(value, list) else value
            for dump in (pickle.dumps, dump_in_python):
                self.assertEqual(len(toposort([], [pickle.loads(dump(value))])), 3000)


class Refusing:
    """Something that no pickle can hold."""

    def __reduce__(self) -> Any:
        raise ValueError("never")


class Nested:
    """Something that makes a pickle of its own of a variable while it is pickled."""

    variable: ClassVar[Any] = None

    def __reduce__(self) -> Any:
        return bytes, (pickle.dumps(self.variable),)


class ByName(pickle.Pickler):
    """Writes leaves by their names."""

    def persistent_id(self, obj: Any) -> Any:
        """Return the name of a leaf."""
        return obj.name if isinstance(obj, Variable) and obj.owner is None else None


class FromNames(pickle.Unpickler):
    """Reads what `ByName` writes."""

    leaves: ClassVar[dict[str, Any]] = {}

    def persistent_load(self, pid: Any) -> Any:
        """Return the leaf of that name."""
        return self.leaves[pid]


class TestPicklers(unittest.TestCase):
    def test_a_pickle_that_fails_leaves_nothing_behind(self) -> None:
        x, y = names("xy")
        out = chain(join(x, y), 5)
        y.tag.bad = Refusing()
        for dump in (pickle.dumps, dump_in_python):
            try:
                dump(out)
            except ValueError as error:  # while its traceback holds on to the pickler
                self.assertEqual(str(error), "never")
                del y.tag.bad
                for node in toposort([], [out]):
                    self.assertEqual(len(toposort([], [pickle.loads(dump(node.out))])), len(toposort([], [node.out])))
                y.tag.bad = Refusing()
            else:
                self.fail("it was pickled")

    def test_a_pickle_within_a_pickle_is_whole(self) -> None:
        x = names("x")[0]
        Nested.variable = chain(x, 4)
        out = chain(Nested.variable, 4)
        out.tag.inner = Nested()
        x.tag.inner = Nested()
        Nested.variable.tag.note = 1
        self.addCleanup(setattr, Nested, "variable", None)
        x.tag.__dict__.clear()
        loaded = pickle.loads(pickle.dumps(out))
        inner = pickle.loads(loaded.tag.inner)
        self.assertEqual(len(toposort([], [inner])), 4)
        self.assertEqual(inner.tag.note, 1)
        self.assertEqual(len(toposort([], [loaded])), 8)

    def test_leaves_by_name(self) -> None:
        x = names("x")[0]
        file = io.BytesIO()
        ByName(file).dump(join(chain(x, 3), x))
        FromNames.leaves["x"] = x
        file.seek(0)
        loaded = FromNames(file).load()
        self.assertIs(loaded.owner.inputs[1], x)
        self.assertIs(toposort([], [loaded])[0].inputs[0], x)

    def test_nothing_is_written_of_other_graphs(self) -> None:
        x = names("x")[0]
        out = chain(x, 500)
        pickler = pickle.Pickler(io.BytesIO())
        pickler.dump(out)
        self.assertLess(len(pickle.dumps(join(x))), len(pickle.dumps(out)))

    def test_constants_and_names(self) -> None:
        x = names("x")[0]
        two = NUMBER.make_constant(2, "two")
        out = join(join(x, two), two)
        out.name = "out"
        for copied in again(out):
            self.assertEqual((copied.name, copied.origin), ("out", out.origin))
            inner = copied.owner.inputs[0].owner.inputs[1]
            self.assertIsInstance(inner, Constant)
            self.assertIs(inner, copied.owner.inputs[1])
            self.assertEqual((inner.data, inner.name), (2, "two"))


if __name__ == "__main__":
    unittest.main()
