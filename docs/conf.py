"""Settings of the documentation site, which `nox -s docs` builds from these pages and from the library itself."""

from __future__ import annotations

import sys
from pathlib import Path

from theano import __version__

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

from _pages import write_pages  # noqa: E402  (the folders have to be on the search path)

write_pages(HERE / "generated")

project = "Theano"
author = "Theano developers"
project_copyright = "Theano developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinxcontrib.mermaid"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Theano {release}"
html_show_sphinx = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
#: Names that docstrings use as roles are those of layers; readers see the documented ones.
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autosummary_generate = True
autodoc_typehints = "none"
nitpicky = False
linkcheck_ignore = [r"https?://localhost.*"]
myst_fence_as_directive = ["mermaid"]
