"""How often Python looks for cycles while captures are read."""

from __future__ import annotations

import gc


def calm_collector() -> None:
    """Look less often: frames leave no cycles, and looking costs a tenth of the time.

    Connections that have ended do leave cycles, which is what bounds the memory that they take.
    """
    gc.set_threshold(50_000)


def bound_garbage() -> None:
    """Look often: a relay runs for days, and every connection with faults that ends leaves cycles.

    What there is by now stays, so that looking is brief.
    """
    gc.freeze()
    gc.set_threshold(2_000, 5, 5)
