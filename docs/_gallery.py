"""Write the pages of the gallery: each program of `examples/` that draws, with its picture and its output."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _programs import run_programs

import make_notebooks

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: The programs by subject, in the order of the page.
PROGRAMS = {
    "Nets": (
        *("logistic_regression", "convolutional_net", "dream_digits", "variational_autoencoder"),
        *("denoising_autoencoder", "lstm_text", "word_vectors", "unrolled_rnn"),
    ),
    "Models": ("hierarchical_nuts", "gaussian_process", "matrix_factorisation", "pca_kmeans"),
    "Simulations": ("ode_fit", "planets"),
}
#: Modules that programs import, which are no programs: each has a page with its source.
MODULES = ("demo_tools", "demo_data", "demo_picture")
#: Options of programs whose command line is not that of the others.
OPTIONS = {"logistic_regression": ("--steps", "300", "--output")}
#: Set to `full`, programs run as long as they do without options.
FORM = "THEANO_GALLERY"


def about(name: str) -> tuple[str, str]:
    """Return the first sentence of a program's docstring, and the whole docstring."""
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " "), text


def title(name: str) -> str:
    """Return the name of a program as a title."""
    words = name.replace("_", " ")
    reference = {"lstm": "LSTM", "rnn": "RNN", "pca": "PCA", "nuts": "NUTS", "ode": "ODE", "kmeans": "and k-means"}
    entry = " ".join(reference.get(word, word) for word in words.split())
    return entry[0].upper() + entry[1:]


def gallery_pages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield a page for each program, and the one that shows all; pictures are written into a folder beside them."""
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    names = [name for some in PROGRAMS.values() for name in some]
    _run(names, pictures)
    for name in names:
        yield f"gallery_{name}", _page(name, pictures)
    for name in MODULES:
        yield f"gallery_{name}", f"# {title(name)}\n\n{about(name)[0]}\n\n{_source(name)}"
    yield "gallery", _overview()


def needed(name: str) -> list[str]:
    """Return the modules of `examples/` that a program imports, directly or through others."""
    matches: list[str] = []
    waiting = [name]
    while waiting:
        tree = ast.parse((EXAMPLES / f"{waiting.pop()}.py").read_text(encoding="utf-8"))
        names = sorted({node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module})
        new = [module for module in names if (EXAMPLES / f"{module}.py").exists() and module not in matches]
        matches += new
        waiting += new
    return matches


def _source(name: str) -> str:
    return f"```python\n{(EXAMPLES / f'{name}.py').read_text(encoding='utf-8').rstrip()}\n```\n"


def _page(name: str, pictures: Path) -> str:
    first, _ = about(name)
    printed = (pictures / f"{name}.txt").read_text(encoding="utf-8").partition("\n")[2]
    modules = " and ".join(f"[`{module}.py`](gallery_{module}.md)" for module in needed(name))
    command = " ".join(["python", f"examples/{name}.py", *_options(name, Path(f"{name}.png"))])
    return "\n".join(
        [
            f"# {title(name)}\n",
            f"{first}\n",
            f"![The picture of the program](pictures/{name}.png)\n",
            f"`{command}` printed, when this page was made:\n",
            f"```text\n{printed.rstrip()}\n```\n",
            f"To run it elsewhere, put {modules} into the folder of the program.\n",
            _notebook(name, pictures),
            _source(name),
        ]
    )


def _notebook(name: str, folder: Path) -> str:
    """Write the notebook of a program beside its picture; return a link to it, or nothing if it has none."""
    if name not in make_notebooks.programs():
        return ""
    text = json.dumps(make_notebooks.notebook(name), indent=1)
    (folder / f"{name}.ipynb").write_text(f"{text}\n", encoding="utf-8")
    return f"{{download}}`Download it as a notebook <pictures/{name}.ipynb>`\n"


def _options(name: str, picture: Path) -> list[str]:
    if name in OPTIONS:
        return [*OPTIONS[name], str(picture)]
    form = [] if os.environ.get(FORM) == "full" else ["--quick"]
    return [*form, "--picture", str(picture)]


@cache
def _library() -> bytes:
    """Return a digest of the modules of the library, which take part in the output of programs."""
    paths = sorted((EXAMPLES.parent / "packages").glob("*/src/**/*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).digest()


def _digest(name: str, options: list[str]) -> str:
    parts = [(EXAMPLES / f"{part}.py").read_bytes() for part in (name, *needed(name))]
    return hashlib.sha256(b"\0".join([*parts, _library(), " ".join(options).encode()])).hexdigest()


def _run(names: list[str], pictures: Path) -> None:
    """Run programs, and keep their output; a program unchanged since its picture was drawn does not run again."""
    waiting = {}
    for name in names:
        options = _options(name, pictures / f"{name}.png")
        digest, saved = _digest(name, options), pictures / f"{name}.txt"
        drawn = saved.exists() and (pictures / f"{name}.png").exists()
        if not (drawn and saved.read_text(encoding="utf-8").startswith(digest)):
            waiting[name] = digest, [str(EXAMPLES / f"{name}.py"), *options]
    runs = run_programs(command for _, command in waiting.values())
    for (name, (digest, _)), (status, output, errors) in zip(waiting.items(), runs, strict=True):
        if status:
            raise RuntimeError(f"{name}.py ended with status {status}:\n{errors}")
        printed = output.replace(str(pictures) + os.sep, "")
        (pictures / f"{name}.txt").write_text(f"{digest}\n{printed}", encoding="utf-8")


def _overview() -> str:
    lines = [
        "# Gallery\n",
        "Programs of about 80 to 250 lines, each with real data where there is some, a picture, and a test of its",
        "finds. Each page shows the command that made it; `--quick`, where a program has it, runs a smaller form.",
        "Most programs import modules that lie beside them in `examples`; their pages name these. Take one of the",
        "programs as the beginning of your own.\n",
    ]
    for topic, names in PROGRAMS.items():
        lines += [f"## {topic}\n", "| | | |", "| --- | --- | --- |"]
        for start in range(0, len(names), 3):
            cells = [
                f"[![{title(name)}](pictures/{name}.png)](gallery_{name}.md)<br>**[{title(name)}](gallery_{name}.md)**<br>"
                + about(name)[0].removeprefix(f"{title(name)}: ").rstrip(".")
                for name in names[start : start + 3]
            ]
            lines.append(f"| {' | '.join(cells + [''] * (3 - len(cells)))} |")
        lines.append("")
    lines += ["## Shared modules\n"]
    lines += [f"- [`{name}.py`](gallery_{name}.md): {about(name)[0]}" for name in MODULES]
    lines.append("")
    pages = "\n".join(f"gallery_{name}" for names in (*PROGRAMS.values(), MODULES) for name in names)
    return "\n".join([*lines, f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"])
