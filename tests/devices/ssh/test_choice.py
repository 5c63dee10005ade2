"""The choice of the SSH client: paramiko, unless the configuration needs OpenSSH."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import SshServer, make_key
from tests.devices.ssh.conftest import Home, port_reached, stop
from trimtab.devices import find_device, listing
from trimtab.errors import DeviceError, MissingRequirementError

pytestmark = pytest.mark.device


def connection() -> str:
    """Connects to the device. Returns the client of the connection and the reason."""
    with find_device("board1").open() as device:
        assert device.run(["true"], timeout_s=30).ok
        shown = listing.info_as_table("x", device.describe(), device.connection).text()
        assert device.connection in shown
        return device.connection


def test_paramiko_is_the_default(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd))
    home.knows(sshd)
    assert connection() == "paramiko (the default)"


@pytest.mark.parametrize("client", ["paramiko", "openssh"])
def test_the_definition_may_name_the_client(
    home: Home, config: Path, sshd: SshServer, client: str
) -> None:
    home.define(config, client=client)
    home.write(home.host("alias", sshd))
    home.knows(sshd)
    assert connection() == f"{client} (as the device's definition says)"


def test_an_unknown_client_is_refused(home: Home, config: Path) -> None:
    home.define(config, client="putty")
    with pytest.raises(DeviceError, match="`client` must be one of openssh, paramiko"):
        find_device("board1").open()


@pytest.fixture
def certified_host(home: Home, start_sshd: Callable[..., SshServer], tmp_path: Path) -> SshServer:
    """A server whose host key is known by a certificate alone."""
    authority, server = make_key(tmp_path / "ca"), start_sshd()
    stop(server)
    sign = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", "-h", "-n", "127.0.0.1"]
    subprocess.run([*sign, server.host_key], check=True)
    start_sshd(f"HostCertificate {server.host_key.with_name('host-cert.pub')}", again=server)
    public = (tmp_path / "ca.pub").read_text()
    home.known_hosts.write_text(f"@cert-authority [127.0.0.1]:{server.port} {public}")
    home.write(home.host("alias", server))
    return server


def test_a_host_certificate_needs_openssh(certified_host: SshServer) -> None:
    assert connection().startswith("openssh (paramiko has no host certificates (@cert-authority in")


def test_a_need_for_openssh_contradicts_paramiko_in_the_definition(
    home: Home, config: Path, certified_host: SshServer
) -> None:
    home.define(config, client="paramiko")
    with pytest.raises(DeviceError, match=r"paramiko cannot do .* host certificates") as caught:
        port_reached()
    assert "leave out" in caught.value.hint


def test_a_security_key_needs_openssh(home: Home, sshd: SshServer, tmp_path: Path) -> None:
    (tmp_path / "token.pub").write_text("sk-ssh-ed25519@openssh.com AAAA me\n")
    (tmp_path / "token").write_text("its handle")
    home.write(home.host("alias", sshd, f"IdentityFile {tmp_path}/token"))
    home.knows(sshd)
    assert "security keys" in connection()


def test_a_kerberos_ticket_needs_openssh_if_gssapi_is_on(
    home: Home, sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(home.host("alias", sshd, "GSSAPIAuthentication yes"))
    home.knows(sshd)
    monkeypatch.delenv("KRB5CCNAME", raising=False)
    assert connection() == "paramiko (the default)"
    monkeypatch.setenv("KRB5CCNAME", "/nowhere")
    assert "GSSAPI" in connection()


def test_algorithms_without_a_common_one_need_openssh(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd, "Ciphers chacha20-poly1305@openssh.com"))
    home.knows(sshd)
    assert "ciphers" in connection()


@pytest.fixture
def no_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with everything but OpenSSH's client."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "env", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    assert shutil.which("ssh") is None


@pytest.mark.usefixtures("no_ssh")
def test_a_machine_without_openssh_reaches_its_devices(home: Home, sshd: SshServer) -> None:
    home.write("Include lab/*.conf\nMatch user nobody\nPort 9\n")
    (home.ssh / "lab").mkdir()
    home.write(home.host("al*", sshd), "lab/one.conf")
    home.knows(sshd)
    assert port_reached() == sshd.port
    assert connection() == "paramiko (the default)"


def test_jump_hosts_work_without_openssh(
    home: Home,
    sshd: SshServer,
    start_sshd: Callable[..., SshServer],
    request: pytest.FixtureRequest,
) -> None:
    near, far = (start_sshd("LogLevel DEBUG1") for _ in range(2))
    request.getfixturevalue("no_ssh")
    hosts = home.host("near", near) + home.host("far", far)
    jumps = f"ProxyJump near,{getpass.getuser()}@far"
    home.write(hosts + home.host("alias", sshd, jumps))
    for server in (near, far, sshd):
        home.knows(server)
    assert port_reached() == sshd.port
    assert f"target 127.0.0.1 port {far.port}" in (near.folder / "log").read_text()


@pytest.mark.usefixtures("no_ssh")
def test_what_paramiko_cannot_evaluate_is_refused_without_openssh(
    home: Home, sshd: SshServer
) -> None:
    home.write(home.host("alias", sshd, "Include more"))
    with pytest.raises(DeviceError, match="Include below a Host"):
        port_reached()


def test_a_need_for_openssh_names_its_package_if_it_is_missing(
    certified_host: SshServer, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("no_ssh")
    with pytest.raises(MissingRequirementError, match="host certificates") as caught:
        port_reached()
    assert "openssh-client" in caught.value.hint


def test_a_loop_of_jump_hosts_is_refused(home: Home, sshd: SshServer) -> None:
    hosts = home.host("alias", sshd, "ProxyJump other")
    home.write(hosts + home.host("other", sshd, "ProxyJump alias"))
    with pytest.raises(DeviceError, match="jump hosts"):
        port_reached()


def test_the_environment_is_left_alone(home: Home, sshd: SshServer) -> None:
    before = dict(os.environ)
    home.write(home.host("alias", sshd, "IdentityAgent /nowhere/agent"))
    home.knows(sshd)
    assert port_reached() == sshd.port
    assert dict(os.environ) == before
