"""The kernel of reductions along the last axes, and C code that launches it."""

from __future__ import annotations

from theano_gpuarray.arrays import SIZE, SSIZE, GpuArray
from theano_gpuarray.codegen.text import memory_type, store, with_helpers
from theano_gpuarray.kernel_base import Kernel
from theano_linker_c.kernels import Reduction
from theano_linker_c.scalar import CValue, ScalarOp, c_cast, c_literal, c_loaded, c_type

__all__ = ["reduction_kernel", "reduction_launch"]

#: Work-items of a group at most.
_ITEMS = 256
#: Work-groups at most; each takes rows in turns.
_GROUPS = 4096


def _name(count: int) -> str:
    return f"reduce_0{'1' * count}"


def reduction_kernel(reduction: Reduction, pre: ScalarOp | None, dtype: str, count: int, name: str) -> Kernel:
    """Return the kernel that reduces the last `count` axes of an array with one more.

    Parameters
    ----------
    reduction : Reduction
    pre : ScalarOp, optional
        The op applied to elements first.
    dtype : str
        Of the elements.
    count : int
    name : str
        A name that no other node has.
    """
    acc = reduction.acc_dtype
    kind = memory_type(acc)
    offset = " + ".join(["x_offset", "row * x_step0", *(f"i{d} * x_step{d}" for d in range(1, count + 1))])
    element = c_cast(
        CValue(f"({c_loaded(f'*(GLOBAL_MEM const {memory_type(dtype)} *)(x + {offset})', dtype)})", dtype), acc
    )
    if pre is not None:
        element = pre.c_expression([CValue(element, acc)], acc)

    def joined(a: str, b: str) -> str:
        return f"({c_type(acc)})({reduction.combine.c_expression([CValue(a, acc), CValue(b, acc)], acc)})"

    split = []
    for d in reversed(range(1, count + 1)):
        split += [f"const ga_ssize i{d} = (ga_ssize)(rest % n{d});", f"rest /= n{d};"]
    result = f"*(GLOBAL_MEM {memory_type(reduction.output_dtype)} *)(z + z_offset + row * z_step0)"
    lines = [
        f"LOCAL_MEM {kind} totals[{_ITEMS}];",
        f"const ga_size m = {' * '.join(f'n{d}' for d in range(1, count + 1))};",
        "for (ga_ssize row = GID_0; row < (ga_ssize)n0; row += GDIM_0) {",
        f"  {kind} total = {c_literal(reduction.seed, acc)};",
        "  for (ga_size i = LID_0; i < m; i += LDIM_0) {",
        "    ga_size rest = i;",
        *(f"    {line}" for line in split),
        f"    const {kind} element = {element};",
        f"    total = {joined('total', 'element')};",
        "  }",
        "  totals[LID_0] = total;",
        "  for (uint32_t s = LDIM_0; s > 1; s = (s + 1) / 2) {",
        "    local_barrier();",
        "    if (LID_0 < s / 2)",
        f"      totals[LID_0] = {joined('totals[LID_0]', 'totals[LID_0 + (s + 1) / 2]')};",
        "  }",
        "  if (LID_0 == 0)",
        f"    {store(result, CValue('totals[0]', acc), reduction.output_dtype)}",
        "  local_barrier();",
        "}",
    ]
    parameters = [
        *(f"const ga_size n{d}" for d in range(count + 1)),
        "GLOBAL_MEM const char *x",
        "const ga_ssize x_offset",
        *(f"const ga_ssize x_step{d}" for d in range(count + 1)),
        *("GLOBAL_MEM char *z", "const ga_ssize z_offset", "const ga_ssize z_step0"),
    ]
    body = "\n".join(f"  {line}" for line in lines)
    text = with_helpers(f"({', '.join(parameters)}) {{\n{body}\n}}\n")
    before, _, function = text.rpartition("\n\n")
    code = f"{before}\n\nKERNEL void {_name(count)}{function}"
    steps = [SSIZE] * (count + 2)
    return Kernel(
        code,
        [*[SIZE] * (count + 1), GpuArray, *steps, GpuArray, SSIZE, SSIZE],
        _name(count),
        Kernel.get_flags(dtype, acc, reduction.output_dtype),
        objvar=f"k_{_name(count)}_{name}",
    )


def reduction_launch(count: int, name: str, x: str, z: str, fail: str) -> str:
    """Return C code that launches the kernel on an array `x` and its result `z`, which is there."""
    axes = range(count + 1)
    arguments = [
        *(f"PyGpuArray_DIM({x}, {d})" for d in axes),
        *(f"{x}->ga.data", f"(ssize_t){x}->ga.offset"),
        *(f"PyGpuArray_STRIDE({x}, {d})" for d in axes),
        *(f"{z}->ga.data", f"(ssize_t){z}->ga.offset", f"PyGpuArray_STRIDE({z}, 0)"),
    ]
    kernel = _name(count)
    return f"""
{{
    size_t theano_groups = PyGpuArray_DIM({x}, 0), theano_items = {_ITEMS}, theano_most = 0;
    size_t theano_elements = {" * ".join(f"PyGpuArray_DIM({x}, {d})" for d in axes[1:])};
    int theano_code = gpukernel_property(k_{kernel}_{name}.k, GA_KERNEL_PROP_MAXLSIZE, &theano_most);
    if (theano_items > theano_most)
        theano_items = theano_most;
    if (theano_items > theano_elements)
        theano_items = theano_elements == 0 ? 1 : theano_elements;
    if (theano_groups > {_GROUPS})
        theano_groups = {_GROUPS};
    if (theano_code == GA_NO_ERROR && theano_groups > 0)
        theano_code = {kernel}_call(1, &theano_groups, &theano_items, 0,
            {", ".join(arguments)});
    if (theano_code != GA_NO_ERROR) {{
        PyErr_Format(PyExc_RuntimeError, "kernel {kernel}: %s", GpuKernel_error(&k_{kernel}_{name}, theano_code));
        {fail}
    }}
}}
"""
