"""The folder of results as a site: the pages of `report`, and an index that grows while it is seen.

Nothing is fetched from elsewhere and nothing changed. Whoever is on this machine may read; from
other machines it takes the token that the address holds, which a cookie keeps afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from trimtab import reports
from trimtab.errors import ResultError, TrimtabError, UsageError
from trimtab.results import index, records, summary
from trimtab.results.summary import Summary

_COOKIE = "trimtab_token"
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """What a request gets: text, and of which kind it is."""

    status: HTTPStatus
    text: str
    kind: str = "text/plain; charset=utf-8"


class Site:
    """What each address of the site shows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._summaries: dict[str, Summary] = {}  # by file name: a record never changes
        self._lock = threading.Lock()  # of these, and of the index

    def answer(self, path: str) -> Answer:
        """`/`, `/state`, or `/run/ID`; anything else is not found."""
        try:
            if path == "/":
                return Answer(HTTPStatus.OK, self._index(), _HTML)
            if path == "/state":
                return Answer(HTTPStatus.OK, self._state())
            if path.startswith("/run/"):
                return self._run(path.removeprefix("/run/"))
        except TrimtabError as error:
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n")
        return Answer(HTTPStatus.NOT_FOUND, "there is no such page\n")

    def _entries(self) -> list[index.Entry]:
        return [run for run in index.entries(self._folder) if run.status != index.TRUNCATED]

    def _state(self) -> str:
        """A word that changes when there are other runs."""
        with self._lock:
            names = "\n".join(run.file_name for run in self._entries())
        return hashlib.sha256(names.encode()).hexdigest()[:16]

    def _index(self) -> str:
        state = self._state()
        with self._lock:
            entries = self._entries()
            found = []
            for run in entries:
                if run.file_name not in self._summaries:
                    try:
                        record = records.read(self._folder / run.file_name)
                    except ResultError:  # it was removed just now
                        continue
                    self._summaries[run.file_name] = summary.summarize(record)
                found.append(self._summaries[run.file_name])
        return reports.site(found, "/run/", state)

    def _run(self, run_id: str) -> Answer:
        # By its whole id alone: what a stranger asks for is never a path.
        with self._lock:
            names = [run.file_name for run in self._entries() if run.run_id == run_id]
        if not names:
            return Answer(HTTPStatus.NOT_FOUND, "there is no such run\n")
        found = summary.summarize(records.read(self._folder / names[0]))
        return Answer(HTTPStatus.OK, reports.find("html").run(found), _HTML)


def is_local(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Server:
    """A site at an address. `url` is to be opened; it holds the token, where one is needed."""

    url: str
    run: Callable[[], None]
    stop: Callable[[], None]


def bind_server(folder: Path, host: str = "127.0.0.1", port: int = 0) -> Server:
    """A server of that folder, bound and not yet running; port 0: one that is free. UsageError when
    the folder does not exist, or the address cannot be had.
    """
    if not folder.is_dir():
        raise UsageError("there are no results", where=str(folder), hint="./inv bench makes some")
    token = "" if is_local(host) else secrets.token_urlsafe(24)
    handler = _handler(Site(folder), token)
    try:
        http = ThreadingHTTPServer((host, port), handler)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"the address {host}:{port} cannot be had: {error}", hint="choose another with --port"
        ) from error
    http.daemon_threads = True
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
            parts = urlsplit(self.path)
            if token and (given := parse_qs(parts.query).get("token")):
                if hmac.compare_digest(given[0].encode(), token.encode()):
                    self._remember(parts.path)
                    return
            elif self._may_read():
                self._send(site.answer(parts.path))
                return
            self._send(Answer(HTTPStatus.FORBIDDEN, "the address lacks its token\n"))

        do_HEAD = do_GET  # noqa: N815  # the name that http.server asks for

        def _may_read(self) -> bool:
            if not token:
                # A page of another site may have its own name lead here: it is refused.
                host = self.headers.get("Host", "")
                name = host if host.endswith("]") else host.rpartition(":")[0] or host
                return name in _LOCAL_NAMES
            try:
                cookies = SimpleCookie(self.headers.get("Cookie", ""))
            except CookieError:
                return False
            found = cookies[_COOKIE].value if _COOKIE in cookies else ""
            return hmac.compare_digest(found.encode(), token.encode())

        def _remember(self, path: str) -> None:
            """The token leaves the address, so that it is in no history and no referrer."""
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Location", quote("/" + path.lstrip("/")))
            kept = f"{_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
            self.send_header("Set-Cookie", kept)
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
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: who looks at what is nobody's concern."""

    return Handler
