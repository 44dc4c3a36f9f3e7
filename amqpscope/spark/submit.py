"""The pipeline for spark-submit, which chooses the master: `spark-submit submit.py run ...`.

`python -c "import amqpscope.spark as s; print(s.__path__[0] + '/submit.py')"` says where it is.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run `amqpscope pipeline` with the arguments given."""
    # A script's directory comes first on the path, and our modules would hide others there.
    del sys.path[0]
    from amqpscope.cli import cli

    cli(["pipeline", *sys.argv[1:]], prog_name="amqpscope")


if __name__ == "__main__":
    main()
