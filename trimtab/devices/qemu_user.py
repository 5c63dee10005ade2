"""Transport `qemu_user`: a foreign binary on this machine, through QEMU's user mode.

    transport = "qemu_user"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a53"
    program = "qemu-aarch64"
    cpu_model = "max"               # default: QEMU's model of the core (docs/cores.md)
    machine = "aarch64"
    sysroot = "/usr/aarch64-linux-gnu"   # only for dynamically linked binaries

Its clock says nothing about the emulated core; executed instructions are counted instead.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab import cores, paths
from trimtab.cores import Cache
from trimtab.devices import cache_log, icount, tcg
from trimtab.devices.cache_log import CacheLog
from trimtab.devices.local import LocalDevice
from trimtab.devices.protocol import CommandResult, DeviceInfo, InstructionCounts, Transcript
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.shell import quote
from trimtab.errors import DeviceError, EmulatorError

_VERSION_S = 20.0


@dataclass(frozen=True)
class QemuUserOptions:
    """The transport's keys in a device's file; `cpu_model`: "" for the model of the core."""

    program: str
    machine: str
    cpu_model: str = ""
    sysroot: str = ""
    directory: str = ""


OPTIONS = QemuUserOptions


@dataclass(frozen=True)
class QemuUser:
    """QEMU's program and the processor that it emulates."""

    program: str
    cpu_model: str
    machine: str
    sysroot: str

    def argv(self, *options: str) -> list[str]:
        """The words before the guest's own command line."""
        sysroot = ("-L", self.sysroot) if self.sysroot else ()
        return [self.program, "-cpu", self.cpu_model, *sysroot, *options]


