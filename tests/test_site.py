"""The documentation as a site: navigation, links, the Python reference; slow: that it is built without a warning."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import coplay

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

pytest.importorskip("sphinx", reason="the site needs an extra: pip install -c constraints.txt -e '.[docs]'")
navigation = import_module("site_pages.navigation")
repository_links = import_module("site_pages.repository_links")
public_names = import_module("site_pages.public_names")


def test_the_navigation_has_every_page_once() -> None:
    groups = navigation.groups((DOCS / "index.md").read_text(encoding="utf-8"))
    listed = [page for pages in groups.values() for page in pages]
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages)
    assert list(groups)[:2] == ["", "Get something done"]


@pytest.mark.parametrize(
    ("page", "target", "expected"),
    [
        ("theory/ppo", "../../src/coplay/rng.py", "[w](/reference/python/coplay.rng.rst)"),
        ("theory/ppo", "../../src/coplay/learners/credit.py", "[w](/reference/python/coplay.learners.credit.rst)"),
        ("architecture", "../src/coplay/players", "[w](/reference/python/coplay.players.rst)"),
        ("architecture", "../src/coplay/games/__init__.py", "[w](/reference/python/coplay.games.rst)"),
        ("theory/ppo", "../../results/shapellm/", "w"),
        ("theory/ppo", "../decisions.md", None),
        ("index", "../src/coplay/models/tiny/README.md", "[w](<path:../src/coplay/models/tiny/README.md>)"),
    ],
)
def test_links_out_of_the_documentation(page: str, target: str, expected: str | None) -> None:
    assert repository_links.site_link(ROOT, page, "w", target) == expected


def test_the_reference_has_every_public_name_and_package() -> None:
    page = public_names.page()
    for name in coplay.__all__:
        assert f"`{name} <" in page or f"``{name}``" in page, name
    for package in (ROOT / "src" / "coplay").glob("*/__init__.py"):
        assert f":mod:`coplay.{package.parent.name}`" in page


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    built = [sys.executable, "-m", "sphinx", "--quiet", "--jobs", "auto", str(DOCS), str(tmp_path)]
    done = subprocess.run(built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    # what a package exports again is described in both places
    assert not [line for line in warnings if "duplicate object description" not in line]
    formulas = (tmp_path / "theory" / "ppo.html").read_text(encoding="utf-8")
    assert "<math" in formulas and "```" not in formulas
    modules = {f"{path.stem}.html" for path in (tmp_path / "reference" / "python").glob("*.html")}
    source = ROOT / "src"
    for path in set((source / "coplay").rglob("*.py")) - {source / "coplay" / "__main__.py"}:
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        assert f"{name}.html" in modules, f"{name} has no page"
    assert "https://" not in (tmp_path / "index.html").read_text(encoding="utf-8").replace('href="https://', "")
