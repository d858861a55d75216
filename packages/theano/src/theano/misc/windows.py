"""Running programs without a window of their own, where there are windows."""

import subprocess
from typing import Any


def subprocess_Popen(command: Any, **params: Any) -> "subprocess.Popen[Any]":
    """Start a program.

    Parameters
    ----------
    command : list of str, or str with ``shell=True``
    **params
        As for `subprocess.Popen`.
    """
    # The constant is there on Windows only.
    params.setdefault("creationflags", getattr(subprocess, "CREATE_NO_WINDOW", 0))
    return subprocess.Popen(command, **params)


def call_subprocess_Popen(command: Any, **params: Any) -> int:
    """Run a program without its output; return its status.

    Raises
    ------
    ValueError
        If the output is asked for: see `output_subprocess_Popen`.
    """
    if "stdout" in params or "stderr" in params:
        raise ValueError("call_subprocess_Popen drops the output; use output_subprocess_Popen to have it")
    with subprocess_Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **params) as process:
        return process.wait()


def output_subprocess_Popen(command: Any, **params: Any) -> tuple[bytes, bytes, int]:
    """Run a program; return its output, its errors and its status."""
    with subprocess_Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **params) as process:
        output, errors = process.communicate()
        return output, errors, process.returncode
