"""Sessions beyond the tests, from demo and bench to fuzz and sanitize.

`nox -s NAME -- options` runs one. The last four are of the size of a night; docs/hardening.md defines a finding.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["demo"]

ROOT = Path(__file__).resolve().parent
#: Names of the layers that are released, in the order in which they build on each other; as in `tools/_house.py`.
RELEASED = ("graph", "optimize", "linker-c", "gpuarray", "tensor", "scan", "sparse", "testing", "theano", "pytensor")
DEMO_REQUIRES = ("matplotlib>=3.9", "scikit-learn>=1.5", "tqdm>=4.66")
PEERS = ("jax>=0.4.35", "pytensor>=2.26", "casadi>=3.6.5")


def python_of(session: nox.Session) -> str:
    """Return the interpreter of a session.

    Never another one: the packages of a session replace all that an environment holds.
    """
    found = shutil.which("python", path=session.bin)
    if found is None:
        session.error(f"the session's environment has no interpreter ({session.bin}); remove it and start again")
    return found


def install_layer(session: nox.Session, layer: str, python: str, *options: str) -> None:
    """Install the built wheel of a layer and of those below it; nothing is done when all is in place."""
    tool = str(ROOT / "tools" / "install_layer.py")
    session.run_install(sys.executable, tool, layer, "--python", python, *options, external=True)


@nox.session
def demo(session: nox.Session) -> None:
    """Train the logistic regression of the manual; options after `--` are those of the demo."""
    python = python_of(session)
    install_layer(session, "theano", python, *(f"--with={name}" for name in DEMO_REQUIRES))
    # The demo explains its own failures; its exit status is handed on as it is.
    done = subprocess.run([python, "examples/logistic_regression.py", *session.posargs], cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure side by side with JAX, PyTensor and NumPy, which are installed here only."""
    python = python_of(session)
    install_layer(session, "theano", python, *(f"--with={name}" for name in PEERS))
    # A setting that holds OpenBLAS to the routines of another processor would slow us and PyTensor down, but not JAX.
    session.run("python", "benchmarks/run.py", *session.posargs, env={"OPENBLAS_CORETYPE": None})


@nox.session
def pymc(session: nox.Session) -> None:
    """Sample 20 models of PyMC with fixed seeds and compare posteriors with those by numba; half an hour.

    Options are those of tools/pymc/posteriors.py: names of models, `--draws 2000`.
    """
    python = python_of(session)
    install_layer(session, "pytensor", python, "--with=pymc>=5.28")
    session.run("python", "tools/pymc/posteriors.py", *session.posargs)


@nox.session
def device(session: nox.Session) -> None:
    """Measure functions on a device beside JAX and PyTorch, and write docs/device.md; options are those of the script.

    Peers that are installed where nox runs are used: those with code for a device are large. `-- --device opencl0:0
    --quick` shows that all cases run.
    """
    python = python_of(session)
    install_layer(session, "theano", python)
    session.run("python", "benchmarks/device.py", *session.posargs)


