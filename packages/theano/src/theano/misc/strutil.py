"""Texts with names in them, as C code of ops often is."""

from collections.abc import Mapping


def render_string(string: str, sub: Mapping[str, object]) -> str:
    """Return ``string % sub``, with an error that names the missing key.

    Parameters
    ----------
    string : str
        With places as ``%(name)s``.
    sub : mapping

    Raises
    ------
    ValueError
        If a name is missing, or a place is not well-formed.

    Examples
    --------
    >>> from theano.misc import strutil
    >>> strutil.render_string("%(z)s = 0;", {"z": "V1"})
    'V1 = 0;'
    """
    try:
        return string % sub
    except KeyError as error:
        raise ValueError(f"the text asks for {error.args[0]!r}, given are {sorted(sub)}") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"the text is not well-formed ({error}); a percent sign is written %%") from None
