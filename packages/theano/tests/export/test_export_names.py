"""Names of variables and of files that mean something in C, and texts that C would read otherwise."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.opt import Assert
from theano_testing.tiers import slow

from .harness import STRICT, Exported

#: Nothing is compiled for the process itself.
PLAIN = theano.Mode("py", None)
#: Keywords of C and C++, functions, types, macros, names of the exported code itself, and texts that are no name at
#: all.
NAMES = (
    ("exp", "log", "memcpy", "free", "NULL", "NAN", "INFINITY", "EOF", "I"),
    ("for", "bool", "_Complex", "nullptr", "class", "int64_t", "double", "FILE", "INT64_MAX", "M_PI", "stdout", "unix"),
    ("state", "memory", "arena", "arena_double", "result", "result_0", "theano_take", "THEANO_INDEPENDENT", "file"),
    ("exported", "exported_state", "exported_init", "t1", "e1_x2", "n1_shape", "x_shape", "x", "x", "x_"),
    (
        "",
        None,
        "é",
        "名前",
        "x y",
        "1x",
        "__a",
        "*/",
        "/*",
        "a\nb",
        "\\",
        "??/",
        "a??!",
        "%s",
        '"',
        "\ud800",
        "\U0001f600",
    ),
)


class TestNames(unittest.TestCase):
    """Every name gives a name in C, of which no other one is."""

    @slow
    def test_inputs_and_shared_variables(self) -> None:
        """Arguments, and fields of the state beside temporary arrays."""
        for names in NAMES:
            with self.subTest(names=names):
                inputs = [T.dvector(name) for name in names]
                shared = [theano.shared(np.ones(3) * k, name) for k, name in enumerate(names)]
                total = sum(T.exp(x).dot(s + k) for k, (x, s) in enumerate(zip(inputs, shared, strict=True)))
                f = theano.function(inputs, total, updates=[(s, s + 1) for s in shared], mode=PLAIN)
                exported = Exported(f, arguments=("-O0",))
                values = [np.arange(3.0) + k for k in range(len(names))]
                for _ in range(2):
                    np.testing.assert_allclose(exported(*values)[0], f(*values))

    def test_files(self) -> None:
        """A function cannot be called like a word of C or a function of its library."""
        x = T.dvector("x")
        f = theano.function([x], x * 2, mode=PLAIN)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("exp", "for", "main", "NULL", "theano_x", "int64_t", "M_PI", "namespace"):
                with self.subTest(name), self.assertRaisesRegex(ValueError, f"`{name}` means something else in C"):
                    theano.export_c(f, os.path.join(folder, name))
            for name in ("a-b", "1a", "é", "_a", ""):
                with self.subTest(name), self.assertRaisesRegex(ValueError, "no name in C"):
                    theano.export_c(f, os.path.join(folder, name))
            self.assertEqual(os.listdir(folder), [])

    def test_messages(self) -> None:
        """Messages come out as they went in."""
        x = T.dvector("x")
        text = 'ä 😀 ??! ??/ \x07 " \\ %s \n */'
        exported = Exported(theano.function([x], Assert(text)(x, T.all(x > 0)), mode=PLAIN))
        with self.assertRaises(ValueError) as caught:
            exported(-np.ones(2))
        self.assertIn(text, str(caught.exception))

    @slow
    def test_two_in_one_program(self) -> None:
        """Exports that use the same functions of the library; a program in C++ with both headers, with sanitizers."""
        x = T.dvector("x")
        w = theano.shared(np.arange(3.0), "w")
        first = theano.function([x], T.cumsum(T.sort(x))[x > 1], updates=[(w, w + x[:3])], mode=PLAIN)
        second = theano.function([x], T.sort(x)[x > 2].dot(T.ones(2)), mode=PLAIN)
        with tempfile.TemporaryDirectory() as folder:
            for name, f in (("first", first), ("second", second)):
                theano.export_c(f, os.path.join(folder, name))
                command = ["gcc", *STRICT, "-O2", "-fsanitize=address,undefined", "-c", f"{name}.c"]
                subprocess.run(command, cwd=folder, check=True)
            with open(os.path.join(folder, "main.cpp"), "w", encoding="utf-8") as file:
                file.write(_PROGRAM)
            strict = ["-std=c++98", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-long-long"]
            command = ["g++", *strict, "main.cpp", "first.o", "second.o", "-fsanitize=address,undefined", "-pthread"]
            subprocess.run([*command, "-o", "program"], cwd=folder, check=True)
            done = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The state of each thread has seen all of its own calls, and no other ones.
        self.assertEqual(done.stdout.splitlines(), ["1000 2001 3002", "2000 4001 6002", "4 0", "error"])


_PROGRAM = """\
#include "first.h"
#include "second.h"
#include <cstdio>
#include <pthread.h>

struct Work {
    first_state state;
    double scale;
};

static void *many(void *given) {
    Work *work = static_cast<Work *>(given);
    const double x[3] = {work->scale, 2 * work->scale, 3 * work->scale};
    const int64_t n[1] = {3};
    for (int k = 0; k < 1000; k++) {
        const double *result;
        int64_t length[1];
        if (first(&work->state, x, n, &result, length) != 0) return given;
    }
    return NULL;
}

int main() {
    static Work works[2];
    pthread_t threads[2];
    for (int k = 0; k < 2; k++) {
        works[k].scale = k + 1;
        first_init(&works[k].state);
        pthread_create(&threads[k], NULL, many, &works[k]);
    }
    for (int k = 0; k < 2; k++) {
        void *failed;
        pthread_join(threads[k], &failed);
        if (failed != NULL) return 1;
        std::printf("%g %g %g\\n", works[k].state.w[0], works[k].state.w[1], works[k].state.w[2]);
        first_free(&works[k].state);
    }
    second_state state;
    const double x[4] = {1, 4, 3, 1};
    const double y[5] = {3, 3, 3, 3, 3};
    const int64_t four[1] = {4}, five[1] = {5};
    double result = 0;
    second_init(&state);
    const int status = second(&state, x, four, &result);
    std::printf("%g %d\\n", result, status);
    std::printf("%s\\n", second(&state, y, five, &result) != 0 ? "error" : "none");
    second_free(&state);
    return 0;
}
"""

if __name__ == "__main__":
    unittest.main()
