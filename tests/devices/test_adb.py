"""The adb transport: the real client and server of adb with an adbd of the tests."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.servers import Android
from trimtab.devices import find_device
from trimtab.devices.adb import AdbDevice
from trimtab.devices.limits import USUAL, TimeLimits
from trimtab.errors import (
    DeviceError,
    DeviceRefusedError,
    DeviceUnreachableError,
    MissingRequirementError,
)

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("adb")]


def identity(name: str, limits: TimeLimits = USUAL) -> str:
    """The folder of the device's tools, which distinguishes the adbds of the tests."""
    with find_device(name).open(limits=limits) as device:
        return device.run(["sh", "-c", "echo $PATH"], timeout_s=30).stdout.decode().strip()


def test_commands_run_in_androids_shell(android: Android, config: Path) -> None:
    android.define(config, "phone")
    with find_device("phone").open() as device:
        version = device.run(["sh", "-c", "echo $KSH_VERSION"], timeout_s=30)
        assert b"MIRBSD KSH" in version.stdout
        assert b"toybox" in device.run(["sh", "-c", "toybox --version"], timeout_s=30).stdout


def test_serials_distinguish_several_devices(
    android: Android, start_adbd: Callable[..., Android], config: Path
) -> None:
    other = start_adbd()
    for name, phone in (("one", android), ("two", other)):
        phone.define(config, name)
        assert identity(name) == str(phone.folder / "bin")
    android.define(config, "any", serial="")
    with pytest.raises(DeviceError, match="several devices") as caught:
        identity("any")
    assert android.serial in str(caught.value)
    assert other.serial in str(caught.value)


def test_androids_own_variable_chooses(
    android: Android,
    start_adbd: Callable[..., Android],
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start_adbd().define(config, "other")
    android.define(config, "phone")
    identity("other"), identity("phone")
    android.define(config, "any", serial="")
    monkeypatch.setenv("ANDROID_SERIAL", android.serial)
    assert identity("any") == str(android.folder / "bin")


def test_a_serial_that_is_not_attached_is_unreachable(android: Android, config: Path) -> None:
    android.define(config, "phone", serial="R58M12ABCDE")
    with pytest.raises(DeviceUnreachableError, match="not found") as caught:
        identity("phone")
    assert "R58M12ABCDE" in str(caught.value)


def test_an_address_where_nobody_listens_is_unreachable(
    start_adbd: Callable[..., Android], config: Path
) -> None:
    phone = start_adbd()
    phone.process.kill()
    phone.process.wait()
    phone.define(config, "phone")
    with pytest.raises(DeviceUnreachableError, match=phone.serial):
        identity("phone", TimeLimits(connect_s=0.5))


def test_an_android_without_exit_codes_is_refused(
    start_adbd: Callable[..., Android], config: Path
) -> None:
    start_adbd("cmd").define(config, "phone")
    with pytest.raises(DeviceRefusedError, match="exit codes"):
        identity("phone")


@pytest.mark.parametrize(
    ("line", "error", "remedy"),
    [
        ("R5\tunauthorized", DeviceRefusedError, "on its screen"),
        ("R5\tno permissions (user in plugdev group); see [http://x]", DeviceRefusedError, "udev"),
        ("R5\toffline", DeviceUnreachableError, "adb devices"),
    ],
)
def test_a_state_of_adb_comes_with_a_remedy(
    android: Android,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    error: type[DeviceError],
    remedy: str,
) -> None:
    fake = tmp_path / "bin" / "adb"  # no adbd without authentication can make adb say this
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho 'List of devices attached'\necho '{line}'\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    android.define(config, "phone", serial="R5")
    with pytest.raises(error) as caught:
        identity("phone", TimeLimits(connect_s=0.3))
    assert remedy in caught.value.hint


def test_without_adb_its_package_is_named(
    android: Android, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    android.define(config, "phone")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingRequirementError, match="adb is not installed") as caught:
        identity("phone")
    assert "apt-get install adb" in caught.value.hint


def test_a_command_of_adb_that_fails_says_why(
    android: Android, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    android.define(config, "phone")
    program = tmp_path / "bin" / "adb"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'no rights to the bus' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    with pytest.raises(DeviceUnreachableError, match="adb devices fails: no rights to the bus"):
        identity("phone")


def test_a_link_that_breaks_and_comes_back(
    start_adbd: Callable[..., Android], config: Path
) -> None:
    phone = start_adbd()
    phone.define(config, "phone")
    limits = TimeLimits(connect_s=0.5, reconnect_s=1)
    with find_device("phone").open(limits=limits) as device:
        assert isinstance(device, AdbDevice)
        threading.Timer(0.5, phone.process.kill).start()
        for _ in range(2):
            with pytest.raises(DeviceUnreachableError):
                device.run(["sleep", "20"], timeout_s=30)
        start_adbd(port=phone.port)
        time.sleep(1.0)  # a device that was given up is not asked again at once, and then once
        device.limits = USUAL
        assert device.run(["echo", "back"], timeout_s=10).stdout == b"back\n"


def test_a_frozen_device_is_disconnected_and_another_connection_reaches_it(
    start_adbd: Callable[..., Android], config: Path
) -> None:
    phone = start_adbd()
    phone.define(config, "phone")
    with find_device("phone").open(limits=TimeLimits(kill_s=1)) as device:
        threading.Timer(0.5, phone.process.send_signal, (signal.SIGSTOP,)).start()
        started = time.monotonic()
        with pytest.raises(DeviceUnreachableError, match="may still run there"):
            device.run(["sleep", "20"], timeout_s=2)
        assert time.monotonic() - started < 10
        phone.process.send_signal(signal.SIGCONT)
        assert device.run(["true"], timeout_s=10).ok
