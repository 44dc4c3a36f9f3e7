"""The screen in a browser: each page that is opened runs a screen of its own.

The server listens on loopback only, and every address below it begins with a token that nobody can
guess: who does not have the address sees nothing, not even on the same machine.
"""

from __future__ import annotations

import html
import logging
import re
import secrets
import socket
import string
from typing import Final

from aiohttp import web
from textual_serve.server import Server

HOST: Final = "127.0.0.1"
TO_END: Final = 2.0
"""Seconds that open pages have when the server ends."""
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}")
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' data: blob:; connect-src 'self' "
    "ws: wss:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",  # an address has the token in it
    "X-Content-Type-Options": "nosniff",
}
PAGE: Final = string.Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/css/xterm.css">
<style>
@font-face {
  font-family: "Roboto Mono";
  src: url("static/fonts/RobotoMono-VariableFont_wght.ttf");
}
body { margin: 0; background: #0f131a; color: #d6dce6; font: 16px "Roboto Mono", monospace; }
#over { display: none; padding: 2em; }
body.-closed #over { display: block; }
body.-closed #terminal { display: none; }
a { color: #5fb3f0; }
</style>
<script src="static/js/textual.js"></script>
<script>
const ready = setInterval(() => {
  const input = document.querySelector(".xterm-helper-textarea");
  if (input) { input.focus(); clearInterval(ready); }
}, 100);
</script>
</head>
<body>
<div id="over">The screen was closed. <a href="">Open it again</a></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="$websocket"
 data-font-size="$size"></div>
</body>
</html>
""")


class WebScreen(Server):
    """Serves the screen of a command, below a token."""

    def __init__(self, command: str, title: str, port: int) -> None:
        self.socket = socket.create_server((HOST, port))
        self.token = secrets.token_urlsafe(24)
        super().__init__(command, HOST, self.socket.getsockname()[1], title)

    @property
    def url(self) -> str:
        """Where the screen is."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    async def _make_app(self) -> web.Application:
        """All that is served is below the token."""
        inner = await super()._make_app()
        outer = web.Application()
        outer.add_subapp(f"/{self.token}", inner)
        outer.on_response_prepare.append(add_headers)
        return outer

    async def on_startup(self, app: web.Application) -> None:
        """The address was printed already."""

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page; a tunnel may lead to it under another host and port."""
        if not _HOST_NAME.fullmatch(request.host):
            raise web.HTTPBadRequest
        size = request.query.get("fontsize", "16")
        made = PAGE.substitute(
            title=html.escape(self.title),
            websocket=f"ws://{request.host}/{self.token}/ws",
            size=size if size.isascii() and size.isdigit() and len(size) < 3 else "16",
        )
        return web.Response(text=made, content_type="text/html")

    def run(self) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        logging.getLogger("textual-serve").setLevel(logging.CRITICAL)
        app = self._make_app()
        web.run_app(app, sock=self.socket, shutdown_timeout=TO_END, print=None, access_log=None)


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Let no other page and no other place know of the address."""
    if not isinstance(response, web.WebSocketResponse):
        response.headers.update(HEADERS)
