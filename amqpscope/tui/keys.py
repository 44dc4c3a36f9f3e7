"""The keys that work on every screen: one row each."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from amqpscope.tui.screens import screens

# fmt: off
SHOWN: Final = (
    # key, action, what it does, how the key is shown
    ("slash",         "ask('filter')",   "Filter",   "/"),
    ("question_mark", "help",            "Help",     "?"),
    ("colon",         "command_palette", "Commands", ":"),
    ("q",             "leave",           "Quit",     "q"),
)
"""Those that the line at the bottom names."""
OTHERS: Final = (
    ("s",                    "ask('search')", "Search"),
    ("n",                    "next(1)",       "Next match, or finding"),
    ("N",                    "next(-1)",      "Previous match, or finding"),
    ("r",                    "refusal(1)",    "Next refusal: an error or rejection by a peer"),
    ("R",                    "refusal(-1)",   "Previous refusal"),
    ("m",                    "mark",          "Mark"),
    ("M",                    "next_mark",     "Next mark"),
    ("equals_sign",          "compare",       "Compare: this frame, then another"),
    ("semicolon",            "ask('note')",   "Note"),
    ("ctrl+g",               "ask('goto')",   "Go to frame or time"),
    ("F",                    "follow",        "Follow the newest frame"),
    ("f",                    "follow_message", "Follow this message: show only its frames"),
    ("p",                    "pause",         "Pause: nothing new is shown, nothing is lost"),
    ("C",                    "connections",   "Connections: when each began and ended"),
    ("c",                    "copy",          "Copy"),
    ("w",                    "ask('save')",   "Save the frames shown as pcapng"),
    ("P",                    "ask('profile')", "Profile: columns, colours, times, sizes"),
    ("T",                    "theme",         "Light or dark"),
    ("escape",               "step_back",     "Back: list, then no search, no filter"),
    ("right_square_bracket", "capture(1)",    "Next capture, of several"),
    ("left_square_bracket",  "capture(-1)",   "Previous capture"),
)
# fmt: on
TYPED_AFTER: Final = ("slash", "s", "semicolon", "ctrl+g")
"""Keys after which a text is typed. They come first, so that what is typed or pasted right behind
them is not taken for keys while the prompt opens."""
KEYS: Final = (
    *(
        Binding(entry.key, f"screen('{entry.name}')", f"{entry.title}: {entry.summary}", show=False)
        for entry in screens()
    ),
    *(
        Binding(key, action, text, key_display=shown, priority=key in TYPED_AFTER)
        for key, action, text, shown in SHOWN
    ),
    *(
        Binding(key, action, text, show=False, priority=key in TYPED_AFTER)
        for key, action, text in OTHERS
    ),
)
