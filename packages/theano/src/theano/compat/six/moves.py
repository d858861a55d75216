"""Things that Python 2 had elsewhere, or under other names."""

import configparser as configparser
import pickle as cPickle
from functools import reduce as reduce
from io import StringIO as StringIO
from itertools import zip_longest as zip_longest
from pkgutil import resolve_name

filter = filter
input = input
map = map
range = range
xrange = range
zip = zip

#: Name -> module that is imported on first use.
_PLACES = {
    **{name: name for name in ("builtins", "copyreg", "queue", "reprlib", "socketserver", "tkinter", "urllib")},
    **{name: f"collections:{name}" for name in ("UserDict", "UserList", "UserString")},
    **{name: f"os:{name}" for name in ("getcwd", "getcwdb")},
    **{f"urllib_{name}": f"urllib.{name}" for name in ("error", "parse", "request", "robotparser")},
    "_thread": "_thread",
    "BaseHTTPServer": "http.server",
    "cStringIO": "io:StringIO",
    "filterfalse": "itertools:filterfalse",
    "getcwdu": "os:getcwd",
    "getoutput": "subprocess:getoutput",
    "html_entities": "html.entities",
    "html_parser": "html.parser",
    "http_client": "http.client",
    "http_cookiejar": "http.cookiejar",
    "http_cookies": "http.cookies",
    "intern": "sys:intern",
    "reload_module": "importlib:reload",
    "shlex_quote": "shlex:quote",
    "winreg": "winreg",
    "xmlrpc_client": "xmlrpc.client",
    "xmlrpc_server": "xmlrpc.server",
}


def __getattr__(name: str) -> object:
    """Return an object from its module in Python 3."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "urllib":
        # Programs take the parts of this package as its attributes.
        resolve_name("urllib.request")
        resolve_name("urllib.robotparser")
    return resolve_name(_PLACES[name])


__all__ = [
    "StringIO",
    "cPickle",
    "configparser",
    "filter",
    "input",
    "map",
    "range",
    "reduce",
    "xrange",
    "zip",
    "zip_longest",
]
