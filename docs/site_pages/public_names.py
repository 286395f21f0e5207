"""The first page of the Python reference: what ``import coplay`` has, with a sentence each, and below it every module."""

from importlib import import_module
from inspect import getdoc, isclass, isroutine
from pathlib import Path

from sphinx.application import Sphinx

import coplay

_PAGE = "reference/python.rst"


def page() -> str:
    """The page, as reStructuredText.

    Raises:
        ValueError: if a public name has no docstring.
    """
    rows = []
    for name in coplay.__all__:
        value = getattr(coplay, name)
        module = coplay._MODULE_OF.get(name, "coplay")
        if isclass(value) or isroutine(value):
            sentence = (getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
            if not sentence:
                raise ValueError(f"coplay.{name} has no docstring")
            kind = "class" if isclass(value) else "func"
            rows.append(f"   * - :{kind}:`{name} <{module}.{name}>`\n     - {sentence}")
        else:
            rows.append(f"   * - ``{name}``\n     - See :mod:`{module}`.")
    packages = sorted(path.parent.name for path in Path(coplay.__file__).parent.glob("*/__init__.py"))
    about = [f"   * - :mod:`coplay.{one}`\n     - {getdoc(import_module(f'coplay.{one}'))}" for one in packages]
    table = ".. list-table::\n   :widths: 25 75\n\n"
    return "\n".join(
        [
            "Python",
            "======",
            "",
            "``import coplay`` has these names. Everything else has a page of its own, by module, below.",
            "",
            table + "\n".join(rows),
            "",
            "Packages",
            "--------",
            "",
            table + "\n".join(line.replace("\n\n", "\n\n       ") for line in about),
            "",
            ".. toctree::",
            "   :hidden:",
            "",
            "   python/coplay",
            "",
        ]
    )


def _write(app: Sphinx) -> None:
    """Write the page where Sphinx looks for it."""
    path = Path(app.srcdir, _PAGE)
    if not path.exists() or path.read_text(encoding="utf-8") != page():
        path.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
