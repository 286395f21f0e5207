"""A matplotlib figure as markup for the page: it takes the page's colours and fonts and refers to nothing outside."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from coplay.report.palette import variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_FONT_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
_HEX = re.compile(r"#[0-9a-f]{6}\b")


def inline(figure: Figure, *, prefix: str, label: str) -> str:
    """Return the figure as an ``<svg>`` element.

    Args:
        figure: what to draw. Colours of the palette become CSS variables, so the figure follows the page's light or dark.
        prefix: put before every id; ids must differ between the figures of a page.
        label: what a screen reader says.
    """
    buffer = io.StringIO()
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    root = ET.fromstring(buffer.getvalue())
    colours = {shade.light: f"var({name})" for name, shade in reversed(variables().items())}
    used = {
        match for node in root.iter() for value in node.attrib.values() for match in re.findall(r"#([\w.]+)", value)
    }
    _prune(root)
    for node in root.iter():
        _localise(node, prefix, used, colours)
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": label})
    return ET.tostring(root, encoding="unicode", method="html")


def _prune(node: ET.Element) -> None:
    """Drop metadata and the style rule that would reach out of the figure."""
    for child in list(node):
        if child.tag.endswith(("}metadata", "}style")):
            node.remove(child)
        else:
            _prune(child)


def _localise(node: ET.Element, prefix: str, used: set[str], colours: dict[str, str]) -> None:
    """Strip namespaces, prefix the ids in use and drop the others, shorten numbers, name colours."""
    node.tag = node.tag.rpartition("}")[2]
    attributes = dict(node.attrib)
    node.attrib.clear()
    for qualified, value in attributes.items():
        name = qualified.rpartition("}")[2]
        if name == "id":
            if value in used:
                node.attrib["id"] = f"{prefix}-{value}"
            continue
        if name == "href":
            value = value.replace("#", f"#{prefix}-", 1)
        elif value.startswith("url(#"):
            value = value.replace("url(#", f"url(#{prefix}-", 1)
        elif name == "style":
            value = _HEX.sub(lambda match: colours.get(match[0], match[0]), _FONT_FAMILY.sub("", value))
        elif name != "clip-path":
            value = _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.2f}", value).replace("\n", "")
        node.attrib[name] = value
