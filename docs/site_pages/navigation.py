"""The site's navigation: the first table of ``index.md``, whose bold rows are headings and whose links are pages."""

import re
from typing import Any

from sphinx.application import Sphinx

_HEADING = re.compile(r"^\| \*\*(.+?)\*\* \|")
_PAGE = re.compile(r"\[[^\]]*\]\(([\w/]+)\.md\)")


def groups(index: str) -> dict[str, list[str]]:
    """The pages that a table names, by heading.

    Args:
        index: the text of ``index.md``.

    Returns:
        Names of pages, without ``.md``, in order, by heading; those before the first heading under "".
    """
    found: dict[str, list[str]] = {"": []}
    heading = ""
    for line in index.splitlines():
        if title := _HEADING.match(line):
            heading = title[1].capitalize()
            found[heading] = []
        elif line.startswith("|"):
            found[heading] += [page for page in _PAGE.findall(line) if page not in found[heading]]
    return found


def _append_toctrees(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the navigation to the front page; in the repository the table is enough."""
    if name != "index":
        return
    for heading, pages in groups(source[0]).items():
        pages += ["reference/python"] if heading == "Look something up" else []
        lines = ["", "```{toctree}", ":hidden:", f":caption: {heading}" if heading else "", "", *pages, "```", ""]
        source[0] += "\n".join(lines)


def _open_one_branch(app: Sphinx, name: str, template: str, context: dict[str, Any], page: object) -> None:
    """Show a page its own branch of the navigation: with all branches open, each of 500 pages would take a second to write."""
    if "toctree" in context:
        whole = context["toctree"]
        context["toctree"] = lambda **options: whole(**options | {"collapse": True})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _append_toctrees)
    # before the theme's own handler, which makes the navigation
    app.connect("html-page-context", _open_one_branch, priority=400)
    return {"parallel_read_safe": True}
