"""``export_c``: a compiled function as files of C."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import format_error, record

from .._function import Function
from ._body import write_body
from ._casadi import casadi_files
from ._files import as_json, description, embeds, header_text, source_text, state_bytes
from ._interface import check_function, check_shapes, is_taken

__all__ = ["ExportedFunction", "export_c"]


@record
class ExportedFunction:
    """The result of :func:`export_c`.

    Attributes
    ----------
    name : str
        Name of the function in C.
    files : tuple of str
        Paths: the source, the header, the description, and maybe the first values of the state.
    description : dict
        The content of the file ``.json``.
    """

    name: str
    files: tuple[str, ...]
    description: Mapping[str, Any]


def export_c(
    fn: Function,
    path: str | os.PathLike[str],
    *,
    static: bool = False,
    shapes: Mapping[Any, Sequence[int]] | None = None,
    abi: str | None = None,
    derivatives: int = 1,
) -> ExportedFunction:
    """Write a compiled function as C99 that needs neither Python nor NumPy.

    ``path.c``, ``path.h`` and ``path.json`` are written. The function in C is called like the last part of the path.
    It gets a state, the arguments, and memory for the results; shared variables, and memory for temporary arrays, are
    in the state. Where all lengths are known, a call allocates nothing.

    Parameters
    ----------
    fn : Function
    path : path
        Without an ending.
    static : bool
        True: it is an error if lengths of inputs are not known.
    shapes : mapping, optional
        Shapes of inputs, by variable or name. Those of shared variables are the ones of their present values.
    abi : {None, "casadi"}
        The other program that is to call the function. For "casadi", ``path.c`` has the interface of
        ``casadi.external``, and ``jac_path.c`` the derivatives: all files of C go into one shared object. Inputs and
        outputs are numbers, vectors and matrices of float64 with known lengths. The function that C programs call is
        then called ``name_values``, and shared variables are constants.
    derivatives : {0, 1, 2}
        With `abi`: how often the function can be differentiated there. CasADi's solvers want 2 for exact Hessians.

    Returns
    -------
    ExportedFunction

    Raises
    ------
    NoStraightForm
        If an operation has no form in C; the message names it, and the line that made it. It is a `TypeError`.
    TypeError, ValueError
        If `fn` is no compiled function, the last part of `path` is no name in C, a shape does not fit, or
        `derivatives` is given without `abi`.
    FileNotFoundError
        If the folder of `path` is not there.

    Examples
    --------
    >>> import os, tempfile
    >>> import theano, theano.tensor as T
    >>> x = T.dvector("x")
    >>> f = theano.function([x], T.exp(x).sum())
    >>> made = theano.export_c(f, os.path.join(tempfile.mkdtemp(), "model"), shapes={x: (3,)}, static=True)
    >>> [os.path.basename(file) for file in made.files]
    ['model.c', 'model.h', 'model.json']
    """
    check_function(fn, "export_c")
    stem, sizes = os.fspath(path), check_shapes(shapes)
    name = os.path.basename(stem)
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(
            format_error(
                f"export_c: the function would be called `{name}`, which is no name in C", hint="use another path"
            )
        )
    if is_taken(name):
        raise ValueError(
            format_error(
                f"export_c: `{name}` means something else in C already", hint="use another path, like `my_model`"
            )
        )
    folder = os.path.dirname(stem)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(format_error(f"export_c: there is no folder {folder!r}", hint="make it before"))
    if abi is not None:
        return _for_other_program(fn, stem, name, sizes, abi, derivatives)
    if derivatives != 1:
        raise ValueError(
            format_error(
                f"export_c: derivatives={derivatives!r} is for abi='casadi'",
                hint="export a function of the result of theano.grad, or use abi='casadi'",
            )
        )
    body = write_body(fn, name, sizes, "static=True" if static else None)
    about = description(body, name)
    texts = {
        f"{stem}.c": source_text(body, name).encode(),
        f"{stem}.h": header_text(body, name).encode(),
        f"{stem}.json": as_json(about).encode(),
    }
    if not embeds(body):
        texts[f"{stem}.state"] = state_bytes(body)
    _write(texts)
    return ExportedFunction(name, tuple(texts), about)


def _for_other_program(
    fn: Function, stem: str, name: str, shapes: Mapping[Any, Sequence[int]], abi: str, derivatives: int
) -> ExportedFunction:
    if abi != "casadi":
        raise ValueError(format_error(f"export_c: abi={abi!r} is not known", hint="use abi='casadi', or leave it out"))
    files, about = casadi_files(fn, name, shapes, derivatives)
    texts = {os.path.join(os.path.dirname(stem), file): text for file, text in files.items()}
    _write(texts)
    return ExportedFunction(name, tuple(texts), about)


def _write(texts: Mapping[str, bytes]) -> None:
    for file, text in texts.items():
        with open(file, "wb") as stream:
            stream.write(text)
