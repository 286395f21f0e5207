"""The package's layout: imports point down without circles, few files at the root, no file too long for one idea."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import imports

MAX_LINES = 350
MAX_ROOT_FILES = 10
MAX_FLOORS = 10


def test_files_import_each_other_in_no_circle() -> None:
    known = imports.modules()
    imports.floors({name: imports.imports_of(path, known) for name, path in known.items()})


def test_folders_import_each_other_in_no_circle() -> None:
    heights = imports.floors(imports.folder_imports())
    assert max(heights.values()) < MAX_FLOORS
    assert heights["text"] == 0 and heights["cli"] == max(heights.values())


def test_a_circle_would_be_found() -> None:
    with pytest.raises(ValueError, match="a -> b -> c -> a"):
        imports.floors({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_the_picture_shows_every_folder() -> None:
    drawn = imports.picture(imports.folder_imports())
    assert all(f"{folder}/" in drawn for folder in imports.folder_imports())
    page = Path(__file__).parents[1] / "docs" / "images" / "imports.svg"
    assert page.read_text(encoding="utf-8") == drawn, "draw it anew: python scripts/imports.py docs/images/imports.svg"


def test_few_files_at_the_root() -> None:
    assert len(list(imports.PACKAGE.glob("*.py"))) <= MAX_ROOT_FILES


def test_no_file_is_longer_than_one_idea() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in imports.modules().items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_file_of_tests_is_longer_either() -> None:
    lengths = {
        str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in Path(__file__).parent.rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}
