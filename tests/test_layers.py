"""The page about the package shows the layers of the import contract, and what each room is for."""

import re

from kit import ROOT, TESTS
from kit.layers import PACKAGE, README, layers, purpose, with_layers


def test_the_drawing_is_that_of_the_contract():
    text = README.read_text(encoding="utf-8")
    assert with_layers(text) == text, "run: python tests layers"


def test_each_room_says_what_it_is_for():
    assert [room for rooms in layers() for room in rooms if not purpose(room)] == []


def test_the_pages_name_only_files_and_folders_that_exist():
    """A name such as `cli/lint.py` or `rules/v1_0/` is one of the package, or of the checkout."""
    missing = []
    for page in (README, ROOT / "tests" / "README.md", ROOT / ".github" / "CONTRIBUTING.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for name in re.findall(r"`([\w./]+(?:/|\.(?:py|md|tsv|txt|toml)))`", text):
            if not re.search(r"NAME|GROUP", name) and not any(
                (folder / name).exists() for folder in (PACKAGE, ROOT, page.parent, TESTS / "kit")
            ):
                missing.append(f"{page.name}: {name}")
    assert missing == []
