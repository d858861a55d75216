"""The handler of the package's log messages."""

from __future__ import annotations

import logging

#: The logger above all others of the package.
theano_logger = logging.getLogger("theano")

#: A handler that writes to the standard error stream; programs exchange it for one of their own.
logging_default_handler = logging.StreamHandler()


def has_handlers(logger: logging.Logger) -> bool:
    """Tell whether a logger, or one above it that it hands messages to, has a handler."""
    return logger.hasHandlers()


def disable_log_handler(logger: logging.Logger | None = None, handler: logging.Handler | None = None) -> None:
    """Take a handler, or all of them, away from a logger: ``theano`` by default.

    Examples
    --------
    >>> disable_log_handler()
    >>> logging.getLogger("theano").handlers
    []
    """
    chosen = logging.getLogger("theano") if logger is None else logger
    for handlers in list(chosen.handlers) if handler is None else [handler]:
        chosen.removeHandler(handlers)
