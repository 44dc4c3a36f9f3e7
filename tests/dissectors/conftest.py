"""Lets the tests here share samples and strategies."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
