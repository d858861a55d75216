"""Settings of the documentation site, which `nox -s docs` builds from these pages and from the library itself."""

from __future__ import annotations

import sys
from pathlib import Path

from theano import __version__

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

from _links import write_inventories  # noqa: E402  (the folders have to be on the search path)
from _pages import write_pages  # noqa: E402
from _reference import write_reference  # noqa: E402

GENERATED = HERE / "generated"
write_pages(GENERATED)
write_reference(GENERATED / "reference")

project = "Theano"
author = "Theano developers"
project_copyright = "Theano developers"
release = version = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.mermaid",
    "_links",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "tutorial", "device.md"]
html_theme = "furo"
html_title = f"Theano {release}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
nitpicky = False
linkcheck_ignore = [r"https?://localhost.*"]
#: Prompts and results are left out of a copied example.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
intersphinx_mapping = write_inventories(
    GENERATED, (path.read_text(encoding="utf-8") for pattern in ("**/*.md", "**/*.rst") for path in HERE.glob(pattern))
)
#: The lessons run at build; one that fails stops it.
sphinx_gallery_conf = {
    "examples_dirs": ["tutorial"],
    "gallery_dirs": ["generated/tutorial"],
    "filename_pattern": "/lesson_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "copyfile_regex": r"index\.rst",
    "capture_repr": ("__repr__",),
    "download_all_examples": False,
    "image_scrapers": (),
    "min_reported_time": 3600,
    "nested_sections": False,
    "remove_config_comments": True,
    "reset_modules": (),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
