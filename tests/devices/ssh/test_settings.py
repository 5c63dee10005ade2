"""SSH configurations of users: files, jump hosts, proxies and agents, against real servers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import SshServer, make_key
from tests.devices.ssh.conftest import Home, port_reached, stop
from trimtab.devices import find_device
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError, HostKeyError

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]


def test_an_alias_is_all_that_a_definition_needs(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd))
    home.knows(sshd)
    assert port_reached() == sshd.port


def test_patterns_match_blocks_and_included_files_have_their_effect(
    home: Home, sshd: SshServer
) -> None:
    home.write(f"Include {home.ssh}/lab\nMatch originalhost al* exec true\nPort {sshd.port}\n")
    pattern = home.host("other !alias", sshd) + home.host("ali??", sshd)
    home.write(pattern.replace(f"Port {sshd.port}\n", ""), "lab")
    home.knows(sshd)
    assert port_reached() == sshd.port


def test_a_definition_overrides_the_configuration(
    home: Home, config: Path, sshd: SshServer
) -> None:
    home.write(home.host("alias", sshd).replace(str(sshd.port), "9").replace("client", "absent"))
    home.knows(sshd)
    home.define(config, f"port = {sshd.port}", f"key = '{sshd.client_key}'")
    assert port_reached() == sshd.port


def test_another_configuration_may_be_named(home: Home, config: Path, sshd: SshServer) -> None:
    home.define(config, "config = 'lab/ssh'")
    with pytest.raises(DeviceError, match="lab/ssh does not exist"):
        port_reached()
    (config / "devices" / "lab").mkdir()
    (config / "devices" / "lab" / "ssh").write_text(home.host("alias", sshd))
    home.knows(sshd)
    assert port_reached() == sshd.port


def test_a_changed_key_of_the_users_known_hosts_is_refused(
    home: Home, sshd: SshServer, start_sshd: Callable[..., SshServer]
) -> None:
    home.write(home.host("alias", sshd))
    home.knows(start_sshd(), f"[127.0.0.1]:{sshd.port}")
    with pytest.raises(HostKeyError, match="changed") as caught:
        find_device("board1").open(trust_new=True).__enter__()
    assert str(home.known_hosts) in caught.value.hint


def test_a_pinned_key_excludes_new_keys_of_other_types(
    home: Home, config: Path, start_sshd: Callable[..., SshServer], tmp_path: Path
) -> None:
    server = start_sshd()
    home.write(home.host("alias", server))
    with find_device("board1").open(trust_new=True):
        pass
    stop(server)
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", other], check=True)
    start_sshd("HostKeyAlgorithms ecdsa-sha2-nistp256", f"HostKey {other}", again=server)
    with pytest.raises(HostKeyError):
        find_device("board1").open(trust_new=True).__enter__()


def test_a_chain_of_jump_hosts_leads_to_the_device(
    home: Home, sshd: SshServer, start_sshd: Callable[..., SshServer]
) -> None:
    near, far = (start_sshd("LogLevel DEBUG1") for _ in range(2))
    jumps = home.host("near", near) + home.host("far", far, "ProxyJump near")
    home.write(jumps + home.host("alias", sshd, "ProxyJump far"))
    for server in (near, far, sshd):
        home.knows(server)
    assert port_reached() == sshd.port
    assert f"target 127.0.0.1 port {far.port}" in (near.folder / "log").read_text()
    assert f"target 127.0.0.1 port {sshd.port}" in (far.folder / "log").read_text()


def test_an_unknown_jump_host_is_named_as_such(
    home: Home, sshd: SshServer, start_sshd: Callable[..., SshServer]
) -> None:
    jump = home.host("jump", start_sshd())
    home.write(jump + home.host("alias", sshd, "ProxyJump jump"))
    home.knows(sshd)
    with pytest.raises(HostKeyError, match="jump host"):
        find_device("board1").open(trust_new=True).__enter__()


def test_a_proxy_command_carries_the_connection(
    home: Home, sshd: SshServer, tmp_path: Path
) -> None:
    script = f"touch {tmp_path}/used; exec ssh -F {home.ssh}/config -W %h:%p jump"
    way = f"ProxyCommand sh -c '{script}'"
    home.write(home.host("jump", sshd) + home.host("alias", sshd, way))
    home.knows(sshd)
    assert port_reached() == sshd.port
    assert (tmp_path / "used").exists()


def test_a_proxy_command_that_fails_is_unreachable(home: Home, sshd: SshServer) -> None:
    way = "ProxyCommand sh -c 'echo the VPN is down >&2; exit 1'"
    home.write(home.host("alias", sshd, way))
    with pytest.raises(DeviceUnreachableError, match="the VPN is down"):
        port_reached()


@pytest.fixture
def agent(empty_agent: None, sshd: SshServer, tmp_path: Path) -> None:
    """An agent that holds a useless key and the key of the server."""
    for key in (make_key(tmp_path / "useless"), sshd.client_key):
        subprocess.run(["ssh-add", "-q", key], check=True)


@pytest.mark.usefixtures("agent")
def test_a_key_of_the_agent_lets_the_user_in(home: Home, sshd: SshServer, tmp_path: Path) -> None:
    home.knows(sshd)
    text = home.host("alias", sshd)
    home.write(text.replace(f"IdentityFile {sshd.client_key}\n", ""))
    assert port_reached() == sshd.port
    home.write(text.replace(str(sshd.client_key), f"{tmp_path}/useless") + "IdentitiesOnly yes\n")
    with pytest.raises(DeviceRefusedError, match="authentication"):
        port_reached()


def test_an_error_in_the_configuration_is_named(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd) + "Prot 22\n")
    with pytest.raises(DeviceError, match=r"config: line 7: Bad configuration option: prot"):
        port_reached()


def test_forwards_and_commands_of_the_configuration_are_ignored(
    home: Home, sshd: SshServer
) -> None:
    extra = ("RequestTTY force", "RemoteCommand exit 7", f"LocalForward 127.0.0.1:{sshd.port} x:1")
    home.write(home.host("alias", sshd, *extra, "ControlMaster auto", "ControlPath /nowhere/%C"))
    home.knows(sshd)
    assert port_reached() == sshd.port


@pytest.mark.parametrize(
    "line", ["SessionType none", "StdinNull yes", "ForkAfterAuthentication yes"]
)
def test_a_host_configured_for_tunnels_runs_commands(
    home: Home, sshd: SshServer, line: str
) -> None:
    options = subprocess.run(["ssh", "-G", "x"], capture_output=True, text=True, check=True).stdout
    if line.split(maxsplit=1)[0].lower() not in options:
        pytest.skip("this OpenSSH is older than 8.7, and does not know it")
    home.write(home.host("alias", sshd, line))
    home.knows(sshd)
    assert port_reached() == sshd.port


def test_a_long_path_of_temporary_files_is_no_obstacle(
    home: Home, sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    home.write(home.host("alias", sshd))
    home.knows(sshd)
    assert port_reached() == sshd.port
