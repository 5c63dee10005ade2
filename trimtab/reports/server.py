"""Serves a results folder as a site: an index page that updates itself, and a page per run.

The site is read-only, and fetches nothing from elsewhere. Clients on this machine need no
credentials. Other machines need the token in the address, which a cookie stores afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from trimtab import escape, reports
from trimtab.errors import ResultError, TrimtabError, UsageError
from trimtab.paths import PROGRAM
from trimtab.reports import html_page
from trimtab.results import index, records, summary
from trimtab.results.summary import Summary

_COOKIE = "trimtab_token"
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """The response to a request: text, and its media type."""

    status: HTTPStatus
    text: str
    kind: str = "text/plain; charset=utf-8"


class Site:
    """The content of each address of the site."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._summaries: dict[str, Summary] = {}  # by file name; records are immutable
        self._lock = threading.Lock()  # guards the summaries and the index

    def answer(self, path: str) -> Answer:
        """The answer for `/`, `/state` or `/run/ID`; any other path is not found."""
        try:
            if path == "/":
                return Answer(HTTPStatus.OK, self._index(), _HTML)
            if path == "/state":
                return Answer(HTTPStatus.OK, self._state())
            if path.startswith("/run/"):
                return self._run(path.removeprefix("/run/"))
        except TrimtabError as error:
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, escape.text(f"{error}\n"))
        return Answer(HTTPStatus.NOT_FOUND, "no such page\n")

    def _entries(self) -> list[index.Entry]:
        return [run for run in index.entries(self._folder) if run.status != index.TRUNCATED]

    def _state(self) -> str:
        """A hash that changes with the set of runs."""
        with self._lock:
            names = "\n".join(run.file_name for run in self._entries())
        return hashlib.sha256(names.encode()).hexdigest()[:16]

    def _index(self) -> str:
        state = self._state()
        with self._lock:
            entries = self._entries()
            summaries = []
            for run in entries:
                if run.file_name not in self._summaries:
                    try:
                        record = records.read(self._folder / run.file_name)
                    except ResultError:  # the file was just removed
                        continue
                    self._summaries[run.file_name] = summary.summarize(record)
                summaries.append(self._summaries[run.file_name])
        return reports.site(summaries, "/run/", state)

    def _run(self, run_id: str) -> Answer:
        # Only complete run ids match, so a request never becomes a path.
        with self._lock:
            names = [run.file_name for run in self._entries() if run.run_id == run_id]
        if not names:
            return Answer(HTTPStatus.NOT_FOUND, "no such run\n")
        run = summary.summarize(records.read(self._folder / names[0]))
        return Answer(HTTPStatus.OK, reports.find("html").run(run), _HTML)


def is_local(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing is printed for a client that goes away before it has its answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Server:
    """A bound server. `url` is the address to open, with the token if one is needed."""

    url: str
    run: Callable[[], None]
    stop: Callable[[], None]


def bind_server(folder: Path, host: str = "127.0.0.1", port: int = 0) -> Server:
    """A server of `folder`, bound to its address and not running yet; port 0 is any free port.

    Raises UsageError if the folder does not exist, or the address is not available.
    """
    if not folder.is_dir():
        raise UsageError(
            "the results folder does not exist",
            where=str(folder),
            hint=f"{PROGRAM} bench creates it",
        )
    token = "" if is_local(host) else secrets.token_urlsafe(24)
    handler = _handler(Site(folder), token)
    try:
        http = _HttpServer((host, port), handler)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"the address {host}:{port} is not available: {error}", hint="choose another --port"
        ) from error
    address = f"http://{host}:{http.server_address[1]}/"

    def stop() -> None:
        http.shutdown()
        http.server_close()

    url = f"{address}?token={quote(token)}" if token else address
    return Server(url, http.serve_forever, stop)


def _handler(site: Site, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "trimtab"
        sys_version = ""
        timeout = 30

        def do_GET(self) -> None:
            try:
                parts = urlsplit(self.path)
            except ValueError:  # a host in brackets that is no address
                self._send(Answer(HTTPStatus.BAD_REQUEST, "the address is invalid\n"))
                return
            if token and (tokens := parse_qs(parts.query).get("token")):
                if hmac.compare_digest(tokens[0].encode(), token.encode()):
                    self._remember(parts.path)
                    return
            elif self._may_read():
                self._send(site.answer(parts.path))
                return
            self._send(Answer(HTTPStatus.FORBIDDEN, "the address needs its token\n"))

        do_HEAD = do_GET  # noqa: N815  # the name that http.server requires

        def _may_read(self) -> bool:
            if not token:
                # Rejects DNS rebinding: another site's name that resolves to this server.
                host = self.headers.get("Host", "")
                name = host if host.endswith("]") else host.rpartition(":")[0] or host
                return name in _LOCAL_NAMES
            try:
                cookies = SimpleCookie(self.headers.get("Cookie", ""))
            except CookieError:
                return False
            cookie = cookies[_COOKIE].value if _COOKIE in cookies else ""
            return hmac.compare_digest(cookie.encode(), token.encode())

        def _remember(self, path: str) -> None:
            """Moves the token from the address to a cookie: out of history and referrer."""
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Location", quote("/" + path.lstrip("/")))
            cookie = f"{_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
            self.send_header("Set-Cookie", cookie)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _send(self, answer: Answer) -> None:
            body = answer.text.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Frame-Options", "DENY")
            own = "connect-src 'self'; frame-ancestors 'none'"  # which only a header can say
            self.send_header("Content-Security-Policy", f"{html_page.policy()}; {own}")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    return Handler
