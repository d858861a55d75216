"""The contract of scalar ops, and the families that most of them belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from theano_graph import Apply, Op, format_error, pullback

from ._c_functions import native_statements, number_by_number, support_code
from ._dtypes import (
    CValue,
    NoNativeForm,
    c_builtin,
    c_call,
    c_cast,
    c_definition,
    c_rounded,
    is_complex,
    is_discrete,
    upcast,
    upcast_to_float,
)
from ._type import (
    ComplexError,
    ScalarType,
    ScalarTypeError,
    TypePreference,
    as_scalar,
    upcast_out,
    upgrade_to_float,
    upgrade_to_float_no_complex,
)

#: Floating-point signals are results here (inf, nan), never warnings: both machines behave alike.
quiet = np.errstate(all="ignore")

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def arraywise(method: MethodT) -> MethodT:
    """Mark an `impl` that takes whole arrays; those of users' ops take one number at a time."""
    method.arraywise = True  # type: ignore[attr-defined]  # an attribute that functions do not declare
    return method


def for_readers(method: MethodT) -> MethodT:
    """Mark a `c_code` that shows the formula of the op; it runs as part of loops, which need more than this text."""
    method.is_default = True  # type: ignore[attr-defined]  # as above
    return method


class ScalarOp(Op):
    """A function of numbers that knows its dtype rule, its NumPy form, its C form and its cost.

    Parameters
    ----------
    output_types_preference : callable, optional
        Takes the `ScalarType` of each input, returns those of the outputs: `upcast_out`, `upgrade_to_float`,
        `same_out`, ``transfer_type(0)``, ... By default the class defines the types; where it does not, they are
        those of `upcast_out`.
    name : str, optional
        Name for printing; that of the class by default.

    Notes
    -----
    Equality is by class, ``__props__``, and the preference where it is another than the class's.

    A subclass defines at least one of

    - ``impl(self, *numbers)``, which is called for each element unless ``nfunc_spec`` names a NumPy function; it gets
      floats as NumPy scalars and integers as Python's;
    - ``c_code(self, node, name, inputs, outputs, sub)``, statements in C that set the outputs from the inputs. They
      become part of the loops that also hold the ops around. C++, code that refers to Python or to ``sub["fail"]``, and
      float16 and complex numbers are left to `impl`; so is an op that needs libraries or arguments of the compiler.

    and maybe ``output_types(self, types)``, ``grad(self, inputs, output_gradients)`` (or ``L_op``), which returns
    scalar expressions, and ``c_support_code`` and ``c_headers``. The ops of this package have an `impl` that is marked
    as `arraywise`, define `result_dtypes` and `c_expression`, and register gradients with `differentiable`.

    Examples
    --------
    >>> from theano_linker_c.scalar import add
    >>> add.result_dtypes("int8", "float32")
    ('float32',)
    >>> class Triple(UnaryScalarOp):
    ...     def impl(self, x):
    ...         return 3 * x
    >>> float(Triple(upgrade_to_float).evaluate(np.float64(2.0)))
    6.0
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    #: Printed name, also the name of the function that users call.
    name: str = ""
    #: Number of inputs; -1 for ops that take any number from one.
    nin: int = -1
    nout: int = 1
    #: Whether the order of the inputs, and how they are grouped, does not matter.
    commutative: ClassVar[bool] = False
    associative: ClassVar[bool] = False
    #: Whether the result for float16 inputs needs no rounding, since it is one of them or their difference in sign.
    exact: ClassVar[bool] = False
    #: Rough number of cycles that one element takes in a vectorised loop.
    cost: int = 1
    #: Whether the dtype of the result follows the flag ``floatX``.
    follows_floatx: ClassVar[bool] = False
    output_types_preference: Any = None
    #: ``(name, nin, nout)`` of a NumPy function that does the same on arrays.
    nfunc_spec: Any = None
    #: The op without a preference for types, where this one has another than its class.
    _usual: ScalarOp | None = None
    _is_arraywise: ClassVar[bool] = True
    _has_own_code: ClassVar[bool] = False
    #: Whether `impl` is newer than all that is said in C, which then says something else.
    _has_own_values: ClassVar[bool] = False
    _has_dtype_rule: ClassVar[bool] = False

    def __init__(self, output_types_preference: TypePreference | None = None, name: str | None = None) -> None:
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise ScalarTypeError(
                    format_error(
                        f"{type(self).__name__}: {output_types_preference!r} is no preference for the type of results",
                        hint="pass a function from types to types, such as upgrade_to_float",
                    )
                )
            if output_types_preference != type(self).output_types_preference:
                self.output_types_preference = output_types_preference
                if self._has_dtype_rule:
                    self._usual = type(self)()
                    self.result_dtypes = self._preferred_dtypes  # type: ignore[method-assign]  # it goes before a rule
        if name is not None:
            self.name = name

    @property
    def usual(self) -> ScalarOp:
        """The op with the preference for types that its class has: the op itself, unless it was given another one."""
        return self._usual or self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """See which forms are the class's own: the one that is defined last, on the way from `ScalarOp`, holds."""
        super().__init_subclass__(**kwargs)
        cls._is_arraywise = hasattr(cls.impl, "arraywise")
        cls._has_own_code = _comes_first(cls, ("c_code",), ("c_expression", "c_statements"))
        cls._has_own_values = not cls._is_arraywise and _comes_first(
            cls, ("impl",), ("c_code", "c_expression", "c_statements")
        )
        cls._has_dtype_rule = not _comes_first(
            cls, ("output_types", "output_types_preference"), ("result_dtypes",)
        ) and (cls.result_dtypes is not ScalarOp.result_dtypes)
        if "output_types" in vars(cls) and "result_dtypes" not in vars(cls):
            cls.result_dtypes = ScalarOp.result_dtypes  # type: ignore[method-assign]  # it asks output_types

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not super().__eq__(other):
            return False
        return vars(self).get("output_types_preference") == vars(other).get("output_types_preference")

    def __hash__(self) -> int:
        preference = vars(self).get("output_types_preference")
        return super().__hash__() if preference is None else hash((super().__hash__(), preference))

    def __str__(self) -> str:
        if self.name:
            return self.name
        values = ", ".join(f"{prop}={getattr(self, prop)!r}" for prop in type(self).__props__ or ())
        return f"{type(self).__name__}{{{values}}}" if values else type(self).__name__

    def output_types(self, types: Sequence[ScalarType]) -> Sequence[ScalarType]:
        """Return the types of the outputs for inputs of `types`; a subclass may define it in place of a preference."""
        if self._has_dtype_rule:
            return [ScalarType(dtype) for dtype in self.result_dtypes(*(t.dtype for t in types))]
        return list((self.output_types_preference or upcast_out)(*types))

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Give the dtypes of the outputs for inputs of `dtypes`; TypeError where the op does not work on them."""
        self.check_count(len(dtypes))
        return self._checked(dtypes, self.output_types([ScalarType(dtype) for dtype in dtypes]))

    def _preferred_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        return self._checked(dtypes, self.output_types_preference(*map(ScalarType, dtypes)))

    def _checked(self, dtypes: Sequence[str], types: Sequence[ScalarType]) -> tuple[str, ...]:
        if len(types) != self.nout:
            raise self.refuse(dtypes, f"{len(types)} output types for {self.nout} outputs", "return one for each")
        return tuple(t.dtype for t in types)

    def impl(self, *values: Any) -> Any:
        """Compute the op on numbers, or on arrays where it is marked as `arraywise`; a tuple for several outputs."""
        raise ScalarTypeError(format_error(f"{type(self).__name__} has no NumPy form", hint="define impl"))

    @quiet
    def evaluate(self, *values: Any) -> Any:
        """Compute the op elementwise."""
        if self._is_arraywise and self._usual is None:
            return self.impl(*values)
        dtypes = self.result_dtypes(*map(dtype_name, values))
        if self._usual is None:
            return number_by_number(self, values, dtypes)
        result = self._usual.evaluate(*values)
        parts = result if self.nout > 1 else (result,)
        results = [np.asarray(part).astype(dtype)[()] for part, dtype in zip(parts, dtypes, strict=True)]
        return tuple(results) if self.nout > 1 else results[0]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Give C text for the value, of dtype `result`; `NoNativeForm` where there is none."""
        raise NoNativeForm(f"{self} has no C form")

    def c_statements(self, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
        """Give C statements that define a variable for each result: from `c_expression`, or the op's own `c_code`."""
        value = self.c_value(args)
        return native_statements(self, args, names) if value is None else [c_definition(names[0], value)]

    def c_value(self, args: Sequence[CValue]) -> CValue | None:
        """Give the only result as one C expression, from `c_expression`; None if the op has `c_code` of its own."""
        if self._has_own_values:
            raise NoNativeForm(f"{self} has an `impl` of its own and no C form for it")
        if self._has_own_code:
            return None
        if self.nout != 1:
            raise NoNativeForm(f"{self} has {self.nout} results; it runs in Python")
        dtypes = [arg.dtype for arg in args]
        (dtype,) = self.result_dtypes(*dtypes)
        usual = self.usual
        (computed,) = usual.result_dtypes(*dtypes)
        text = usual.c_expression(args, computed)
        if computed != dtype:
            text = c_cast(CValue(f"({text})", computed), dtype)
        if dtype == "float16" and not self.exact:
            text = c_rounded(text, "float32")
        return CValue(text, dtype)

    def c_preamble(self, dtypes: Sequence[str]) -> tuple[str, ...]:
        """Give C text for the beginning of the file: headers and functions that the statements need."""
        return support_code(self, dtypes) if self._has_own_code else ()

    @for_readers
    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """Give C statements that set the variables `outputs` from `inputs`."""
        args = [CValue(text, x.type.dtype) for text, x in zip(inputs, node.inputs, strict=True)]
        return f"{outputs[0]} = {self.c_expression(args, node.outputs[0].type.dtype)};"

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Return scalar expressions for the gradients by the inputs; None where the output does not depend on one."""
        if type(self).grad is not ScalarOp.grad:
            return list(self.grad(inputs, output_gradients))
        owner = outputs[0].owner if outputs else None
        node = owner if owner is not None and owner.op == self else self.make_node(*inputs)
        return list(pullback.lookup(self)(node, list(output_gradients)))

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """Return scalar expressions for the gradients by the inputs; see `L_op`."""
        return self.L_op(inputs, self.make_node(*inputs).outputs, output_gradients)

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the op to scalar variables or numbers."""
        scalars = [as_scalar(value) for value in inputs]
        self.check_count(len(scalars))
        dtypes = self.result_dtypes(*(scalar.dtype for scalar in scalars))
        return Apply(self, scalars, [ScalarType(dtype).make_variable() for dtype in dtypes])

    def check_count(self, count: int) -> None:
        """Raise unless `count` inputs are right for this op."""
        if count != self.nin and not (self.nin < 0 < count):
            wanted = f"{self.nin}" if self.nin >= 0 else "at least 1"
            raise ScalarTypeError(
                format_error(
                    f"{self} takes {wanted} inputs, not {count}", hint=f"pass {wanted} numbers or scalar variables"
                )
            )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute the values and store them."""
        values = self.evaluate(*inputs)
        results = values if self.nout > 1 else (values,)
        for storage, value in zip(output_storage, results, strict=True):
            storage[0] = value

    def refuse(self, dtypes: Sequence[str], reason: str, hint: str) -> ScalarTypeError:
        """Make the error for dtypes that the op does not work on."""
        return ScalarTypeError(format_error(f"{self}: {reason} (got {', '.join(dtypes)})", hint=hint))

    def refuse_complex(self, dtypes: Sequence[str]) -> None:
        """Raise if one of `dtypes` is complex."""
        if any(is_complex(dtype) for dtype in dtypes):
            error = self.refuse(dtypes, "complex numbers are not supported", "take the real or imaginary part first")
            raise ComplexError(str(error))


def _comes_first(cls: type, names: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether one of `names` is defined nearer to a class than all `others`, and below `ScalarOp`."""
    for base in cls.__mro__:
        if base is ScalarOp:
            return False
        if any(name in vars(base) for name in others):
            return False
        if any(name in vars(base) for name in names):
            return True
    return False


class UnaryScalarOp(ScalarOp):
    """Base of ops of one number; see `ScalarOp`."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """Base of ops of two numbers; see `ScalarOp`."""

    nin = 2


def dtype_name(value: Any) -> str:
    """Give the dtype name of an array, NumPy scalar or number."""
    dtype = getattr(value, "dtype", None)
    return str(np.asarray(value).dtype.name if dtype is None else dtype.name)


class UfuncOp(ScalarOp):
    """An op whose NumPy form is a universal function with the result's dtype for its loop."""

    ufunc: ClassVar[Callable[..., Any]]

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Call the universal function in the result's dtype."""
        dtype = self.result_dtypes(*(dtype_name(value) for value in values))[0]
        return type(self).ufunc(*values, dtype=dtype)


class FloatFunction(UfuncOp):
    """A function with real values such as ``exp``: integers up to 16 bits count as float32, others as float64."""

    output_types_preference = staticmethod(upgrade_to_float)

    #: Name in the C library; the loops call its vector form where there is one.
    c_function: ClassVar[str] = ""
    complex_ok: ClassVar[bool] = True
    cost = 10

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Floats stay, discrete types give a float that holds them."""
        if not self.complex_ok:
            self.refuse_complex(dtypes)
        return (upcast_to_float(*dtypes),)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the C library's function in the result's precision."""
        return c_call(self.c_function or type(self).name, result, *(c_cast(arg, result) for arg in args))


class Arithmetic(UfuncOp):
    """An op whose result has the common dtype of its inputs."""

    output_types_preference = staticmethod(upcast_out)
    nin = 2
    bool_ok: ClassVar[bool] = True

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the inputs."""
        common = upcast(*dtypes)
        if common == "bool" and not self.bool_ok:
            raise self.refuse(dtypes, "not defined for bool", "use `invert` or `xor`, or cast to int8 first")
        return (common,)


class Comparison(BinaryScalarOp):
    """A test of two numbers with a bool result."""

    ufunc: ClassVar[Callable[..., Any]]
    symbol: ClassVar[str] = ""
    orders: ClassVar[bool] = True
    #: Whether complex numbers are ordered, as in NumPy: by their real parts, then by the imaginary ones.
    complex_ok: ClassVar[bool] = False

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Always bool."""
        if self.orders and not self.complex_ok:
            self.refuse_complex(dtypes)
        return ("bool",)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Compare in NumPy."""
        return type(self).ufunc(*values)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Compare in the common dtype; int64 against uint64 exactly."""
        a, b = args
        common = upcast(a.dtype, b.dtype)
        if self.orders and is_complex(common):
            raise NoNativeForm(f"{self.symbol} of complex numbers has no C form")
        if common == "float16":
            common = "float32"  # int8 and float16 compare in float16, whose values a float holds
        if common == "float64" and is_discrete(a.dtype) and is_discrete(b.dtype):
            return self._mixed_signs(a, b)
        # Compilers warn of comparisons whose results they know.
        if a.text == b.text and (self.symbol in ("<", ">") or is_discrete(common)):
            return str(int("=" in self.symbol and self.symbol != "!="))
        if common.startswith("uint") and (b.constant == 0 and self.symbol in ("<", ">=")):
            return str(int(self.symbol == ">="))
        if common.startswith("uint") and (a.constant == 0 and self.symbol in (">", "<=")):
            return str(int(self.symbol == "<="))
        return f"{c_cast(a, common)} {self.symbol} {c_cast(b, common)}"

    def _mixed_signs(self, a: CValue, b: CValue) -> str:
        """Compare a signed with an unsigned 64-bit number: below zero the sign decides."""
        unsigned = f"((uint64_t){a.text} {self.symbol} (uint64_t){b.text})"
        if a.dtype.startswith("u"):
            return f"({b.text} < 0 ? (1 {self.symbol} 0) : {unsigned})"
        return f"({a.text} < 0 ? (0 {self.symbol} 1) : {unsigned})"


class FixedLogicalComparison(UnaryScalarOp):
    """A test of one number with a bool result."""

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Always bool."""
        return ("bool",)


class Bitwise(UfuncOp):
    """An op on the bits of integers, or on truth values."""

    symbol: ClassVar[str] = ""

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The common dtype of the inputs, which must be discrete."""
        common = upcast(*dtypes)
        if not is_discrete(common) or any(not is_discrete(dtype) for dtype in dtypes):
            raise self.refuse(
                dtypes, "works on bool and integers only", "compare with zero first, or cast to an integer"
            )
        return (common,)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Join the arguments with the operator."""
        return f" {self.symbol} ".join(c_cast(arg, result) for arg in args)


class BinaryBitOp(Bitwise, BinaryScalarOp):
    """An op on the bits of two integers, or on two truth values."""


class UnaryBitOp(Bitwise, UnaryScalarOp):
    """An op on the bits of an integer, or on a truth value."""


class Rounding(UnaryScalarOp):
    """A function that gives a whole number of the input's own dtype."""

    exact = True
    ufunc: ClassVar[Callable[..., Any]]
    c_function: ClassVar[str] = ""

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the input, or the preference's result for it."""
        self.refuse_complex(dtypes)
        return (upcast(*dtypes),)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Round floats; integers are whole already."""
        (value,) = values
        if is_discrete(dtype_name(value)):
            return np.array(value, dtype=self.result_dtypes(dtype_name(value))[0])[()]
        return type(self).ufunc(value)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Call the function that compilers expand in place."""
        if is_discrete(args[0].dtype):
            return c_cast(args[0], result)
        return c_builtin(self.c_function, result, args[0].text)


class WholePart(Rounding):
    """A function that rounds in one direction; integers give floats."""

    output_types_preference = staticmethod(upgrade_to_float_no_complex)

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Floats stay, discrete types give a float that holds them."""
        self.refuse_complex(dtypes)
        return (upcast_to_float(*dtypes),)


__all__ = [
    "BinaryBitOp",
    "BinaryScalarOp",
    "FixedLogicalComparison",
    "UnaryBitOp",
    "UnaryScalarOp",
    "arraywise",
    "Arithmetic",
    "Bitwise",
    "Comparison",
    "FloatFunction",
    "Rounding",
    "ScalarOp",
    "ScalarTypeError",
    "UfuncOp",
    "WholePart",
    "dtype_name",
    "quiet",
]
