"""Compile the modules named on the command line, in place, into one shared library.

Run by build_hook.py in a copy of the sources. Third-party packages are absent from an
isolated build, so an import that mypy cannot resolve is taken as Any, not as an error.
"""

import sys

from mypyc.build import mypycify
from setuptools import setup

MYPY_OPTIONS = [
    "--config-file=",
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--no-error-summary",
]

if __name__ == "__main__":
    modules = sys.argv[1:]
    setup(
        name="amqpscope",
        packages=[],
        py_modules=[],
        ext_modules=mypycify(
            [*MYPY_OPTIONS, *modules], opt_level="3", debug_level="0", group_name="amqpscope"
        ),
        script_args=["--quiet", "build_ext", "--inplace"],
    )
