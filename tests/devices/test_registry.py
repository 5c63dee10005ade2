"""Device definitions: the list of devices, and the errors of wrong files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab.devices import find_device, list_devices, listing
from trimtab.devices.qemu_user import QemuUserDevice
from trimtab.errors import DeviceError, DeviceUnreachableError, EmulatorError


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder and an empty cache in place of the user's own."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    (tmp_path / "devices").mkdir()
    return tmp_path / "devices"


def define(config: Path, name: str, text: str) -> None:
    (config / f"{name}.toml").write_text(text)


SSH = "doc='x'\ntransport='ssh'\ntoolchain='aarch64-linux-musl'\n"


def test_every_shipped_definition_can_be_opened_or_says_what_it_needs() -> None:
    shipped = list_devices()
    assert {"local", "qemu-a53", "qemu-armv7", "qemu-riscv64", "board", "pi4"} <= {
        definition.name for definition in shipped
    }
    for definition in shipped:
        if definition.transport == "board":
            with pytest.raises(DeviceUnreachableError, match="not up"):
                definition.open()
        else:
            assert definition.open().name == definition.name


def test_every_shipped_definition_names_a_toolchain_that_exists(root: Path) -> None:
    toolchains = {path.stem for path in (root / "toolchains").glob("*.toml")}
    assert {definition.toolchain for definition in list_devices()} <= toolchains


def test_an_unknown_device_names_the_known_ones() -> None:
    with pytest.raises(DeviceError, match="nope") as caught:
        find_device("nope")
    assert "qemu-a53" in caught.value.hint


def test_the_users_own_definition_replaces_the_projects(config: Path) -> None:
    define(config, "pi4", SSH + "host='10.0.0.9'")
    assert find_device("pi4").options["host"] == "10.0.0.9"
    assert find_device("pi4").path.parent == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("doc = ", "not a TOML file"),
        ("toolchain='host'", "`transport` is missing"),
        ("transport='ssh'", "`toolchain` is missing"),
        (f"{SSH}host='h'".replace("musl", "mus"), "no toolchain 'aarch64-linux-mus'"),
        ("transport='ssh'\ntoolchain='x86_64-linux-musl'\ncpu='cortex-a72'", "not x86_64"),
        ("doc='x'\ntransport='pigeon'\ntoolchain='host'", "unknown transport 'pigeon'"),
        ("doc='x'\ntransport='../ssh'\ntoolchain='host'", "unknown transport"),
        ("doc='x'\ntransport='shell'\ntoolchain='host'", "unknown transport"),
        ("doc='x'\ntransport=1\ntoolchain='host'", "`transport` must be a string"),
        (SSH + "cpu=53\nhost='h'", "`cpu` must be a string"),
        (SSH + "cpu='z80'\nhost='h'", "unknown core 'z80'"),
        (SSH + "host='h'\npasswort='x'", "unknown key `passwort`"),
    ],
)
def test_a_malformed_definition_is_rejected_with_its_file(
    config: Path, text: str, message: str
) -> None:
    define(config, "mine", text)
    with pytest.raises(DeviceError, match=message) as caught:
        find_device("mine")
    assert caught.value.where == str(config / "mine.toml")


def test_a_definition_needs_no_doc(config: Path) -> None:
    define(config, "mine", "transport='ssh'\ntoolchain='aarch64-linux-musl'\nhost='h'")
    assert find_device("mine").doc == ""
    assert "mine" in listing.as_table().text()


def test_an_unknown_transport_names_the_known_ones(config: Path) -> None:
    define(config, "mine", "transport='pigeon'\ntoolchain='host'")
    with pytest.raises(DeviceError) as caught:
        find_device("mine")
    assert "adb, board, labgrid, local, qemu_user, ssh" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SSH, "`host` is missing"),
        (SSH + "host=1", "`host` must be a string"),
        (SSH + "host='h'\nport='22'", "`port` must be an integer of at least 1"),
        (SSH + "host='h'\nport=true", "`port` must be an integer of at least 1"),
        (SSH + "host='h'\ncompress=1", "`compress` must be true or false"),
        ("doc='x'\ntransport='board'\ntoolchain='host'\narch='sparc'", "no board for 'sparc'"),
    ],
)
def test_wrong_options_are_rejected_before_the_device_is_opened(
    config: Path, text: str, message: str
) -> None:
    define(config, "mine", text)
    with pytest.raises(DeviceError, match=message):
        find_device("mine").open()


def test_a_missing_emulator_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EmulatorError, match="qemu-aarch64") as caught:
        find_device("qemu-a53").open().__enter__()
    assert "apt-get install qemu-user" in caught.value.hint


def test_one_bad_definition_leaves_the_others_in_the_listing(config: Path) -> None:
    define(config, "mine", "doc = ")
    define(config, "other", SSH + "host='h'")
    rows = {row["name"]: row for row in json.loads(listing.as_json())}
    assert rows["other"]["transport"] == "ssh"
    assert "not a TOML file" in rows["mine"]["error"]
    assert str(config / "mine.toml") in listing.as_table().text()


def test_the_listing_names_all_devices() -> None:
    names = [definition.name for definition in list_devices()]
    assert [row["name"] for row in json.loads(listing.as_json())] == names
    for name in names:
        assert name in listing.as_table().text()


def test_a_core_is_spelled_in_any_way_and_says_what_qemu_plays(config: Path) -> None:
    text = "transport='qemu_user'\ntoolchain='aarch64-linux-musl'\nprogram='p'\nmachine='m'\ncpu="
    define(config, "mine", text + "'Cortex_A55'")
    assert find_device("mine").cpu == "cortex-a55"
    device = find_device("mine").open()
    assert isinstance(device, QemuUserDevice)
    assert device.emulator.cpu_model == "cortex-a76"
    define(config, "other", text + "'cortex-a55'\ncpu_model='max'")
    other = find_device("other").open()
    assert isinstance(other, QemuUserDevice)
    assert other.emulator.cpu_model == "max"
