"""The README of the package: its map is complete, its examples run."""

import re

import pytest


@pytest.fixture(scope="module")
def readme(root):
    return (root / "dissectors" / "README.md").read_text(encoding="utf-8")


def test_every_module_is_on_the_map(root, readme):
    named = set(re.findall(r"`([a-z_]+)(?:\.py)?`", readme))
    found = {path.stem for path in (root / "dissectors").rglob("*.py")} - {"__init__"}
    assert found - named == set()


def test_the_examples_run(readme):
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(example, {})


@pytest.mark.parametrize("name", ["codec", "framing", "message", "notation", "scapy", "span"])
def test_both_families_have_the_file(root, name):
    for family in ("v0_9", "v1_0"):
        assert (root / "dissectors" / family / f"{name}.py").is_file()


def test_the_package_is_typed_for_its_users(root):
    assert (root / "dissectors" / "py.typed").is_file()
