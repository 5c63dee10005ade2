"""Known host keys: names, patterns, hashes and markers of known_hosts lines."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from trimtab.devices.ssh import host_keys
from trimtab.errors import HostKeyError

KEY = base64.b64encode(b"key").decode()


def hashed(name: str) -> str:
    """The name as `ssh-keygen -H` writes it, with a salt of zeros."""
    import hmac

    salt = bytes(20)
    digest = hmac.digest(salt, name.encode(), "sha1")
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))


@pytest.mark.parametrize(
    ("names", "is_match"),
    [
        ("board", True),
        ("other,board", True),
        ("other", False),
        ("b*", True),
        ("b?ard", True),
        ("b*,!board", False),
        ("[board]:2222", False),
        ("BOARD", True),
        ("board.lab", False),
        (hashed("board"), True),
        (hashed("other"), False),
        ("|1|not base64|x", False),
    ],
)
def test_a_line_applies_to_its_names(tmp_path: Path, names: str, is_match: bool) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"# comment\n\n{names} ssh-ed25519 {KEY} me\n")
    lines = host_keys.find([tmp_path / "absent", file], "board")
    assert [line.place for line in lines] == ([f"{file}:3"] if is_match else [])


def test_a_port_is_part_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "k").write_text(f"[board]:2222 ssh-ed25519 {KEY}\n[board]:22 ssh-ed25519 {KEY}\n")
    assert len(host_keys.find([tmp_path / "k"], "[board]:2222")) == 1


@pytest.mark.parametrize("line", ["board", "board ssh-ed25519", "board ssh-ed25519 ===", "\0 x y"])
def test_malformed_lines_are_skipped(tmp_path: Path, line: str) -> None:
    (tmp_path / "k").write_text(f"{line}\nboard ssh-ed25519 {KEY}\n")
    assert [match.line for match in host_keys.find([tmp_path / "k"], "board")] == [2]


def judge(tmp_path: Path, text: str, key_type: str = "ssh-ed25519", key: bytes = b"key") -> bool:
    (tmp_path / "k").write_text(text)
    return host_keys.judge(host_keys.find([tmp_path / "k"], "board"), key_type, key, "board1")


def test_a_known_key_is_trusted_and_another_one_of_its_type_is_a_change(tmp_path: Path) -> None:
    text = f"board ssh-ed25519 {KEY}\n"
    assert judge(tmp_path, text)
    with pytest.raises(HostKeyError, match="changed") as caught:
        judge(tmp_path, text, key=b"another")
    assert str(tmp_path / "k") in caught.value.hint
    assert not judge(tmp_path, text, "ecdsa-sha2-nistp256", b"another"), "of another type: unknown"


def test_one_matching_line_of_several_is_enough(tmp_path: Path) -> None:
    old = base64.b64encode(b"old").decode()
    assert judge(tmp_path, f"board ssh-ed25519 {old}\nb* ssh-ed25519 {KEY}\n")


def test_a_revoked_key_is_refused_even_if_it_is_known(tmp_path: Path) -> None:
    text = f"board ssh-ed25519 {KEY}\n@revoked * ssh-ed25519 {KEY}\n"
    with pytest.raises(HostKeyError, match="revokes"):
        judge(tmp_path, text)


def test_a_certificate_authority_is_no_key_of_the_host(tmp_path: Path) -> None:
    assert not judge(tmp_path, f"@cert-authority board ssh-ed25519 {KEY}\n")
