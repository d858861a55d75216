"""A type of one's own and arithmetic on it, in Python and in C: amounts of money as Python floats.

Run ``python examples/chapter_own_type.py``; every statement about the results is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import theano
from theano import gof


class Amount(gof.Type):
    """Python floats, and values equal to one."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> float:
        if strict:
            if not isinstance(value, float):
                raise TypeError("expected a float")
            return value
        number = float(value)
        if number != value and not allow_downcast:
            raise TypeError(f"{value!r} would lose digits as a float")
        return number

    def values_eq_approx(self, a: Any, b: Any, tolerance: float = 1e-9) -> bool:
        return bool(abs(a - b) <= tolerance * (abs(a) + abs(b)))

    def __str__(self) -> str:
        return "amount"

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"double {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = 0.0;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"""
        if (!PyFloat_Check(py_{name})) {{
            PyErr_SetString(PyExc_TypeError, "expected a float");
            {sub["fail"]}
        }}
        {name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""
        Py_XDECREF(py_{name});
        py_{name} = PyFloat_FromDouble({name});
        if (!py_{name}) {{
            Py_INCREF(Py_None);
            py_{name} = Py_None;
        }}
        """

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return ""

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


amount = Amount()


class AmountOp(gof.Op):
    """A function of two amounts, with its text in C."""

    __props__ = ("name", "fn", "text")

    def __init__(self, name: str, fn: Callable[[float, float], float], text: str) -> None:
        self.name = name
        self.fn = fn
        self.text = text

    def make_node(self, *inputs: Any) -> gof.Apply:
        wrapped = [gof.Constant(amount, v) if isinstance(v, (int, float)) else v for v in inputs]
        if any(v.type != amount for v in wrapped):
            raise TypeError(f"{self.name} takes amounts only")
        return gof.Apply(self, wrapped, [amount()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = self.fn(*inputs)

    def c_code(self, node: gof.Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, str]) -> str:
        return f"{out[0]} = " + self.text.format(*inp) + ";"

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)

    def __str__(self) -> str:
        return self.name


add = AmountOp("add", lambda x, y: x + y, "{0} + {1}")
share = AmountOp("share", lambda x, y: x / y, "{0} / {1}")


class Same(gof.Op):
    """Its argument, by the same name: a view."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any) -> gof.Apply:
        return gof.Apply(self, [x], [x.type()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]


def values() -> None:
    assert str(amount) == "amount"
    assert amount.filter(3) == 3.0
    for wrong, strict in ((3, True), (2**63 + 1, False)):
        try:
            amount.filter(wrong, strict=strict)
        except TypeError:
            continue
        raise AssertionError(wrong)
    assert amount.filter(2**63 + 1, allow_downcast=True) == float(2**63)
    assert amount.values_eq_approx(0.1 + 0.2, 0.3)


def arithmetic() -> None:
    """The same program on every machine; constants become amounts by themselves."""
    rent, heating = amount("rent"), amount("heating")
    each = share(add(rent, heating), 4)
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", theano.Mode("py", "fast_run"), theano.Mode("vm", None)):
        f = theano.function([rent, heating], each, mode=mode)
        each_pays: object = f(1000, 90.5)
        assert type(each_pays) is float
        assert each_pays == 272.625
    assert theano.pp(each) == "share(add(rent, heating), Constant{4.0})"
    try:
        add(rent, "much")
    except (AttributeError, TypeError):
        pass
    else:
        raise AssertionError("text is no amount")
    print("own type:", each_pays, "each")


def functions_as_methods() -> None:
    """``gof.Type()`` and ``gof.Op()`` take plain functions as their methods."""
    word: Any = gof.Type()
    word.filter = lambda value, strict=False, allow_downcast=None: str(value)
    join: Any = gof.Op()
    join.make_node = lambda a, b: gof.Apply(join, [a, b], [word()])

    def perform(node: gof.Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = "-".join(inputs)

    join.perform = perform
    a, b = word("a"), word("b")
    assert theano.function([a, b], join(a, b))("ice", 9) == "ice-9"


def views() -> None:
    a, b = amount("a"), amount("b")
    assert theano.function([a, b], add(Same()(a), b), mode="DebugMode")(1, 2) == 3.0


def main() -> None:
    values()
    arithmetic()
    functions_as_methods()
    views()


if __name__ == "__main__":
    main()
