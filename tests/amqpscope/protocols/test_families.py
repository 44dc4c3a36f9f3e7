"""What is outside of a family's own folders knows no family by its name."""

import ast
import re

import pytest

OWN = re.compile(r"amqpscope/(model|protocols|rules)/v\d_\d+/")
"""The folders of the families."""
REGISTRY = "amqpscope/protocols/registry.py"
"""The one table that joins them."""
FAMILY = re.compile(r"\bv\d_\d+|amqp-\d")
"""A family's package, and what users call it."""


def shared_modules(root):
    for path in sorted((root / "amqpscope").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not OWN.match(name) and name != REGISTRY:
            yield name, path.read_text(encoding="utf-8")


def named(source):
    """Imports, names and texts of a module that name a family; not what it says in docstrings."""
    tree = ast.parse(source)
    prose = {
        id(node.value) for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }  # fmt: skip
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names):
                words = [module or "", *(alias.name for alias in names)]
            case ast.Import(names=names):
                words = [alias.name for alias in names]
            case ast.Name(id=word) | ast.Attribute(attr=word):
                words = [word]
            case ast.FunctionDef(name=word) | ast.ClassDef(name=word) | ast.arg(arg=word):
                words = [word]
            case ast.Constant(value=str(word)) if id(node) not in prose:
                words = [word]
            case _:
                continue
        yield from (f"{node.lineno}: {word}" for word in words if FAMILY.search(word))


def test_no_family_is_named_outside_of_its_own_folders(root):
    found = [f"{name}:{place}" for name, source in shared_modules(root) for place in named(source)]
    assert found == []


def test_no_family_reaches_into_another(root):
    found = []
    for path in sorted((root / "amqpscope").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if OWN.match(name):
            own = name.split("/")[2]
            source = path.read_text(encoding="utf-8")
            imports = re.findall(r"^\s*(?:from|import) (\S*\bv\d_\d+)\b", source, re.MULTILINE)
            found += [f"{name}: {each}" for each in imports if not each.endswith(own)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ["from amqpscope.model.v1_0 import link", "import dissectors.v0_9.codec", "x.v0_9",
     "def v0_9_step(): pass", "name == 'amqp-0-10'", "f'{port}=amqp-1.0'"],
)  # fmt: skip
def test_a_family_that_is_named_is_found(source):
    assert len([*named(source)]) == 1


def test_an_example_in_a_docstring_names_no_family():
    assert [*named('"""As in amqp-1.0."""\nx = 1\n"""Like v0_9."""')] == []
