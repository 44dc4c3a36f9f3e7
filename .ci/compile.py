"""Compile the modules that pyproject.toml names, in place, into one library a group.

    python .ci/compile.py           in a copy of the sources, as build_hook.py does
    python .ci/compile.py --list    print the modules instead

The patterns are under `[tool.hatch.build.targets.wheel.hooks.custom]`. Calls inside a group are C
calls which the compiler may inline; calls to another group go through a table. Third-party packages
are absent from an isolated build, so an import that mypy cannot resolve is taken as Any, not as an
error.
"""

import ast
import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
MYPY_OPTIONS = [
    "--config-file=",
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--no-error-summary",
]
GROUPS = {
    # patterns   library            optimised
    "include": ("amqpscope",       "-O3"),
    "rules":   ("amqpscope_rules", "-O1"),
}  # fmt: skip
SIGNATURES = "amqpscope/rules/signatures.tsv"


def compiled_modules() -> list[str]:
    """All files that are compiled, relative to the checkout."""
    return [file for files in compiled_groups().values() for file in files]


def compiled_groups() -> dict[str, list[str]]:
    """The files of each group, sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    taken = matching(hook["exclude"])
    groups = {}
    for group in GROUPS:
        files = matching(hook[group]) - taken
        groups[group] = sorted(files)
        taken |= files
    return groups


def matching(patterns: list[str]) -> set[str]:
    """The files that any of the patterns names; each must name one."""
    found: set[str] = set()
    for pattern in patterns:
        files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
        if not files:
            raise SystemExit(f"pyproject.toml: no module to compile matches {pattern!r}")
        found |= files
    return found


def signatures(files: list[str]) -> str:
    """The parameters of all rules, a row each: a compiled function does not show its own."""
    rows = []
    for file in files:
        module = file.removesuffix(".py").replace("/", ".")
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                words = (f"{each.arg}\t{ast.unparse(each.annotation)}" for each in node.args.args)
                rows.append("\t".join((f"{module}.{node.name}", *words)) + "\n")
    return "".join(rows)


def remove_indentation(file: str) -> None:
    """Let lines of C begin at their first character.

    mypyc indents deeper and deeper, and gcc parses what is that far to the right so slowly that it
    takes longer than to optimise it.
    """
    lines = Path(file).read_text(encoding="utf-8").split("\n")
    Path(file).write_text("\n".join(map(str.lstrip, lines)), encoding="utf-8")


def main() -> None:
    """Compile what is in the current directory."""
    if sys.argv[1:] == ["--list"]:
        print(*compiled_modules(), sep="\n")
        return
    from mypyc.build import mypycify
    from setuptools import setup

    groups = compiled_groups()
    Path(SIGNATURES).write_text(signatures(groups["rules"]), encoding="utf-8")
    extensions = mypycify(
        [*MYPY_OPTIONS, *compiled_modules()],
        debug_level="0",
        separate=[(files, GROUPS[group][0]) for group, files in groups.items()],
    )
    levels = {f"{name}__mypyc": level for name, level in GROUPS.values()}
    for extension in extensions:
        # Everything that is no library only finds its module there.
        level = levels.get(extension.name, "-O0")
        options = [each for each in extension.extra_compile_args if not each.startswith("-O")]
        extension.extra_compile_args = [*options, level]
        for source in extension.sources:
            remove_indentation(source)
    setup(
        name="amqpscope",
        packages=[],
        py_modules=[],
        ext_modules=extensions,
        script_args=["--quiet", "build_ext", "--inplace", f"--parallel={os.cpu_count() or 1}"],
    )


if __name__ == "__main__":
    main()
