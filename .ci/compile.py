"""Compile the modules that pyproject.toml names, in place, into one library a group.

    python .ci/compile.py           in a copy of the sources, as build_hook.py does
    python .ci/compile.py --list    print the modules instead

The patterns are under `[tool.hatch.build.targets.wheel.hooks.custom]`. What a frame or a connection
passes through is optimised; what `rarely` names runs now and then, and is not. C compilers run side
by side. Calls inside a library are C calls; calls to another go through a table. Third-party
packages are absent from an isolated build, so an import that mypy cannot resolve is taken as Any,
not as an error.
"""

import ast
import gc
import os
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
BUILD = Path("build")
MYPY_OPTIONS = [
    "--config-file=",
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--no-error-summary",
]
GROUPS = {
    # patterns   library            optimised
    "include": ("amqpscope",       "-O1"),
    "rules":   ("amqpscope_rules", "-O1"),
}  # fmt: skip
NOT_OPTIMISED = "-O0"
UNIT_SIZE = 10 << 20
"""Octets of C that one run of the compiler compiles: at -O1 nothing is gained by more."""
# Of a library only Python's way in is seen from outside: else every call inside it would go through
# a table, and nothing could be inlined. A group's table of another is in both units, and one thing.
UNIX_OPTIONS = ["-fvisibility=hidden", "-fcommon"]
SIGNATURES = "amqpscope/rules/signatures.tsv"
TOP_LEVEL = "_____top_level__(void) {"
UNIT = """\
#if defined(__GNUC__) && !defined(__clang__)
#define RUN_ONCE __attribute__((optimize("O0")))
#else
#define RUN_ONCE
#endif
"""
SHIM = Path(__file__).with_name("shim.c")


class Unit(NamedTuple):
    """What one run of the C compiler compiles."""

    name: str
    library: str
    sources: list[str]
    level: str
    include_dirs: list[str]
    options: list[str]


def compiled_modules() -> list[str]:
    """All files that are compiled, relative to the checkout."""
    return [file for files in compiled_groups().values() for file in files]


def compiled_groups() -> dict[str, list[str]]:
    """The files of each group, sorted."""
    hook = patterns()
    taken = matching(hook["exclude"])
    groups = {}
    for group in GROUPS:
        files = matching(hook[group]) - taken
        groups[group] = sorted(files)
        taken |= files
    return groups


def patterns() -> dict[str, list[str]]:
    """What pyproject.toml says of the modules to compile."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook: dict[str, list[str]] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"][
        "custom"
    ]
    return hook


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
        module = module_of(file)
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                words = (f"{each.arg}\t{ast.unparse(each.annotation)}" for each in node.args.args)
                rows.append("\t".join((f"{module}.{node.name}", *words)) + "\n")
    return "".join(rows)


def module_of(file: str) -> str:
    """The name under which a file is imported."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def c_file(file: str) -> str:
    """What mypyc calls the C of a module."""
    return f"__native_{module_of(file).replace('.', '___')}.c"


def prepare(file: Path) -> None:
    """Make C that mypyc has written quick to compile.

    mypyc indents deeper and deeper, and gcc parses what is that far to the right so slowly that it
    takes longer than to optimise it. What runs once, when the module is imported, is long and need
    not be quick.
    """
    lines = [line.lstrip() for line in file.read_text(encoding="utf-8").split("\n")]
    marked = (f"RUN_ONCE {line}" if line.endswith(TOP_LEVEL) else line for line in lines)
    file.write_text("\n".join(marked), encoding="utf-8")


def units(extension: Any, library: str, level: str, rare: set[str]) -> list[Unit]:
    """What a library of mypyc's is compiled from: what is optimised, in equal parts; the rest."""
    rarely = [file for file in extension.sources if Path(file).name in rare]
    often = [file for file in extension.sources if Path(file).name not in rare]
    # A new compiler's new warning is no reason to go without its work.
    unwanted = ("-O", "-Werror")
    options = [each for each in extension.extra_compile_args if not each.startswith(unwanted)]
    return [
        Unit(f"{library}_{number}", library, files, optimised, extension.include_dirs, options)
        for number, (files, optimised) in enumerate(
            [*((part, level) for part in parts(often)), (rarely, NOT_OPTIMISED)]
        )
    ]