class QemuUserDevice(LocalDevice):
    """A `LocalDevice` whose `run` starts guest binaries under QEMU."""

    _runs_itself = False

    def __init__(self, name: str, directory: str, emulator: QemuUser, cpu: str | None) -> None:
        """`cpu`: the emulated core."""
        super().__init__(name, directory, is_emulated=True)
        # Counts are exact under any load, so each emulated device has a lease of its own.
        self.lease_folder = f"{self.lease_folder or f'{directory}/lease'}-{name}"
        self.emulator = emulator
        self._cpu = cpu
        self._version = (0, 0, 0)

    def _connect(self) -> None:
        super()._connect()
        self._version = _version(self.emulator.program, self.name)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        """See `Device.run`; `argv[0]` is a program of the guest."""
        if missing := self._missing(argv, cwd):
            return missing
        words = self.emulator.argv() + list(argv)
        return super().run(words, timeout_s=timeout_s, env=env, cwd=cwd, transcript=transcript)

    def has_plugins(self) -> bool:
        """Whether this QEMU has TCG plug-ins: Debian 12's has them, those of Debian 13 and
        Ubuntu 24.04 do not.
        """
        output = subprocess.run(
            [self.emulator.program, "-d", "help"], capture_output=True, text=True, check=False
        )
        return re.search(r"^plugin\b", output.stdout + output.stderr, re.M) is not None

    def can_count_instructions(self) -> bool:
        """See `InstructionCounter.can_count_instructions`."""
        return self.has_plugins()

    def count_instructions(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        transcript: Transcript | None = None,
    ) -> tuple[CommandResult, InstructionCounts]:
        """See `InstructionCounter.count_instructions`."""
        if missing := self._missing(argv, cwd):
            return missing, InstructionCounts((), None)
        transcript = transcript or Transcript()
        with self._plugin("icount") as (words, log):
            try:
                result = super().run(
                    [*words, *argv], timeout_s=timeout_s, env=env, cwd=cwd, transcript=transcript
                )
            except DeviceError:
                # QEMU may have died in the middle of a line.
                with contextlib.suppress(EmulatorError, OSError):
                    whole = log.read_text(encoding="utf-8").rpartition("\n")[0]
                    transcript.marks += icount.parse_log(whole).marks
                raise
            counts = icount.parse_log(self._logged(log, result))
            transcript.marks += counts.marks
        return result, counts

    def simulate_caches(
        self, argv: Sequence[str], caches: Sequence[Cache], *, timeout_s: float
    ) -> tuple[CommandResult, CacheLog]:
        """See `CacheSimulator.simulate_caches`."""
        if missing := self._missing(argv, None):
            return missing, CacheLog((), {})
        options = (
            f"l{level}={c.bytes}:{c.ways}:{c.line_bytes}:{c.shared_by}"
            for level, c in enumerate(caches, 1)
        )
        with self._plugin("cache", *options) as (words, log):
            result = super().run([*words, *argv], timeout_s=timeout_s)
            return result, cache_log.parse(self._logged(log, result))

    @contextlib.contextmanager
    def _plugin(self, name: str, *options: str) -> Iterator[tuple[list[str], Path]]:
        """QEMU's words for a run with a plug-in, and the path of its log."""
        library = str(tcg.plugin(name, self._version[0])).replace(",", ",,")
        with tempfile.TemporaryDirectory(prefix=f"trimtab-{name}-") as folder:
            log = Path(folder) / "plugin.log"
            loaded = ",".join([library, *options])
            yield self.emulator.argv("-d", "plugin", "-D", str(log), "-plugin", loaded), log

    def _logged(self, log: Path, result: CommandResult) -> str:
        if not log.exists():
            raise EmulatorError(
                "the emulator's plug-in wrote no log: "
                + result.stderr.decode("utf-8", "replace").strip()[-300:],
                where=self.name,
                hint="QEMU must be built with TCG plug-ins, as Debian 12's is",
            )
        return log.read_text(encoding="utf-8", errors="replace")

    def _missing(self, argv: Sequence[str], cwd: str | None) -> CommandResult | None:
        """The result for a missing program, about which QEMU prints nothing."""
        folder = self._prefix if cwd is None else self._inside_prefix(cwd)
        quote(argv, None, folder)  # refuses malformed arguments before QEMU's name is added
        if (Path(folder) / argv[0]).is_file():
            return None
        return CommandResult(127, None, b"", f"{argv[0]}: not found\n".encode())

    def describe(self) -> DeviceInfo:
        """Facts of the emulated processor; memory and core count are this machine's."""
        host = super().describe()
        version = ".".join(str(number) for number in self._version)
        return replace(
            host,
            machine=self.emulator.machine,
            kernel=f"QEMU user mode {version} on {host.kernel}",
            cpu=self._cpu or self.emulator.cpu_model,
            governor=None,
            frequencies_mhz=(),
            temperature_celsius=None,
        )


def _version(program: str, where: str) -> tuple[int, int, int]:
    if shutil.which(program) is None:
        raise EmulatorError(
            f"{program} is not installed", where=where, hint="apt-get install qemu-user"
        )
    try:
        result = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulatorError(f"{program} does not start: {error}", where=where) from error
    version = re.search(r"version (\d+)\.(\d+)\.(\d+)", result.stdout)
    if result.returncode != 0 or not version:
        message = (result.stderr or result.stdout).strip()[-200:]
        raise EmulatorError(f"{program} --version fails: {message}", where=where)
    return int(version[1]), int(version[2]), int(version[3])


def create(definition: DeviceDefinition, *, trust_new: bool) -> QemuUserDevice:
    """Makes the device of a definition with this transport, which has no host key."""
    options = definition.read_options(QemuUserOptions)
    model = options.cpu_model or (cores.find(definition.cpu).qemu if definition.cpu else "")
    if not model:
        raise DeviceError(
            "`cpu_model` is missing",
            where=str(definition.path),
            hint="name QEMU's model, or a `cpu` whose file names one (docs/cores.md)",
        )
    emulator = QemuUser(options.program, model, options.machine, options.sysroot)
    directory = Path(options.directory or paths.cache() / "device").expanduser()
    return QemuUserDevice(definition.name, str(directory.absolute()), emulator, definition.cpu)
