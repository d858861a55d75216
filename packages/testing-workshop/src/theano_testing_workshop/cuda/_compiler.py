"""Compiles the text of CUDA kernels for the processor: the program that the stand-in for NVRTC starts.

Called with the file of the text, that of the library to make, and the options of NVRTC. The compiler's messages go
says is written to the standard output, as NVRTC has it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HEADER = Path(__file__).resolve().parent / "c" / "kernel.h"
FLAGS = ("-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-strict-aliasing")
#: Kernels of one name in several modules are different ones.
APART = ("-fno-gnu-unique", "-Wl,-Bsymbolic")
#: Constructs that a program of a card must not have, and a processor does not refuse.
CHECKS = ("-fsanitize=alignment,bounds", "-fsanitize-undefined-trap-on-error")
DEFINED = ("-undef", "-D__CUDACC__=1", "-D__CUDACC_RTC__=1", "-D__CUDA_ARCH__=900", "-D__cplusplus=201703L", "-w")
KERNEL = re.compile(
    r"\b__global__\s+void\s+(?:__launch_bounds__\s*\((?P<bound>.*?)\)\s*)?(?P<name>\w+)\s*\(", re.DOTALL
)
DYNAMIC = re.compile(r"\bextern\s+__shared__\s+([\w\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;")
#: One instruction with one result and one operand.
PTX = re.compile(
    r'asm\s*(?:volatile)?\s*\(\s*"([\w.]+) %0, %1;"\s*:\s*"=\w"\s*\((\w+)\)\s*'
    r':\s*"\w"\s*\(([^;]*)\)\s*\)(?=\s*;)'
)
MESSAGE = re.compile(r"^kernel\.cu:(\d+)(?::\d+)?: (?:fatal )?(error|warning): (.*)$")


def compiler(arguments: list[str], text: str) -> subprocess.CompletedProcess[str]:
    """Run the compiler of C++ on a text; `g++` would link its library too, which no kernel needs."""
    command = ["gcc", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def bound_of(text: str) -> str:
    """Return the number of threads, the first of the numbers of launch bounds."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            return text[:i]
    return text


def translated(text: str) -> str:
    """Return the text as C++ of the processor, and descriptions of its kernels behind it."""
    parts: list[str] = []
    tables: list[tuple[str, str, str]] = []
    last = 0
    for number, item in enumerate([*KERNEL.finditer(text), None]):
        piece = text[last : None if item is None else item.start()]
        last = last if item is None else item.end()
        piece = DYNAMIC.sub(r"\1 *\2 = (\1 *)fake_thread->dynamic;", piece)
        used = re.search(r"\b__shared__\b", piece) is not None
        parts.append(piece.replace("__shared__", f'static __attribute__((section("fake_shared{number}")))'))
        if tables:
            name, bound, _ = tables[-1]
            tables[-1] = (name, bound, f"fake_shared{number}" if used else "")
        if item is not None:
            tables.append((item["name"], bound_of(item["bound"] or "0"), ""))
            parts.append(f"void {item['name']}(")
    for name, bound, section in tables:
        begin = end = "nullptr"
        if section:
            begin, end = f"__start_{section}", f"__stop_{section}"
            parts.append(f'\nextern "C" char {begin}[], {end}[];')
        call = f"FakeCall<&{name}>"
        parts.append(
            f'\nextern "C" FakeKernel fake_kernel_{name}; FakeKernel fake_kernel_{name} = '
            f"{{{call}::run, {call}::count, {call}::sizes, {call}::pointers, {bound}, {begin}, {end}}};"
        )
    return PTX.sub(lambda m: f"{m[2]} = fake_{m[1].replace('.', '_')}({m[3]})", "".join(parts))


def told(text: str) -> str:
    """Write messages as NVRTC does."""
    lines = (MESSAGE.sub(r"kernel.cu(\1): \2: \3", line) for line in text.splitlines())
    return "\n".join(line for line in lines if line.startswith("kernel.cu("))


def main(source: str, target: str, *options: str) -> int:
    """Run as a program; return the exit status of the compiler."""
    passed = [option for option in options if option.startswith(("-D", "-I", "-U"))]
    text = f'# 1 "kernel.cu"\n{Path(source).read_text()}'
    done = compiler(["-E", "-x", "c++", *DEFINED, *passed, "-"], text)
    if done.returncode == 0:
        flags = [*FLAGS, *APART, *CHECKS, "-x", "c++", "-include", str(HEADER), "-", "-lm", "-o", target]
        done = compiler(flags, translated(done.stdout))
    print(told(done.stderr) or done.stderr, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
