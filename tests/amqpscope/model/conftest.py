"""Makes the player of exchanges, and what lies here, importable for the tests beside it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "rules")]
