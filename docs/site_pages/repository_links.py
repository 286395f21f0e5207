"""Links from pages to what is in the repository and not in the documentation.

A module becomes a link to its page in the Python reference; the card of an embedded model, a script or another file is copied beside the site; a
directory is named without a link.
"""

import re
from os.path import normpath
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")
_PACKAGE = PurePosixPath("src/coplay")


def site_link(root: Path, page: str, words: str, target: str) -> str | None:
    """The Markdown of a link as the site needs it.

    Args:
        root: the repository.
        page: the page that has the link, e.g. ``theory/ppo``.
        words: the words of the link.
        target: where it leads, relative to the page.

    Returns:
        The link, or None if it stays as it is: it leads to another page or to a file.
    """
    place = PurePosixPath(normpath(PurePosixPath("docs", page).parent / target))
    if place.is_relative_to("docs"):
        return None
    if place.is_relative_to(_PACKAGE) and (place.suffix == ".py" or (root / place / "__init__.py").exists()):
        module = ".".join(place.with_suffix("").parts[1:]).removesuffix(".__init__")
        return f"[{words}](/reference/python/{module}.rst)"
    if place.suffix == ".md" and (root / place).is_file():
        return f"[{words}](<path:{target}>)"
    return words if (root / place).is_dir() else None


def _rewrite(app: Sphinx, name: str, source: list[str]) -> None:
    """Rewrite the links of one page."""
    root = Path(app.srcdir).parent

    def rewritten(link: re.Match[str]) -> str:
        return site_link(root, name, link[1], link[2]) or link[0]

    source[0] = _LINK.sub(rewritten, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True}
