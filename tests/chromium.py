"""A headless Chromium, spoken to over its DevTools protocol: pages of their own, waited for by what they show."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

PATIENCE = 60.0
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--remote-debugging-port=0",
    "--no-sandbox",  # a container has none; the only pages it loads are ours
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
)


def program() -> str | None:
    """Where it is, under whatever name."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Chromium:
    """A browser process. Tests connect to `url` on their own loops."""

    def __init__(self, directory: Path) -> None:
        profile = directory / "profile"
        with (directory / "stderr").open("wb") as told:
            command = [str(program()), *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
            self._process = subprocess.Popen(command, stdout=told, stderr=told, start_new_session=True)
        self.url = self._listening(profile / "DevToolsActivePort", directory / "stderr")

    def stop(self) -> None:
        """End it, with the processes it started."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _listening(self, port_file: Path, told: Path) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            lines = port_file.read_text().split() if port_file.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.05)
        self.stop()
        msg = f"Chromium does not listen: {told.read_text(errors='replace')[-2000:]}"
        raise RuntimeError(msg)


class Page:
    """A page in a profile of its own. `requests`, `faults`: what it asked for, and what went wrong in it."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._session: str | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._events: list[tuple[str, dict[str, Any], asyncio.Future[dict[str, Any]]]] = []
        self.context = ""
        self.requests: list[dict[str, Any]] = []
        self.faults: list[str] = []

    async def open(self, language: str, width: int, *, dark: bool) -> None:
        """Make the page, with what its reader prefers."""
        self.context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        made = await self.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        attached = await self.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.call(f"{domain}.enable")
        await self.resize(width)
        agent = await self.evaluate("navigator.userAgent")
        await self.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def listen(self) -> None:
        """Take in what the browser says, until the connection ends."""
        async for message in self._socket:
            if message.type is WSMsgType.TEXT:
                self._hear(json.loads(message.data))

    async def call(self, method: str, *, browser: bool = False, **params: Any) -> dict[str, Any]:
        """The answer to a command; of the browser itself or, where there is one, of the page."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        command: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None and not browser:
            command["sessionId"] = self._session
        await self._socket.send_json(command)
        async with asyncio.timeout(PATIENCE):
            answer = await self._answers[number]
        assert "error" not in answer, (method, answer["error"])
        found: dict[str, Any] = answer["result"]
        return found

    def event(self, method: str, **wanted: Any) -> asyncio.Future[dict[str, Any]]:
        """The next event of a name with these parameters, from now on."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._events.append((method, wanted, future))
        return future

    async def go(self, url: str) -> None:
        """Load an address to its end."""
        loaded = self.event("Page.loadEventFired")
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(PATIENCE):
            await loaded

    async def evaluate(self, script: str) -> Any:
        """The value of an expression, awaited."""
        told = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def until(self, condition: str) -> None:
        """Wait for the document to be so that a condition holds; `at(id)` is an element."""
        try:
            await self.evaluate(
                f"""new Promise((done) => {{
                  const at = (id) => document.getElementById(id);
                  const look = () => {{ if ({condition}) done(true); }};
                  const changes = {{ subtree: true, childList: true, attributes: true, characterData: true }};
                  new MutationObserver(look).observe(document, changes);
                  look();
                }})"""
            )
        except TimeoutError:
            msg = f"never: {condition}; the page says {await self.evaluate('document.body.innerText')!r}"
            raise AssertionError(msg) from None

    async def press(self, key: str, *, code: int, text: str = "") -> None:
        """A key, as a person presses it."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        await self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    async def write(self, text: str) -> None:
        """Text into the field that has the focus."""
        await self.call("Input.insertText", text=text)

    async def choose(self, name: str, value: str) -> None:
        """An entry of a list, as a person chooses it."""
        await self.evaluate(
            f"(() => {{ const list = document.getElementById('{name}'); list.value = '{value}';"
            " list.dispatchEvent(new Event('change')); })()"
        )

    async def resize(self, width: int, height: int = 900) -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def picture(self) -> bytes:
        """The whole page as a PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot", captureBeyondViewport=True))["data"])

    def _hear(self, message: dict[str, Any]) -> None:
        if "id" in message:
            if not (waiting := self._answers[message["id"]]).done():  # nobody may wait for it any more
                waiting.set_result(message)
            return
        method, params = message["method"], message["params"]
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"])
        if (fault := FAULTS.get(method, lambda _: None)(params)) is not None:
            self.faults.append(fault)
        for waited in list(self._events):
            name, wanted, future = waited
            if name == method and all(params.get(key) == value for key, value in wanted.items()):
                self._events.remove(waited)
                future.set_result(params)


FAULTS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "Runtime.exceptionThrown": lambda params: json.dumps(params["exceptionDetails"]),
    # A status that is not 2xx is told here too: the page shows it, so it is no fault of the page.
    "Log.entryAdded": lambda params: (
        params["entry"]["text"] if params["entry"]["source"] not in {"network", "other"} else None
    ),
}


@asynccontextmanager
async def page_of(url: str, *, language: str = "en", dark: bool = False, width: int = 1280) -> AsyncIterator[Page]:
    """A page with nothing stored, closed at the end."""
    async with ClientSession() as client, client.ws_connect(url, max_msg_size=0) as socket:
        page = Page(socket)
        listening = asyncio.create_task(page.listen())
        try:
            await page.open(language, width, dark=dark)
            yield page
            await page.call("Target.disposeBrowserContext", browser=True, browserContextId=page.context)
        finally:
            listening.cancel()
