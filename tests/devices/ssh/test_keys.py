"""Authentication over real SSH servers: certificates, key types, agents, and refusals."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import SshServer, make_key
from tests.devices.ssh.conftest import Home, port_reached, stop
from trimtab.devices import find_device
from trimtab.errors import DeviceRefusedError

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]


def sign(authority: Path, key: Path, *words: str) -> Path:
    """Signs a public key. Returns the path of the certificate."""
    command = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", *words, f"{key}.pub"]
    subprocess.run(command, check=True)
    return key.with_name(f"{key.name}-cert.pub")


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """The key that signs certificates."""
    return make_key(tmp_path / "ca")


@pytest.fixture
def certified(home: Home, start_sshd: Callable[..., SshServer], authority: Path) -> SshServer:
    """A server that accepts certificates of the authority."""
    server = start_sshd(f"TrustedUserCAKeys {authority}.pub")
    home.knows(server)
    return server


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_beside_its_key_lets_the_user_in(
    home: Home, certified: SshServer, authority: Path, tmp_path: Path, kind: str
) -> None:
    mine = make_key(tmp_path / "mine", kind=kind)
    home.write(home.host("alias", certified).replace(str(certified.client_key), str(mine)))
    with pytest.raises(DeviceRefusedError, match="authentication failed"):
        port_reached()
    sign(authority, mine, "-n", getpass.getuser())
    assert port_reached() == certified.port


@pytest.mark.usefixtures("empty_agent")
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_file_belongs_to_a_key_of_the_agent(
    home: Home, certified: SshServer, authority: Path, tmp_path: Path, kind: str
) -> None:
    mine = make_key(tmp_path / "mine", kind=kind)
    certificate = sign(authority, mine, "-n", getpass.getuser())
    moved = certificate.rename(tmp_path / "elsewhere-cert.pub")
    subprocess.run(["ssh-add", "-q", mine], check=True)
    mine.unlink()
    text = home.host("alias", certified).replace(f"IdentityFile {certified.client_key}\n", "")
    home.write(text + f"CertificateFile {moved}\n")
    assert port_reached() == certified.port


@pytest.mark.usefixtures("empty_agent")
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_in_the_agent_lets_the_user_in(
    home: Home, certified: SshServer, authority: Path, tmp_path: Path, kind: str
) -> None:
    mine = make_key(tmp_path / "mine", kind=kind)
    sign(authority, mine, "-n", getpass.getuser())
    subprocess.run(["ssh-add", "-q", mine], check=True)
    for file in tmp_path.glob("mine*"):
        file.unlink()
    home.write(home.host("alias", certified).replace(f"IdentityFile {certified.client_key}\n", ""))
    assert port_reached() == certified.port


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_keys_and_host_keys_of_every_type_work(
    home: Home, start_sshd: Callable[..., SshServer], tmp_path: Path, kind: str
) -> None:
    server = start_sshd()
    stop(server)
    mine, host = make_key(tmp_path / "mine", kind=kind), make_key(tmp_path / "host", kind=kind)
    (server.folder / "client.pub").write_text(mine.with_name("mine.pub").read_text())
    start_sshd(f"HostKey {host}", again=server)
    # Both host keys are offered; the type of the known one is asked for.
    public = host.with_name("host.pub").read_text()
    home.known_hosts.write_text(f"[127.0.0.1]:{server.port} {public}")
    home.write(home.host("alias", server).replace(str(server.client_key), str(mine)))
    assert port_reached() == server.port


def test_hashed_names_of_known_hosts_count(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd))
    home.knows(sshd)
    hash_names = ["ssh-keygen", "-H", "-f", str(home.known_hosts)]
    subprocess.run(hash_names, check=True, capture_output=True)
    assert "127.0.0.1" not in home.known_hosts.read_text()
    assert port_reached() == sshd.port


def test_a_host_key_alias_is_the_name_in_known_hosts(home: Home, sshd: SshServer) -> None:
    home.write(home.host("alias", sshd, "HostKeyAlias board-of-the-lab"))
    home.knows(sshd, "board-of-the-lab")
    assert port_reached() == sshd.port


def test_a_server_that_also_asks_a_person_is_refused_with_the_reason(
    home: Home, start_sshd: Callable[..., SshServer]
) -> None:
    server = start_sshd(
        "AuthenticationMethods publickey,keyboard-interactive", kbd_interactive="yes"
    )
    home.write(home.host("alias", server))
    home.knows(server)
    with pytest.raises(DeviceRefusedError, match="asks for keyboard-interactive") as caught:
        port_reached()
    assert "accepts the key" in str(caught.value)
    assert "AuthenticationMethods" in caught.value.hint


def test_a_server_without_public_keys_is_refused_with_the_reason(
    home: Home, start_sshd: Callable[..., SshServer]
) -> None:
    server = start_sshd("PubkeyAuthentication no", kbd_interactive="yes")
    home.write(home.host("alias", server))
    home.knows(server)
    with pytest.raises(DeviceRefusedError, match="asks for keyboard-interactive"):
        port_reached()


def test_set_variables_of_the_configuration_are_sent_and_those_of_this_machine_are_not(
    home: Home, start_sshd: Callable[..., SshServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_sshd("AcceptEnv TRIMTAB_*")
    monkeypatch.setenv("TRIMTAB_SENT", "from here")
    home.write(home.host("alias", server, "SendEnv TRIMTAB_S*", "SetEnv TRIMTAB_SET=fixed"))
    home.knows(server)
    with find_device("board1").open() as device:
        words = ["sh", "-c", "echo $TRIMTAB_SENT, $TRIMTAB_SET"]
        assert device.run(words, timeout_s=30).stdout == b", fixed\n"
