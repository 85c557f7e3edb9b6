"""The page for a customer's administrator: still files from `page/`, the same for everybody.

The page holds nothing of anybody and asks for `/v1/…` with the token its reader types in, so it needs no token itself.
It loads nothing from elsewhere, and its policy lets the browser run and send nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from aiohttp import web

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
SCRIPTS = ("page", "api", "words", "budget", "chart", "table")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # No text can become markup, whatever a script does with it.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[web.RouteDef]:
    """`/usage` and what it loads."""
    names = {"/usage": "index.html", "/usage/page.css": "page.css"}
    names |= {f"/usage/{name}.js": f"{name}.js" for name in SCRIPTS}
    return [web.get(path, _still(name)) for path, name in names.items()]


def _still(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    body = (files(__package__) / "page" / name).read_bytes()
    kind = TYPES[name.rpartition(".")[2]]

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8", headers=HEADERS)

    return answer
