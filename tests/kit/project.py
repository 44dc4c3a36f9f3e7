"""What the project says of itself: pyproject.toml, and the modules that are compiled."""

import importlib.util
import tomllib

from kit import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def load_compiler():
    """The script of the build that compiles, as a module."""
    spec = importlib.util.spec_from_file_location("compile", ROOT / ".ci" / "compile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled_modules():
    """Names of the modules that the build compiles."""
    return [
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in load_compiler().compiled_modules()
    ]
