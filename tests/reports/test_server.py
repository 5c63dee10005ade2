"""The site of a folder of results, asked over HTTP."""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.bench.fakes import write_record
from trimtab.errors import UsageError
from trimtab.reports.server import Server, bind_server
from trimtab.results import records
from trimtab.results.records import Status


@contextmanager
def serving(folder: Path, host: str = "127.0.0.1") -> Iterator[Server]:
    site = bind_server(folder, host)
    thread = threading.Thread(target=site.run)
    thread.start()
    try:
        yield site
    finally:
        site.stop()
        thread.join()


def ask(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(server.url).port, timeout=300)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    response = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return response


def test_the_index_shows_all_runs_and_leads_to_the_page_of_each(tmp_path: Path) -> None:
    paths = [write_record(tmp_path, profile=p) for p in ("full", "tiny")]
    write_record(tmp_path, profile="broken", status=Status.CRASHED)
    with serving(tmp_path) as server:
        status, page, headers = ask(server, "/")
        assert status == 200
        assert headers["Content-Type"].startswith("text/html")
        assert "2 configurations" in page
        assert "broken / pi4: CRASHED" in page
        for path in paths:
            run_id = records.read(path).header.run_id
            assert f'href="/run/{run_id}"' in page
            status, run, _ = ask(server, f"/run/{run_id}")
            assert status == 200
            assert "<h1>net / " in run


def test_the_state_changes_when_there_is_another_run(tmp_path: Path) -> None:
    write_record(tmp_path)
    with serving(tmp_path) as server:
        state = ask(server, "/state")[1]
        assert f'data-state="{state}"' in ask(server, "/")[1]
        assert ask(server, "/state")[1] == state
        write_record(tmp_path)
        assert ask(server, "/state")[1] != state


@pytest.mark.parametrize(
    "path", ["/run/", "/run/nonsense", "/run/../../etc/passwd", "/run//etc/passwd", "/etc/passwd"]
)
def test_an_unknown_run_is_not_found(path: str, tmp_path: Path) -> None:
    write_record(tmp_path)
    with serving(tmp_path) as server:
        assert ask(server, path)[0] == 404


def test_the_server_accepts_no_data(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert ask(server, "/", "POST")[0] == 501
        status, text, _ = ask(server, "/", "HEAD")
        assert (status, text) == (200, "")


@pytest.mark.parametrize(
    "name",
    [
        *("evil.example", "localhost.evil.com", "127.0.0.1.evil.com", "[::1].evil.com"),
        *("evil-localhost", "evil.localhost", "local", "localhos", "LOCALHOST.EVIL.COM", "x[::1]"),
    ],
)
def test_another_host_name_is_refused(tmp_path: Path, name: str) -> None:
    with serving(tmp_path) as server:
        for host in (name, f"{name}:80"):
            assert ask(server, "/", Host=host)[0] == 403


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_a_name_of_this_machine_is_served(tmp_path: Path, name: str) -> None:
    with serving(tmp_path) as server:
        for host in (name, f"{name}:80"):
            assert ask(server, "/", Host=host)[0] == 200


def test_other_machines_need_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, "0.0.0.0") as server:
        parts = urlsplit(server.url)
        assert ask(server, "/")[0] == 403
        assert ask(server, "/?token=wrong")[0] == 403
        assert ask(server, "/", Cookie="trimtab_token=wrong")[0] == 403
        status, _, headers = ask(server, f"/?{parts.query}")
        assert (status, headers["Location"]) == (303, "/")
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(server, "/", Cookie=cookie.partition(";")[0])[0] == 200
        location = ask(server, f"//evil.example/?{parts.query}")[2]["Location"]
        assert location == "/evil.example/"  # and not another site


def test_a_part_of_the_token_is_not_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, "0.0.0.0") as server:
        (token,) = parse_qs(urlsplit(server.url).query)["token"]
        assert len(token) >= 32
        near = [token[:count] for count in (1, 8, len(token) // 2, len(token) - 1)]
        near += [token[1:], f"{token}x", f"{token}{token}", token.swapcase(), token[::-1], "%20"]
        for wrong in near:
            assert ask(server, f"/?token={wrong}")[0] == 403, wrong
            assert ask(server, "/", Cookie=f"trimtab_token={wrong}")[0] == 403, wrong
        assert ask(server, "/?token=")[0] == 403
        assert ask(server, "/", Cookie="trimtab_token=")[0] == 403
        assert ask(server, f"/?token=wrong&token={token}")[0] == 403
        assert ask(server, f"/?token={token}")[0] == 303
        assert ask(server, "/", Cookie=f"trimtab_token={token}")[0] == 200


def test_an_unavailable_address_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        port = urlsplit(server.url).port
        assert port
        with pytest.raises(UsageError, match="is not available"):
            bind_server(tmp_path, port=port)
    with pytest.raises(UsageError, match="does not exist"):
        bind_server(tmp_path / "none")
    with pytest.raises(UsageError, match="is not available"):
        bind_server(tmp_path, port=70_000)


def raw(server: Server, request: bytes, *, reset: bool = False) -> bytes:
    """The answer to the bytes of a request; with `reset`, the client leaves without reading it."""
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), 300) as client:
        client.sendall(request)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return b""
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_an_address_that_is_none_is_refused(
    host: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, host) as server:
        for address in (b"http://[x]y/", b"http://[::1", b"//[::1"):
            answer = raw(server, b"GET " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert re.match(rb"HTTP/1.0 (400|403|404) ", answer), address
        assert raw(server, b"GET http://[x]y/ HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.0 400 ")
    assert capfd.readouterr().err == ""


def test_a_client_that_goes_away_is_no_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_record(tmp_path)
    with serving(tmp_path) as server:
        for _ in range(20):
            raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", reset=True)
        assert ask(server, "/")[0] == 200
        threads = [one for one in threading.enumerate() if "process_request" in one.name]
        for thread in threads:
            thread.join(300)
    assert capfd.readouterr().err == ""


def test_a_page_runs_its_own_scripts_and_no_others(tmp_path: Path) -> None:
    path = write_record(tmp_path)
    with serving(tmp_path) as server:
        for address in ("/", f"/run/{records.read(path).header.run_id}"):
            _, page, headers = ask(server, address)
            policy = dict(
                part.strip().partition(" ")[::2]
                for part in headers["Content-Security-Policy"].split(";")
            )
            assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
            assert policy["base-uri"] == policy["form-action"] == "'none'"
            assert policy["connect-src"] == "'self'"
            scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
            assert scripts
            for script in scripts:
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                assert f"'sha256-{digest}'" in policy["script-src"].split()
            assert "unsafe" not in policy["script-src"]
        assert "Content-Security-Policy" in ask(server, "/nothing")[2]
