"""The directory of compiled code, by the program that looks after it."""

from theano_linker_c.cache_tool import main


def print_compiledir_content() -> None:
    """Print the content of the cache of compiled code."""
    main(["list"])


def cleanup() -> None:
    """Remove compiled code that is damaged, too old, or above the limit of size."""
    main(["cleanup"])
