"""The keys that work on every screen: one row each."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from amqpscope.tui.screens import screens

# fmt: off
SHOWN: Final = (
    # key, action, its name, how the key is shown, what it does
    ("slash",         "ask('filter')",   "Filter",   "/", "Filter: show only frames that match"),
    ("question_mark", "help",            "Help",     "?", "Help: all keys, and how to filter"),
    ("colon",         "command_palette", "Commands", ":", "Commands: find one by its name"),
    ("q",             "leave",           "Quit",     "q", "Quit"),
)
"""Those that the line at the bottom names."""
OTHERS: Final = (
    ("s",                    "ask('search')", "Search: text in a line or its octets"),
    ("n",                    "next(1)",       "Next match, else the next error or warning"),
    ("N",                    "next(-1)",      "Previous match, else error or warning"),
    ("r",                    "refusal(1)",    "Next refusal: an error or rejection by a peer"),
    ("R",                    "refusal(-1)",   "Previous refusal"),
    ("m",                    "mark",          "Mark this frame, or take the mark away"),
    ("M",                    "next_mark",     "Next marked frame"),
    ("equals_sign",          "compare",       "Compare two frames: press it on each"),
    ("semicolon",            "ask('note')",   "Note: write one about this frame"),
    ("ctrl+g",               "ask('goto')",   "Go to a frame or a time"),
    ("F",                    "follow",        "Follow the newest frame"),
    ("f",                    "follow_message", "Follow this message: show only its frames"),
    ("p",                    "pause",         "Pause: show nothing new; nothing is lost"),
    ("C",                    "connections",   "Connections: when each began and ended"),
    ("c",                    "copy",          "Copy the line, field or octets"),
    ("w",                    "ask('save')",   "Write the frames shown to a pcapng file"),
    ("P",                    "ask('profile')", "Profile: columns, colours, times, sizes"),
    ("T",                    "theme",         "Light or dark theme"),
    ("escape",               "step_back",     "Back to the list; then end search, filter"),
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
        Binding(key, action, text, key_display=shown, priority=key in TYPED_AFTER, tooltip=full)
        for key, action, text, shown, full in SHOWN
    ),
    *(
        Binding(key, action, text, show=False, priority=key in TYPED_AFTER)
        for key, action, text in OTHERS
    ),
)
