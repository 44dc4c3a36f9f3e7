"""What several tests share: exchanges in notation, peers, captures, and tools to run by hand.

`python tests` lists the tools.
"""

from pathlib import Path

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
CAPTURES = ROOT / "captures"
