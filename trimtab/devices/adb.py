"""Transport `adb`: an Android device, by cable or by network, through adb's own client.

    transport = "adb"
    toolchain = "aarch64-linux-musl"        # static: runs on Android's kernel
    cpu = "cortex-a78"
    serial = "192.168.1.20:5555"            # one of `adb devices`, if there are several
    directory = "/data/local/tmp/trimtab"   # the default; programs must be allowed to run there
    compress = true                         # as for `ssh`

A serial with a port is the address of a device in the network: `adb connect` comes first.

Needs Android 7 or later, whose shell keeps both outputs and the exit code apart. Files go through
that shell, as for every other transport, so that their hash is checked on the device.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass

from trimtab.devices.process import ChildProcess, Sink, Source
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.remote import RemoteDevice, missing_client
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError

PROGRAMS = {"adb": "adb"}  # programs of this transport and their packages

_ADB_S = 20.0  # for a request to adb, which may have to start its server
_LOOK_S = 0.1

# States in `adb devices`: those that pass by themselves, and those that need the user.
_PASSING = ("offline", "connecting", "authorizing")
_REFUSALS = {
    "unauthorized": "unlock it, and allow debugging by this machine on its screen",
    "no permissions": "sudo apt-get install android-sdk-platform-tools-common (rules for udev), "
    "then plug it in again",
}


@dataclass(frozen=True)
class AdbOptions:
    """The transport's keys in a device's file."""

    serial: str = ""
    directory: str = "/data/local/tmp/trimtab"
    compress: bool = True


OPTIONS = AdbOptions


class AdbDevice(RemoteDevice):
    """One Android device of adb's server."""

    def __init__(self, name: str, directory: str, serial: str, *, packs: bool) -> None:
        """`serial`: "" for the only device."""
        super().__init__(name, directory, packs=packs)
        self._requested, self._serial = serial, ""
        self._address = serial if re.search(r":[0-9]+$", serial) else ""

    def _connect(self) -> None:
        if shutil.which("adb") is None:
            raise missing_client("adb", PROGRAMS["adb"], self.name)
        deadline = time.monotonic() + self.limits.connect_s
        message = self._adb("connect", self._address) if self._address else ""
        while True:
            devices = self._devices()
            serial = self._chosen(devices)
            state = devices.get(serial, "not found")
            if state == "device":
                break
            what = f"adb reports: {state}{message and f' ({message})'}"
            if state in _REFUSALS:
                raise DeviceRefusedError(what, where=self._where, hint=_REFUSALS[state])
            if time.monotonic() > deadline or not (self._address or state in _PASSING):
                raise DeviceUnreachableError(
                    what,
                    where=self._where,
                    hint="is it switched on, with debugging allowed (Developer options), and "
                    "attached? `adb devices` lists the devices",
                )
            time.sleep(_LOOK_S)
            if self._address:
                self._adb("disconnect", self._address)  # adb would keep an offline device
                message = self._adb("connect", self._address)
        if "shell_v2" not in self._adb("-s", serial, "features").split():
            raise DeviceRefusedError(
                "its adbd reports no exit codes", where=self._where, hint="Android 7 or later does"
            )
        self._serial = serial

    def _disconnect(self) -> None:
        if self._is_disconnected and self._address:  # adb would keep a frozen link
            with contextlib.suppress(DeviceUnreachableError):
                self._adb("disconnect", self._address)
        self._serial = ""  # adb's server is shared, and keeps its connections

    def _start(self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None) -> ChildProcess:
        if not self._serial:
            raise DeviceUnreachableError("not connected", where=self.name)
        argv = ["adb", "-s", self._serial, "shell", "-T", script]
        return ChildProcess(argv, stdout, stderr, stdin=stdin)

    def _cut_off(self, output: str) -> DeviceError:
        return DeviceUnreachableError(
            f"the connection broke while a command was running: {output}",
            where=self._where,
            hint="check the cable or the network, and `adb devices`",
        )

    @property
    def _where(self) -> str:
        return f"{self.name} ({self._requested or 'any device of adb'})"

    def _devices(self) -> dict[str, str]:
        """The states of all devices of adb, by serial."""
        pairs = (line.split("\t") for line in self._adb("devices").splitlines() if "\t" in line)
        return {serial: state.split(" (")[0].split(";")[0] for serial, state, *_ in pairs}

    def _chosen(self, devices: dict[str, str]) -> str:
        serial = self._requested or os.environ.get("ANDROID_SERIAL", "")
        if not serial and len(devices) > 1:
            raise DeviceError(
                f"adb has several devices: {', '.join(devices)}",
                where=self.name,
                hint="set `serial` in the device's definition to one of them",
            )
        return serial or next(iter(devices), "")

    def _adb(self, *words: str) -> str:
        """The output of an adb command."""
        try:
            result = subprocess.run(
                ["adb", *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_ADB_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeviceUnreachableError(
                f"adb {words[-1]} does not answer within {_ADB_S:g} s",
                where=self._where,
                hint="adb kill-server, and try again",
            ) from None
        if result.returncode != 0 and "connect" not in words[0]:
            raise DeviceUnreachableError(
                f"adb {' '.join(words)} fails: {(result.stderr or result.stdout).strip()[-300:]}",
                where=self._where,
                hint="`adb devices` shows the states",
            )
        return result.stdout.strip()


def create(definition: DeviceDefinition, *, trust_new: bool) -> AdbDevice:
    """Makes the device of a definition with this transport. adb has its own keys."""
    options = definition.read_options(AdbOptions)
    return AdbDevice(definition.name, options.directory, options.serial, packs=options.compress)
