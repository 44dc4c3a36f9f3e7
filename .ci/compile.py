"""Compile the modules that pyproject.toml names, in place, into one shared library.

    python .ci/compile.py           in a copy of the sources, as build_hook.py does
    python .ci/compile.py --list    print the modules instead

The patterns are under `[tool.hatch.build.targets.wheel.hooks.custom]`. Third-party packages are
absent from an isolated build, so an import that mypy cannot resolve is taken as Any, not as an
error.
"""

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


def compiled_modules() -> list[str]:
    """The files that are compiled, sorted, relative to the checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    return sorted(matching(hook["include"]) - matching(hook["exclude"]))


def matching(patterns: list[str]) -> set[str]:
    """The files that any of the patterns names; each must name one."""
    found: set[str] = set()
    for pattern in patterns:
        files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
        if not files:
            raise SystemExit(f"pyproject.toml: no module to compile matches {pattern!r}")
        found |= files
    return found


def main() -> None:
    """Compile what is in the current directory."""
    if sys.argv[1:] == ["--list"]:
        print(*compiled_modules(), sep="\n")
        return
    from mypyc.build import mypycify
    from setuptools import setup

    setup(
        name="amqpscope",
        packages=[],
        py_modules=[],
        ext_modules=mypycify(
            [*MYPY_OPTIONS, *compiled_modules()],
            opt_level="3",
            debug_level="0",
            group_name="amqpscope",
        ),
        script_args=["--quiet", "build_ext", "--inplace"],
    )


if __name__ == "__main__":
    main()
