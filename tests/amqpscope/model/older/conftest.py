"""Makes the players of the rules' tests importable here too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "rules" / "older"))
