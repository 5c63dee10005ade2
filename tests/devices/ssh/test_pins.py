"""Pinned host keys: several writers at once, and names in any case."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

import pytest

from trimtab.devices.ssh import host_keys

KEY = base64.b64encode(b"key").decode()


def test_no_pin_of_several_writers_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "board"

    def write(writer: int) -> None:
        for i in range(20):
            host_keys.pin(file, f"host-{writer}-{i}", f"ssh-ed25519 {KEY}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = file.read_text().splitlines()
    assert len(set(lines)) == len(lines) == 80


@pytest.mark.parametrize("host", ["board-of-the-lab", "Board-Of-The-Lab", "BOARD-OF-THE-LAB"])
@pytest.mark.parametrize("marker", ["", "@revoked ", "@REVOKED ", "@Cert-Authority "])
def test_names_and_markers_count_in_any_case(tmp_path: Path, host: str, marker: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"{marker}Board-of-the-Lab ssh-ed25519 {KEY}\n")
    (line,) = host_keys.find([file], host)
    assert line.marker == marker.strip().lower()
    assert line.key == b"key"


def test_a_pin_of_an_alias_in_capitals_is_found_again(tmp_path: Path) -> None:
    host_keys.pin(tmp_path / "board", "Board-One", f"ssh-ed25519 {KEY}")
    assert host_keys.is_pinned(tmp_path / "board", "board-one")
    assert host_keys.is_pinned(tmp_path / "board", "Board-One")
