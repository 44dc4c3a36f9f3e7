"""Our own processes beside the one that draws. Light to import: the first begins before Textual."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import amqpscope


def launch(
    module: str, request: dict[str, Any], files: list[int], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Run one of our modules beside us.

    Not by `multiprocessing`, which does not work inside a Textual application.
    """
    home = str(Path(amqpscope.__file__).parent.parent)
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, json.dumps(request)],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=files,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        start_new_session=True,  # Ctrl-C in the terminal is for us alone
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End one of our processes."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def settle_collector() -> None:
    """Look for cycles often and briefly: drawing leaves many, and nobody should notice.

    What there is by now stays, so it is not looked at again.
    """
    gc.freeze()
    gc.set_threshold(4000, 10, 50)
