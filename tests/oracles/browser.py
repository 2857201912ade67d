"""Pages in headless Chromium, by its debugging protocol; tests skip with a message if there is no Chromium."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-extensions",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--force-device-scale-factor=1",
    "--remote-debugging-port=0",
)


def needs_browser() -> str:
    """Return the path of Chromium; without Chromium, skip the test, or fail it in continuous integration."""
    if CHROMIUM is None:
        message = "pages were NOT tested: there is no Chromium on this machine (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return CHROMIUM


class Browser:
    """Separate headless Chromium; use it in a ``with`` statement."""

    def __enter__(self) -> Browser:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [needs_browser(), *FLAGS, f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.port = self._port()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _port(self) -> int:
        noted = Path(self.folder.name) / "DevToolsActivePort"
        for _ in range(1200):
            if noted.is_file() and noted.read_text().strip():
                return int(noted.read_text().split()[0])
            time.sleep(0.1)
        raise RuntimeError("Chromium did not start within 120 s")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)
        self.folder.cleanup()

    def open(self, address: str, *, width: int = 1200, height: int = 800) -> Tab:
        """Open a tab and load a page in it."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = json.load(answer)
        return Tab(found["webSocketDebuggerUrl"], address, width, height)


class Tab:
    """Page in a tab; ``problems`` lists the errors and warnings of its console."""

    def __init__(self, socket: str, address: str, width: int, height: int) -> None:
        self._connection = connect(socket, max_size=None, open_timeout=120)
        self.socket = self._connection.__enter__()
        self.number, self.problems = 0, []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.requests: list[str] = []
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url=address)

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command of the protocol and return its answer."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            self._note(message)
            if message.get("id") == self.number:
                assert "error" not in message, message["error"]
                return message["result"]

    def _note(self, message: dict) -> None:
        kind, given = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif kind == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
            self.problems.append(str([a.get("value") or a.get("description") for a in given["args"]]))
        elif kind == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.problems.append(given["entry"]["text"])
        elif kind == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str, *, seconds: float = 120.0) -> None:
        """Wait until an expression in the page is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}; {self.problems}"
            time.sleep(0.05)

    def picture(self, path: Path) -> None:
        """Write a screenshot to a PNG file."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" and len(key) == 1 else ""
            )

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Send "mousePressed", "mouseMoved" or "mouseReleased" at (x, y) of the page, with the left button."""
        held = kind != "mouseReleased"
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(held), clickCount=1)

    def close(self) -> None:
        """Close the tab."""
        self.ask("Page.close")
        self._connection.__exit__(None, None, None)
