"""Every equation of docs/theory links the function that computes it, and that function's docstring names a page of docs/theory."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))

EQUATION = re.compile(r"```math\n(.+?)```|^\$\$(.+?)\$\$$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[`(\w+)`\]\(\.\./\.\./(src/coplay/[\w/]+\.py)\)")

ARGUMENTS = (
    r"J_i(\theta_i)",
    r"\bar J_j(",
    r"\nabla_{\theta_j}",
    r"\sum_{\tau'=\tau}",
    r"\max_{\theta_j}",
    r"\pi(w) \propto",
    r"r_t = 0.2 +",
    r"\pi(a) \propto",
)
"""Beginnings of equations that are steps of an argument (shapellm.md, mediation.md): no function computes them."""  # fmt: skip


def equations() -> list[tuple[str, str, str]]:
    """Page, equation, and the text around it: the paragraph before and all until the next equation or heading."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in EQUATION.finditer(text):
            before = text[: match.start()].rstrip().rpartition("\n\n")[2]
            after = re.split(r"^#|^```math|^\$\$", text[match.end() :], maxsplit=1, flags=re.MULTILINE)[0]
            found.append((page.name, (match[1] or match[2]).strip(), before + after))
    return found


def docstrings(path: Path) -> dict[str, str]:
    """The docstring of every function and class at the top of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, kinds)}


def test_there_are_equations() -> None:
    assert len(equations()) >= 20


@pytest.mark.parametrize(("page", "equation", "around"), equations(), ids=lambda value: str(value)[:30])
def test_an_equation_links_its_function(page: str, equation: str, around: str) -> None:
    links = LINK.findall(around)
    if equation.startswith(ARGUMENTS):
        return
    assert links, f"{page}: no link to the code of {equation}"
    for name, file in links:
        told = docstrings(ROOT / file)
        assert name in told, f"{page} links {name}, which {file} does not have"
        assert "docs/theory/" in told[name], f"{file}: the docstring of {name} does not name its page"


def test_a_function_that_names_a_page_is_linked_there() -> None:
    for path in sorted((ROOT / "src" / "coplay").rglob("*.py")):
        for name, told in docstrings(path).items():
            for page in re.findall(r"docs/theory/(\w+\.md)", told):
                text = (ROOT / "docs" / "theory" / page).read_text(encoding="utf-8")
                linked = {link for link, file in LINK.findall(text) if ROOT / file == path}
                assert name in linked or f"`{name}" in text, f"{page} does not mention {name} of {path.name}"
