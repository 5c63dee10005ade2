"""Why a link broke or was not made: the reason, the host that is meant, and the time limit."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.conftest import SshServer
from tests.devices.servers import kill_sessions
from tests.devices.ssh.conftest import Home, port_reached
from tests.devices.ssh.test_transport import connect, fingerprint
from tests.devices.ssh.test_transport_links import stop
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import find_device, outage
from trimtab.devices.limits import USUAL, TimeLimits
from trimtab.errors import DeviceUnreachableError, HostKeyError
from trimtab.results import records

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]

REASON = "closed by|closed the connection|reset by peer|Broken pipe|not responding"
STATISTICS = "Bytes per second|Transferred|debug1|OpenSSH_|Authenticated"


def broken(device_action: Callable[[], object]) -> DeviceUnreachableError:
    with pytest.raises(DeviceUnreachableError) as caught:
        device_action()
    return caught.value


@pytest.mark.parametrize("banner", ["", "Welcome to the lab\nBe nice\n"])
def test_the_reason_of_a_broken_link_is_no_statistics_and_no_banner(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path, banner: str
) -> None:
    (tmp_path / "banner").write_text(banner)
    server = start_sshd(f"Banner {tmp_path}/banner")
    server.define(config, "board1")
    with find_device("board1").open(trust_new=True) as device:
        cutter = threading.Timer(0.5, kill_sessions, [server.pid])
        cutter.start()
        error = broken(lambda: device.run(["sleep", "20"], timeout_s=30))
        cutter.join()
    assert re.search(REASON, error.what)
    assert not re.search(f"{STATISTICS}|Welcome|nice", error.what)


def test_the_reason_of_a_connection_that_is_not_made_is_no_information(
    sshd: SshServer, config: Path
) -> None:
    sshd.define(config, "board1", port=free_port())
    error = broken(lambda: connect("board1"))
    assert "Connection refused" in error.what
    assert not re.search(STATISTICS, error.what)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_port_where_nothing_listens_is_blamed_on_the_port(sshd: SshServer, config: Path) -> None:
    port = free_port()
    sshd.define(config, "board1", port=port)
    error = broken(lambda: connect("board1"))
    assert f"port {port}" in error.hint
    assert "`port`" in error.hint
    assert "`host`" not in error.hint


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_port_where_no_ssh_server_listens_is_blamed_on_the_port(
    sshd: SshServer, config: Path, greeting: bytes
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sshd.define(config, "board1", port=server.getsockname()[1])

        def answer() -> None:
            with server.accept()[0] as link:
                link.recv(100)
                link.sendall(greeting)

        thread = threading.Thread(target=answer)
        thread.start()
        error = broken(lambda: connect("board1"))
        thread.join()
    assert "`port`" in error.hint


def test_a_jump_host_that_does_not_answer_is_named(home: Home, sshd: SshServer) -> None:
    jump = home.host("gateway", sshd).replace(f"Port {sshd.port}\n", f"Port {free_port()}\n")
    home.write(jump + home.host("alias", sshd, "ProxyJump gateway"))
    home.knows(sshd)
    error = broken(port_reached)
    assert "the jump host gateway" in error.what
    assert "`ssh gateway`" in error.hint


def test_the_jump_host_with_an_unknown_key_is_named(
    home: Home, sshd: SshServer, start_sshd: Callable[..., SshServer]
) -> None:
    near, far = start_sshd(), start_sshd()
    jumps = home.host("near", near) + home.host("far", far, "ProxyJump near")
    home.write(jumps + home.host("alias", sshd, "ProxyJump far"))
    home.knows(sshd)
    for unknown in (near, far):
        name = "near" if unknown is near else "far"
        with pytest.raises(HostKeyError) as caught:
            port_reached()
        assert f"the jump host {name} (ProxyJump)" in caught.value.what or "near, far" in str(
            caught.value
        )
        assert f"[127.0.0.1]:{unknown.port}" in caught.value.where
        assert f"by `ssh {name}" in caught.value.hint
        home.knows(unknown)
    assert port_reached() == sshd.port


def test_the_jump_host_with_a_changed_key_is_named(
    home: Home, sshd: SshServer, start_sshd: Callable[..., SshServer]
) -> None:
    jump = start_sshd()
    home.write(home.host("gateway", jump) + home.host("alias", sshd, "ProxyJump gateway"))
    home.knows(sshd)
    home.knows(sshd, f"[127.0.0.1]:{jump.port}")
    with pytest.raises(HostKeyError, match="the host key changed") as caught:
        port_reached()
    assert "gateway" in str(caught.value)
    assert fingerprint(sshd.host_key) in str(caught.value)


def test_a_measurement_gives_up_a_lost_device_after_the_documented_time(
    start_sshd: Callable[..., SshServer],
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit_s = 4.0
    server = start_sshd()
    server.define(config, "board1", lease=tmp_path / "lease")
    gone_at_s: list[float] = []

    def take_away() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        stop(server)
        gone_at_s.append(time.monotonic())

    thread = threading.Thread(target=take_away)
    thread.start()
    run = f"is_golden or (open({str(tmp_path / 'begun')!r}, 'w').close(), time.sleep(60))"
    limits = TimeLimits(reconnect_s=limit_s)
    with find_device("board1").open(trust_new=True, limits=limits) as device:
        subject = make_subject(tmp_path, run)
        outcome = measure(device, subject, make_golden(), Settings(runs=1), tmp_path / "runs")
        took_s = time.monotonic() - gone_at_s[0]
    thread.join()
    assert isinstance(outcome.error, DeviceUnreachableError)
    assert "did not come back within 4 s: " in outcome.error.what
    assert records.read(outcome.path).status.value == "INFRA"
    assert took_s < limit_s + 4, "on a busy machine"


def test_the_time_of_the_page_is_that_of_the_code(root: Path) -> None:
    page = (root / "docs" / "devices.md").read_text()
    assert f"for up to {USUAL.reconnect_s:.0f} s with growing pauses" in page


def test_the_attempts_of_an_outage_fit_into_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    for attempt_s in (0.0, 1.0, 10.0, 40.0):
        now[0] = 0.0
        absence = outage.Outage(60.0)

        def attempt(absence: outage.Outage = absence, attempt_s: float = attempt_s) -> None:
            while True:
                absence.begin()
                now[0] += attempt_s
                absence.wait(DeviceUnreachableError("gone"))

        with pytest.raises(DeviceUnreachableError, match="did not come back within 60 s: gone"):
            attempt()
        assert 60 - 2 * attempt_s - outage.LONGEST_PAUSE_S <= now[0] <= 60
        if attempt_s:
            with pytest.raises(DeviceUnreachableError) as again:
                absence.begin()
            assert again.value.is_final
        now[0] += attempt_s
        absence.begin()
