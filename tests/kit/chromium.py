"""A real browser without a window, driven over a pipe by its debugging protocol."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
STARTER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page: open it, press keys, ask it."""

    def __init__(self, profile):
        # The browser reads commands at descriptor 3 and writes to 4, each ended by a zero octet.
        read_end, self.to = os.pipe()
        self.come, write_end = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_end, write_end)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", STARTER, *map(str, ends), CHROMIUM, *FLAGS,
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=ends, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in ends:
            os.close(end)
        os.close(read_end)
        os.close(write_end)
        self.rest = b""
        self.number = 0
        self.events = []
        self.session = None
        pages = self.send("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.send(f"{domain}.enable")

    def receive(self):
        """The next message."""
        while b"\0" not in self.rest:
            block = os.read(self.come, 1 << 16)
            if not block:
                raise EOFError("the browser has gone")
            self.rest += block
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def send(self, method, **parameters):
        """Give a command and wait for its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, uri):
        """Show a page and wait until it is loaded."""
        self.load("about:blank")  # what the page before complains of as it goes is not of this one
        self.load(uri)

    def load(self, uri):
        """Go to a page and wait for it."""
        self.events = []
        self.send("Page.navigate", url=uri)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def ask(self, expression):
        """The value of a JavaScript expression."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key):
        """A key, down and up."""
        text = {"text": key} if len(key) == 1 else {}
        if key == "Enter":
            text = {"text": "\r", "windowsVirtualKeyCode": 13}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self):
        """How the page looks, as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])

    def requests(self):
        """The addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """What stands in the browser's log: blocked scripts, errors."""
        return [
            event["params"]
            for event in self.events
            if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]

    def close(self):
        """End the browser."""
        os.close(self.to)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.come)
