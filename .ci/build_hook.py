"""Compile the hot modules with mypyc while hatchling builds the wheel.

Which modules these are, compile.py reads from pyproject.toml. They become a few shared libraries,
so that calls inside each stay C calls. Their `.py` files stay in the wheel beside the extensions:
Python prefers the extension, tracebacks show the source.

AMQPSCOPE_BUILD chooses:

    auto      compile when a C compiler and Python's headers are there, else pure Python (default)
    compiled  compile, and fail when that is not possible
    pure      never compile

What came of it is one line, printed for the reader of `pip -v` and kept in the wheel as
`amqpscope/build.txt`, where `amqpscope --version` finds it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("amqpscope", "dissectors")
TOOLS = ["mypy[mypyc]>=2.4,<3", "setuptools>=77"]
MODES = ("auto", "compiled", "pure")


class CannotCompileError(Exception):
    """Why the wheel has to be pure Python."""


class CompileHook(BuildHookInterface):
    """Adds the compiled modules, and a line that says whether there are any."""

    def dependencies(self) -> list[str]:
        """Ask for mypyc only where it can be used, so that a pure install stays light."""
        try:
            self.require_compiler()
        except CannotCompileError:
            return []
        return TOOLS

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extensions before hatchling collects the files of the wheel."""
        self.scratch = TemporaryDirectory(prefix="amqpscope-build-")
        scratch = Path(self.scratch.name)
        try:
            extensions = self.extensions(version, scratch)
        except CannotCompileError as error:
            if os.environ.get("AMQPSCOPE_BUILD") == "compiled":
                raise SystemExit(f"amqpscope: cannot compile: {error}") from None
            line = f"pure Python: {error}"
        else:
            line = "compiled"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            for path in extensions:
                build_data["force_include"][str(path)] = str(path.relative_to(scratch))
        if version != "editable":
            note = scratch / "build.txt"
            note.write_text(line + "\n", encoding="utf-8")
            build_data["force_include"][str(note)] = "amqpscope/build.txt"
        self.app.display_info(f"amqpscope: {line}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Drop the scratch directory once the wheel is written."""
        self.scratch.cleanup()

    def extensions(self, version: str, scratch: Path) -> list[Path]:
        """Compile a copy of both packages and return what that has added to it."""
        if version == "editable":
            raise CannotCompileError("an editable install runs the sources")
        self.require_compiler()
        for package in PACKAGES:
            ignore = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(Path(self.root, package), scratch / package, ignore=ignore)
        self.run_mypyc(scratch)
        libraries = [path for package in PACKAGES for path in (scratch / package).rglob("*.so")]
        signatures = scratch / "amqpscope" / "rules" / "signatures.tsv"
        return [*sorted(scratch.glob("*.so")), *sorted(libraries), signatures]

    def run_mypyc(self, scratch: Path) -> None:
        """Compile in a process of its own: mypyc ends the process when it finds an error."""
        command = [sys.executable, str(Path(self.root, ".ci", "compile.py"))]
        done = subprocess.run(
            command,
            cwd=scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.app.display_debug(done.stdout)
        if done.returncode != 0:
            self.app.display_error(done.stdout[-4000:])
            raise CannotCompileError("the compiler failed at install time")

    @staticmethod
    def require_compiler() -> None:
        """Raise unless the user allows compiling and the machine can."""
        mode = os.environ.get("AMQPSCOPE_BUILD", "auto")
        if mode not in MODES:
            raise SystemExit(f"AMQPSCOPE_BUILD is {mode!r}, expected one of {', '.join(MODES)}")
        if mode == "pure":
            raise CannotCompileError("AMQPSCOPE_BUILD=pure at install time")
        compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
        if shutil.which(compiler.split()[0]) is None:
            raise CannotCompileError("no C compiler was found at install time")
        if not Path(sysconfig.get_path("include"), "Python.h").is_file():
            raise CannotCompileError("Python's C headers were not found at install time")
