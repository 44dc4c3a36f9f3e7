"""Draws the layers of the import contract, and what each room is for, into amqpscope/README.md.

After a change of the contract in pyproject.toml or of a package's docstring, `python tests layers`
draws them again.
"""

from __future__ import annotations

import ast
import re

from kit import ROOT
from kit.project import PROJECT

PACKAGE = ROOT / "amqpscope"
README = PACKAGE / "README.md"
BLOCK = re.compile(r"(<!-- layers -->\n).*?(<!-- end -->)", re.DOTALL)


def layers() -> list[list[str]]:
    """The rooms of each layer, the highest first."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (rows,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [row.split(" | ") for row in rows]


def purpose(room: str) -> str:
    """The first sentence of a room's docstring."""
    path = PACKAGE / room / "__init__.py"
    if not path.exists():
        path = PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", paragraph)[0].replace("|", "\\|")


def drawing() -> str:
    """The layers as a diagram in Mermaid's language, and as a table with a row for each room."""
    boxes = [f'    layer{n}["{" · ".join(rooms)}"]' for n, rooms in enumerate(layers())]
    arrows = [f"    layer{n} --> layer{n + 1}" for n in range(len(boxes) - 1)]
    dissectors = [f"    layer{len(boxes) - 1} --> dissectors[/dissectors/]"]
    rows = [f"| `{room}` | {purpose(room)} |" for rooms in layers() for room in rooms]
    return "\n".join(
        ["```mermaid", "flowchart TB", *boxes, *arrows, *dissectors, "```", "",
         "| room | what it is for |", "|---|---|", *rows]
    )  # fmt: skip


def with_layers(text: str) -> str:
    """A page with its layers drawn again."""
    text, count = BLOCK.subn(lambda found: f"{found[1]}{drawing()}\n{found[2]}", text)
    assert count == 1
    return text


if __name__ == "__main__":
    README.write_text(with_layers(README.read_text(encoding="utf-8")), encoding="utf-8")
