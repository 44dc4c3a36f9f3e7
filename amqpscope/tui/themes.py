"""How it looks: one dark and one light theme.

Beside Textual's own colours there are `$dim` and `$faint` for text, and `$cursor-row`,
`$resting-row` and `$marked` for backgrounds; all opaque, as lines are painted without blending.
"""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="amqpscope-dark",
    dark=True,
    primary="#5fb3f0",
    secondary="#8f7ee7",
    accent="#d78fe0",
    success="#7fd18b",
    warning="#e6c15c",
    error="#ff6b6b",
    foreground="#d6dce6",
    background="#0f131a",
    surface="#131821",
    panel="#1e2632",
    variables={
        "dim": "#98a2b1",
        "faint": "#7d8796",
        "cursor-row": "#274a6d",
        "resting-row": "#1d2d40",
        "marked": "#4b3f86",
    },
)
LIGHT: Final = Theme(
    name="amqpscope-light",
    dark=False,
    primary="#0b62a8",
    secondary="#5a46c2",
    accent="#8e2a9c",
    success="#1c7a33",
    warning="#8a6200",
    error="#c11f2f",
    foreground="#1c222b",
    background="#f3f5f8",
    surface="#fbfcfd",
    panel="#dfe5ec",
    variables={
        "dim": "#5a6472",
        "faint": "#6f7987",
        "cursor-row": "#bcd9f2",
        "resting-row": "#dfeaf5",
        "marked": "#d5ccf7",
    },
)
