"""A headless Chromium under test, over the DevTools protocol: JSON through two pipes, so nothing has to be installed.

https://chromedevtools.github.io/devtools-protocol/ names its methods and events. TOKCLI_CHROMIUM may say where it is.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0  # seconds for one answer: the machine may be busy
KEYS = {"Enter": 13, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "Tab": 9, "Escape": 27}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1200,800",
)


def executable() -> str | None:
    """Return where a Chromium is, if there is one."""
    named = os.environ.get("TOKCLI_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A running browser: `call` asks it for something, `events` are those that it has sent since."""

    def __init__(self, path: str, profile: str) -> None:
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has none
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, to_browser, 3), (os.POSIX_SPAWN_DUP2, from_browser, 4)]
        arguments = [path, *FLAGS, *sandbox, f"--user-data-dir={profile}"]
        self._process = os.posix_spawn(path, arguments, os.environ, file_actions=actions, setpgroup=0)
        for end in (to_browser, from_browser, null):
            os.close(end)
        self._unread = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a method of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]  # type: ignore[no-any-return]

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            block = os.read(self._from, 1 << 20) if ready else b""
            if not block:
                raise TimeoutError("the browser does not answer")
            self._unread += block
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the browser and all of its processes."""
        os.close(self._to)
        os.close(self._from)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


class Tab:
    """A tab of a browser, with what its pages have said and asked for."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.opened: list[str] = []
        self._session: str = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a method of the protocol for this page."""
        return self._browser.call(method, self._session, **parameters)

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a file and wait until its program has shown it."""
        self.opened.append(page.as_uri())
        self.call("Page.navigate", url=page.as_uri() + fragment)
        self.wait("document.body?.dataset.ready === 'yes'")

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"{expression} does not become true; the page says {self.complaints()}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as soon as it is there."""
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null")
        box = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getClientRects()[0]; return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            more = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], **more)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            named = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            text = {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, selector: str, text: str) -> None:
        """Type text into a field, in the place of what is in it."""
        self.value(f"document.querySelector({json.dumps(selector)}).select()")
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def told(self, method: str) -> list[dict[str, Any]]:
        """Return the events of a kind, of all pages of this tab."""
        self.value("1")  # the browser answers in order: all events before this answer have been read
        own = (event for event in self._browser.events if event.get("sessionId") == self._session)
        return [event["params"] for event in own if event["method"] == method]

    def complaints(self) -> list[object]:
        """Return errors, warnings, and anything else in the console; dialogs, too."""
        kinds = (
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        return [event for kind in kinds for event in self.told(kind)]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        return [event["request"]["url"] for event in self.told("Network.requestWillBeSent")]


@contextmanager
def running() -> Iterator[Browser]:
    """Give a browser with a profile of its own, and end both afterwards."""
    path = executable()
    assert path is not None
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        browser = Browser(path, profile)
        try:
            yield browser
        finally:
            browser.close()
