"""The imports of the package as a picture: folders as boxes, the lowest at the bottom, and for each what it imports.

    python scripts/imports.py docs/images/imports.svg

``tests/test_layout.py`` holds the rules that the picture shows: imports point down, no circle of files or of folders.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "coplay"

WIDTH, HEIGHT, GAP, MARGIN = 190, 46, 34, 20
"""Of a box, between boxes, and around the picture, in pixels."""

ARROW = 7
"""Length of an arrowhead, in pixels."""


def module_name(path: Path) -> str:
    """``coplay.games.base`` of its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> dict[str, Path]:
    """All modules of the package by name."""
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(path: Path, known: Mapping[str, Path], *, late: bool = True) -> set[str]:
    """The package's modules that a file imports.

    Args:
        path: the file.
        known: all modules.
        late: whether imports within functions count; those for type checkers alone never do.
    """
    found: set[str] = set()
    for node in _import_nodes(ast.parse(path.read_text(encoding="utf-8")), late=late):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found |= {name for name in (inner if inner in known else node.module,) if name in known}
    return found - {module_name(path)}


def _import_nodes(tree: ast.AST, *, late: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif late or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _import_nodes(node, late=late)


def folder_of(module: str) -> str:
    """The folder that a module lies in; ``coplay`` for those at the root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and (PACKAGE / parts[1]).is_dir() else "coplay"


def folder_imports(*, late: bool = True) -> dict[str, set[str]]:
    """For each folder, which others its files import; the root's small files are left out."""
    known = modules()
    graph: dict[str, set[str]] = {folder_of(name): set() for name in known}
    for name, path in known.items():
        graph[folder_of(name)] |= {folder_of(one) for one in imports_of(path, known, late=late)}
    return {folder: found - {folder, "coplay"} for folder, found in graph.items() if folder != "coplay"}


def floors(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """How high each node stands: one above the highest that it imports, 0 if it imports none.

    Raises:
        ValueError: naming a circle.
    """
    heights: dict[str, int] = {}

    def height(node: str, above: tuple[str, ...]) -> int:
        if node in above:
            raise ValueError(f"imports in a circle: {' -> '.join([*above[above.index(node) :], node])}")
        if node not in heights:
            heights[node] = 1 + max((height(one, (*above, node)) for one in sorted(graph[node])), default=-1)
        return heights[node]

    for node in sorted(graph):
        height(node, ())
    return heights


def picture(graph: Mapping[str, set[str]]) -> str:
    """The folders as an SVG: a row a floor, with arrows from each folder to those that it imports."""
    heights = floors(graph)
    top = max(heights.values())
    rows = [sorted(one for one in graph if heights[one] == floor) for floor in range(top, -1, -1)]
    width = MARGIN * 2 + max(len(row) for row in rows) * (WIDTH + GAP) - GAP
    height = MARGIN * 2 + len(rows) * (HEIGHT + GAP) - GAP
    place = {
        folder: (
            MARGIN + i * (WIDTH + GAP) + (width - 2 * MARGIN - len(row) * (WIDTH + GAP) + GAP) // 2,
            MARGIN + r * (HEIGHT + GAP),
        )
        for r, row in enumerate(rows)
        for i, folder in enumerate(row)
    }
    lines = [_line(place[a], place[b]) for a in graph for b in sorted(_direct(graph, a))]
    boxes = [_box(folder, *place[folder]) for folder in place]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<marker id="arrow" viewBox="0 0 8 8" refX="0" refY="4" markerWidth="{ARROW}" markerHeight="{ARROW}"'
            ' markerUnits="userSpaceOnUse" orient="90"><path d="M0 0 L8 4 L0 8 z" fill="#8a94a6"/></marker>',
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


def _direct(graph: Mapping[str, set[str]], folder: str) -> set[str]:
    """What a folder imports, but for what one of those imports as well."""
    return {one for one in graph[folder] if not any(one in graph[other] for other in graph[folder] if other != one)}


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    """An arrow: within the first gap it reaches the column of its end, then it goes straight down beside the boxes between."""
    x1, y1, x2, y2 = start[0] + WIDTH // 2, start[1] + HEIGHT, end[0] + WIDTH // 2, end[1] - ARROW
    turn = y1 + GAP - ARROW - 4
    curve = f"M{x1} {y1} C{x1} {turn} {x2} {y1} {x2} {turn} V{y2}"
    return f'<path d="{curve}" fill="none" stroke="#8a94a6" stroke-width="1.4" marker-end="url(#arrow)"/>'


def _box(folder: str, x: int, y: int) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef2f8" stroke="#3b5b8c"/>'
        f'<text x="{x + WIDTH // 2}" y="{y + 28}" text-anchor="middle" font-weight="bold" fill="#1d2b44">{escape(folder)}/</text>'
    )


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.parse_args().file.write_text(picture(folder_imports()), encoding="utf-8")


if __name__ == "__main__":
    main()