def parts(files: list[str]) -> list[list[str]]:
    """The files in parts of about the size of UNIT_SIZE, so that every core has something to do."""
    sizes = {file: Path(file).stat().st_size for file in files}
    shares: list[list[str]] = [[] for _ in range(1 + sum(sizes.values()) // UNIT_SIZE)]
    for file in sorted(files, key=lambda file: -sizes[file]):
        min(shares, key=lambda share: sum(sizes[each] for each in share)).append(file)
    return shares


def compile_unit(compiler: Any, unit: Unit) -> str:
    """The object file of one unit."""
    path = BUILD / f"{unit.name}.c"
    names = (Path(file).relative_to(BUILD).as_posix() for file in unit.sources)
    path.write_text(UNIT + "".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
    return compile_file(compiler, path, unit.level, unit.include_dirs, unit.options)


def compile_file(
    compiler: Any,
    path: Path,
    level: str,
    include_dirs: Sequence[str] = (),
    options: Sequence[str] = (),
) -> str:
    """The object file of a file of C."""
    headers = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    if compiler.compiler_type == "unix":
        options = [*options, *UNIX_OPTIONS, level]
    (made,) = compiler.compile(
        [str(path)],
        output_dir=str(BUILD / "objects"),
        include_dirs=[str(BUILD), *include_dirs, *sorted(headers)],
        extra_postargs=list(options),
    )
    return str(made)


def link(compiler: Any, objects: Iterable[str], name: str) -> Path:
    """The library of these object files, in the current directory."""
    path = Path(name + sysconfig.get_config_var("EXT_SUFFIX"))
    compiler.link_shared_object(list(objects), str(path), export_symbols=None)
    return path


def shim(compiler: Any, library: str, files: list[str]) -> Path:
    """What finds a module in the library, under whichever name it is loaded."""
    names = sorted({module_of(file).rpartition(".")[2] for file in files})
    path = BUILD / f"{library}_shim.c"
    ways_in = "".join(f"WAY_IN({name})\n" for name in names)
    code = SHIM.read_text(encoding="utf-8")
    path.write_text(f'#define LIBRARY "{library}__mypyc"\n{code}\n{ways_in}', encoding="utf-8")
    return link(compiler, [compile_file(compiler, path, NOT_OPTIMISED)], f"{library}_shim")


def main() -> None:
    """Compile what is in the current directory."""
    if sys.argv[1:] == ["--list"]:
        print(*compiled_modules(), sep="\n")
        return
    gc.disable()  # takes a quarter of mypyc's time, and finds little
    from mypyc.build import mypycify
    from setuptools._distutils import ccompiler
    from setuptools._distutils import sysconfig as toolchain

    groups = compiled_groups()
    Path(SIGNATURES).write_text(signatures(groups["rules"]), encoding="utf-8")
    extensions = {
        extension.name: extension
        for extension in mypycify(
            [*MYPY_OPTIONS, *compiled_modules()],
            debug_level="0",
            multi_file=True,
            separate=[(files, GROUPS[group][0]) for group, files in groups.items()],
        )
    }
    for file in BUILD.glob("__native*.c"):
        prepare(file)
    compiler = ccompiler.new_compiler()
    toolchain.customize_compiler(compiler)
    rare = {c_file(file) for file in matching(patterns()["rarely"])}
    jobs = [
        unit
        for library, level in GROUPS.values()
        for unit in units(extensions[f"{library}__mypyc"], library, level, rare)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(partial(compile_unit, compiler), jobs))
    for group, (library, _) in GROUPS.items():
        own = [made for unit, made in zip(jobs, objects, strict=True) if unit.library == library]
        link(compiler, own, f"{library}__mypyc")
        way_in = shim(compiler, library, groups[group])
        for file in groups[group]:
            shutil.copy(way_in, Path(file).with_suffix(sysconfig.get_config_var("EXT_SUFFIX")))
        way_in.unlink()


if __name__ == "__main__":
    main()
