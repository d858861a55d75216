"""Words that mean something to compilers of C and C++, or in the headers that exported files include."""

from __future__ import annotations

import re

__all__ = ["is_taken"]

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool complex
    imaginary alignas alignof constexpr false nullptr static_assert thread_local true typeof typeof_unqual noreturn
    and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
    const_cast consteval constinit decltype delete dynamic_cast explicit export final friend mutable namespace new
    noexcept not not_eq operator or or_eq override private protected public reinterpret_cast requires static_cast
    template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
#: Functions of real numbers; each is there for float and long double, too.
_FUNCTIONS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
    fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
_OTHERS = """
    fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered
    signbit creal cimag creall cimagl crealf cimagf cabs cabsf
    abort abs alloca assert atexit atof atoi atol bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc qsort
    rand realloc srand strtod strtof strtol system memchr memcmp memcpy memmove memset strcat strchr strcmp strcpy
    strlen strncmp fclose ferror fflush fopen fprintf fputs fread fscanf fseek ftell fwrite getc printf putc puts remove
    rename rewind snprintf sprintf sscanf errno offsetof stderr stdin stdout main linux unix i386 near far
    size_t ptrdiff_t max_align_t float_t double_t intmax_t uintmax_t intptr_t uintptr_t
    I NULL NAN INFINITY EOF BUFSIZ TRUE FALSE BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN BYTE_ORDER CHAR_BIT HUGE_VAL HUGE_VALF
    HUGE_VALL FILE FILENAME_MAX MB_CUR_MAX math_errhandling fpos_t L_tmpnam P_tmpdir
    state memory file
"""
_TAKEN = frozenset(
    [*_KEYWORDS.split(), *_OTHERS.split(), *(f"{name}{end}" for name in _FUNCTIONS.split() for end in ("", "f", "l"))]
)
_FAMILIES = re.compile(
    r"[A-Z0-9_]+_(?:MAX|MIN|C)|(?:FP|M|SEEK|EXIT)_[A-Z0-9_]+|u?int\w*_t|theano_\w*|THEANO_\w*|arena\w*"
)


def is_taken(name: str) -> bool:
    """Tell whether a name means something already.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> is_taken("exp"), is_taken("INT64_MAX"), is_taken("template"), is_taken("weights")
    (True, True, True, False)
    """
    return name in _TAKEN or _FAMILIES.fullmatch(name) is not None
