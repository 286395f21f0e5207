"""The documentation as a site: ``make docs`` builds it into ``build/docs``, to be read offline, with a search.

The pages are those that are read in the repository; what a site needs besides is made here: the navigation from the table of ``index.md``, links
into the source from links to files, and the Python reference from docstrings.
"""

import sys
from importlib.metadata import version as installed
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

project = "coplay"
author = "The coplay authors"
release = version = installed("coplay")

extensions = [
    "myst_parser",
    "sphinx.ext.apidoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "site_pages.mathml",
    "site_pages.navigation",
    "site_pages.repository_links",
    "site_pages.public_names",
]
# A name that a package exports again has two places; a reference to it leads to the first.
suppress_warnings = ["ref.python"]
exclude_patterns = ["numbers", "site_pages", "reference/python/modules.rst"]

myst_enable_extensions = ["dollarmath", "smartquotes"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

apidoc_modules = [
    {
        "path": "../src/coplay",
        "destination": "reference/python",
        "separate_modules": True,
        "module_first": True,
        "max_depth": 2,
        "automodule_options": {"members", "show-inheritance"},
    }
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# These packages are large, and not needed to describe what adapters to them do.
autodoc_mock_imports = ["axelrod", "textarena", "verifiers"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = f"coplay {release}"
html_show_sourcelink = False
html_show_sphinx = False