@nox.session(venv_backend="none")
def pygpu(session: nox.Session) -> None:
    """Hand arrays to pygpu and back, in Debian 12's own Python: `apt-get install python3-pygpu python3-venv` first.

    Its C library works with NumPy 1 alone, so this has an environment of its own, with NumPy 1.26.
    """
    place = ROOT / ".nox" / "pygpu"
    session.run("/usr/bin/python3", "-m", "venv", "--system-site-packages", str(place), external=True)
    python = place / "bin" / "python"
    session.run(str(python), "-m", "pip", "install", "-q", "numpy==1.26.*", "scipy<1.14", external=True)
    sources = ":".join(str(ROOT / "packages" / layer / "src") for layer in RELEASED)
    build = ("setup.py", "-q", "build_ext", "--inplace")
    for layer in ("linker-c", "gpuarray"):
        with session.chdir(ROOT / "packages" / layer):
            session.run(str(python), *build, external=True)
    session.run(str(python), "tools/check_pygpu.py", *session.posargs, env={"PYTHONPATH": sources}, external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site into dist/docs, with warnings as errors.

    `-- linkcheck` follows its links, too; `-- full` runs the programs of the gallery in their long form.
    """
    python = python_of(session)
    install_layer(session, "theano", python, f"--with-file={ROOT / 'docs' / 'requirements.txt'}")
    session.run(python, "tools/check_reference.py", external=True)
    form = {"THEANO_GALLERY": "full" if "full" in session.posargs else "quick"}
    session.run(
        python, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "dist/docs", external=True, env=form
    )
    if "linkcheck" in session.posargs:
        session.run(python, "-m", "sphinx", "-q", "-b", "linkcheck", "docs", "dist/links", external=True)
    session.log("open %s", ROOT / "dist" / "docs" / "index.html")


@nox.session
def release(session: nox.Session) -> None:
    """Build sdist and wheel of layers, check them, and test the wheels with the built wheels of the layers below."""
    if not session.posargs:
        session.error("name layers, for example: nox -s release -- graph; nox -s release -- all checks every layer")
    layers = RELEASED if session.posargs == ["all"] else tuple(session.posargs)
    session.install("towncrier>=24.8", "twine>=6.1")
    for layer in layers:
        check_release(session, layer)


def check_release(session: nox.Session, layer: str) -> None:
    """Build, check and test one layer."""
    out = ROOT / "dist" / "release" / layer
    shutil.rmtree(out, ignore_errors=True)
    session.run("python", "tools/check_release.py", layer, "--out", str(out))
    files = sorted(str(path) for path in out.iterdir())
    session.run("twine", "check", "--strict", *files)
    (wheel,) = (path for path in files if path.endswith(".whl"))
    fresh = Path(session.create_tmp()) / layer
    session.run("uv", "venv", "--quiet", "--clear", "--python", python_of(session), str(fresh), external=True)
    python = str(fresh / "bin" / "python")
    install_layer(session, layer, python, "--test", "--wheel", wheel)
    session.run(python, "tools/run_tests.py", layer, "--tier", "all", external=True)
    session.log("built and checked: %s", ", ".join(files))


@nox.session
def index(session: nox.Session) -> None:
    """Publish every layer to an index on this machine, and install theano-stack from it in an empty environment."""
    session.install("build>=1.2", "pypiserver>=2.3", "setuptools>=80", "twine>=6.1", "uv")
    session.run("python", "tools/check_index.py", "--out", str(ROOT / "dist" / "index"))


#: Compilers of exported C for other processors, or other than gcc, and the emulators that run it here.
MACHINES = ("aarch64-linux-gnu-gcc -static :: qemu-aarch64", "emcc :: node", "clang ::")


@nox.session
def export(session: nox.Session) -> None:
    """Test exported C with CMake, then compare its numbers on other processors, as far as compilers for them are there.

    Debian has the compilers for ARM in gcc-aarch64-linux-gnu and qemu-user. Options after `--` are a compiler, `::` and
    what runs its programs.
    """
    python = python_of(session)
    install_layer(session, "theano", python, "--test", "--with=cmake>=3.20")
    folder = ROOT / "packages" / "theano" / "tests"
    with session.chdir(folder.parent):
        session.run(python, "-m", "nose2", "-s", "tests", "export", "export.with_cmake", external=True)
    for words in (session.posargs,) if session.posargs else (line.split() for line in MACHINES):
        if shutil.which(words[0]) is None:
            session.warn("%s is not installed: left out", words[0])
            continue
        session.run(python, "-m", "export.other_machines", "--", *words, external=True, env={"PYTHONPATH": str(folder)})


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines of the sources all tests run, beside the figures in tools/log/coverage.json.

    Options after `--` are those of the tool; `-- --write tools/log/coverage.json` keeps the figures.
    """
    python = python_of(session)
    install_layer(session, "theano", python, "--test", "--with=coverage>=7.10", "--with=mpmath")
    session.run(python, "tools/measure_coverage.py", *session.posargs, external=True)


@nox.session
def stress(session: nox.Session) -> None:
    """Run the long form of linker-c's stress tests: killed processes, damaged caches, threads, a million calls."""
    python = python_of(session)
    install_layer(session, "linker-c", python, "--test")
    folder = ROOT / "packages" / "linker-c"
    with session.chdir(folder):
        names = session.posargs or ["stress"]
        session.run(python, "-m", "nose2", "-s", "tests", *names, env={"THEANO_STRESS": "long"}, external=True)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Compare random graphs: as written in Python, compiled, and in NumPy; options after `--` are the fuzzer's.

    `-- --exported --graphs 2000` compares them with exported C instead.
    """
    python = python_of(session)
    install_layer(session, "testing-workshop", python, "--test")
    options = session.posargs or ["--graphs", "200000", "--processes", "2"]
    session.run(python, "-m", "theano_testing_workshop.fuzz", *options, external=True)


#: Tests that several threads of one process cannot run at once, by layer; words of pytest's `-k`, with the reason.
ALONE: dict[str, dict[str, str]] = {
    "graph": {
        "TestPauses": "the collector that rests is that of the process",
        "(TestGraphs and test_inputs)": "the threads share the graph of `setUp`, which the test adds inputs to",
        "(test_graph_features and (TestLentMethods or TestBadInput))": "the same, with features and replacements",
        "(test_graph_surface and TestQuestions)": "the same; and standard output is that of the process",
        "test_build_rules": "standard output is that of the process",
        "TestConstruction": "the listeners of new variables are listed for the process",
        "TestThunks": "the maker of thunks is set for the process",
    },
    "optimize": {
        "TestExamplesInDocstrings": "examples are run with parts of Python exchanged for the process",
        "TestReadme": "the same",
        "TestCommandLine": "standard output is that of the process",
        "(test_expression_simplifier and TestSimplifying)": "the parser of Python 3.11 has one depth for threads",
        "(test_databases and (TestSequenceDatabase or TestDatabasesInside))": "the threads share objects of `setUp`",
        "(test_database_kinds and TestSequences)": "the same",
        "(test_atomic_replacements and TestAllOrNone)": "the threads share the graph of `setUp`, and the log",
        "(test_graph_rewriter_failures and TestOrigins)": "the same",
        "(test_graph_rewriter_failures and TestFailingGraphRewriters)": "the log is that of the process",
        "(test_rewrite_errors and TestWrongAnswers)": "the same",
    },
    "linker-c": {
        "test_cache_": "the threads share the directory of `setUp`, whose files the tests count, damage and remove",
        "test_compiler_": "the same; and warnings are shown once in a process",
        "(test_cop_ and (TestRuns or TestFiles or TestSharing or test_libraries))": "the same",
        "(test_cop_external and TestSections)": "counters of C code are those of the process",
        "(test_function_updates and TestDefaultUpdates)": "the threads share the variables of `setUp`, which change",
        "(test_function_memory and TestSharedStorage)": "the same",
        "(test_function_maker and TestMaker)": "the same",
        "(test_function_map and (TestUpdates or TestClosing))": "the same; and threads are counted by their names",
        "(test_function_map and (TestLookAhead or TestErrors or TestWhoMakesCalls))": "threads are counted by name",
        "test_library_as_it_is": "code is exchanged for the process, and the threads share the folder of `setUp`",
        "(test_modes and (TestNames or TestRewriting))": "names of modes and rewrites are registered for the process",
        "TestVerbosity": "flags are those of the process",
        "TestGarbageCollection": "the same",
        "(test_kernel_blas and TestLibrary)": "the same",
        "TestProgress": "standard error is that of the process",
        "(test_tiered_start and (TestReady or TestFailures))": "the compiler of `setUp` waits for one function",
        "(test_program_indexing and TestCells)": "the threads share the cell of `setUp`",
        "TestThirdTarget": "the threads share the list of built programs",
        "(test_program_calls and TestFailures)": "signals reach the main thread alone",
        "TestLongProducts": "the same",
        "(TestPickledGraphs or test_lengths_of_tables)": "flags are those of the process",
        "(TestNanGuard and test_flags)": "the same",
        "TestEachLengthOfVectors": "the length of vectors is set for the process",
        "test_stress_": "the tests have threads of their own, and measure memory and threads of the process",
        "(TestSections and test_other_lines)": "lines of profiles are registered for the process",
        "(test_lazy_needs and TestCalls)": "the threads share the list of calls",
    },
}


@nox.session
def threads(session: nox.Session) -> None:
    """Run each test of graph, optimize and linker-c in four threads at once, with pytest-run-parallel.

    Options after `--` are layers.
    """
    python = python_of(session)
    install_layer(session, "testing", python, "--test", "--with=pytest>=8", "--with=pytest-run-parallel>=0.7")
    for layer in session.posargs or ("graph", "optimize", "linker-c"):
        folder = ROOT / "packages" / layer / "tests"
        words = " and ".join(f"not {name}" for name in ALONE.get(layer, {}))
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--parallel-threads=4",
            "--import-mode=append",
        ]
        session.run(*command, "-k", words, str(folder), external=True, env={"PYTHONPATH": str(folder)})


#: The regression tests of attacks, by package; tools/log/hardening.md says which case each of them is for.
ATTACKED = {
    "graph": ("test_config", "test_perform_hook"),
    "linker-c": ("archives", "cache", "compiler", "function", "profiling", "kernels.test_kernel_lives"),
    "gpuarray": ("codegen", "lowering.test_fusion", "region.test_joining", "arrays.test_array"),
    "testing": ("test_testing_overwriting",),
    "testing-workshop": ("test_archives",),
    "tensor": (
        *("test_tensor_sweep", "test_tensor_narrow_types", "memory", "rewrites.test_overwriting"),
        "gradient.slopes_everywhere",
        "gradient.test_supports",
        *("rewrites.test_blas_shared", "rewrites.test_long_sums", "extra_ops.test_array_routines"),
    ),
    "sparse": ("test_sparse_native",),
    "theano": ("test_theano_safe_loading", "test_theano_op_results", "test_theano_limits"),
}


@nox.session
def attack(session: nox.Session) -> None:
    """Attack safe loading, then run the tests of all that attacks have found, in the long form.

    Options after `--` are those of the fuzzer of archives.
    """
    python = python_of(session)
    install_layer(session, "theano", python, "--test", "--with=mpmath")
    options = session.posargs or ["--inputs", "1000000"]
    session.run(python, "-m", "theano_testing_workshop.archives", *options, external=True)
    settings = {"THEANO_STRESS": "long", "THEANO_ATTACK": "long"}
    for layer, modules in ATTACKED.items():
        with session.chdir(ROOT / "packages" / layer):
            for name in modules:
                session.run(python, "-m", "nose2", "-s", "tests", name, env=settings, external=True)


#: Tests that do not run under sanitizers: they hold freed memory back and slow processes down.
UNSANITIZED = {"stress", "cache", "__pycache__"}
#: Options of the compiler, the libraries that have to be there first, and their settings, by sanitizer.
SANITIZERS = {
    "address": (
        "-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer",
        ("libasan.so", "libubsan.so"),
        # The interpreter leaves memory to the end of the process on purpose; `stress` looks for leaks.
        {
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
        },
    ),
    # The interpreter itself is not built for it: only races between two places of the runtime and kernels show.
    "thread": (
        "-fsanitize=thread -fno-omit-frame-pointer",
        ("libtsan.so",),
        {"TSAN_OPTIONS": "halt_on_error=1:ignore_noninstrumented_modules=1:report_signal_unsafe=0:die_after_fork=0"},
    ),
}
#: Under the sanitizer of threads: tests that run kernels and calls in several threads.
THREADED = ("function", "kernels", "stress")


def build_sanitized(session: nox.Session, layer: str, module: str, kind: str) -> dict[str, str]:
    """Build the extension module of a layer with sanitizers; return the environment in which it is imported."""
    python, (flags, libraries, settings) = python_of(session), SANITIZERS[kind]
    source, built = ROOT / "packages" / layer, Path(session.create_tmp()).resolve() / kind / layer
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(source, built, ignore=shutil.ignore_patterns("tests", "*.so", "build", "__pycache__"))
    environment = {"CFLAGS": f"{flags} -g", "THEANO_CFLAGS": "-O1", "LDFLAGS": flags, "THEANO_REQUIRE_EXTENSION": "1"}
    with session.chdir(built):
        session.run(python, "setup.py", "--quiet", "build_ext", "--inplace", env=environment, external=True)
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in libraries
    ]
    environment = {
        **settings,
        "LD_PRELOAD": ":".join(found),
        "PYTHONPATH": str(built / "src"),
        "THEANO_FLAGS": f"gcc.cxxflags={flags},base_compiledir={built / 'kernels'}",
    }
    check = f"import sys, {module} as r; sys.exit(not r.__file__.startswith(sys.argv[1]))"
    session.run(python, "-c", check, str(built), env=environment, external=True)
    return environment


@nox.session
@nox.parametrize("kind", ["address", "thread"])
def sanitize(session: nox.Session, kind: str) -> None:
    """Run tests on runtimes and kernels built with sanitizers, then random graphs: kernels of every class.

    Options after `--` are folders of linker-c's tests; without them all are run, those of gpuarray's runtime, and the
    graphs.
    """
    python = python_of(session)
    install_layer(session, "testing-workshop", python, "--test", "--with=hypothesis", "--with=setuptools>=80")
    environment = build_sanitized(session, "linker-c", "theano_linker_c._runtime", kind)
    source = ROOT / "packages" / "linker-c"
    tests = source / "tests"
    names = session.posargs or sorted(path.name for path in tests.iterdir() if path.is_dir())
    with session.chdir(source):
        for name in names:
            if name in THREADED if kind == "thread" else name not in UNSANITIZED:
                folder = tests if (tests / name / "__init__.py").exists() else tests / name
                what = [name] if folder == tests else []
                session.run(python, "-m", "nose2", "-s", str(folder), *what, env=environment, external=True)
    if not session.posargs:
        devices = build_sanitized(session, "gpuarray", "theano_gpuarray._device", kind)
        with session.chdir(ROOT / "packages" / "gpuarray"):
            session.run(python, "-m", "nose2", "-s", "tests", "runtime", env=devices, external=True)
    if not session.posargs and kind == "address":
        session.run(python, "-m", "theano_testing_workshop.fuzz", "--graphs", "3000", env=environment, external=True)
