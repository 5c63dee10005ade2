"""The facts of a device: the script that prints them, and its parser."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from trimtab import cores
from trimtab.devices import printed, scripts
from trimtab.devices.protocol import DeviceInfo

SYSFS = "/sys"

# Names of thermal zones and cooling devices of a processor: "soc-thermal", "bigcore0-thermal"
# (Rockchip), "BIG" (Exynos), "Processor".
CPU_SENSOR = re.compile("cpu|core|soc|x86_pkg|processor|powerclamp|^(big|mid|little)$", re.I)


def script(sysfs: str = SYSFS) -> str:
    """The script that prints the facts of the device that runs it; `sysfs` is its /sys."""
    return scripts.script("facts", sysfs)


def is_this_machine(info: DeviceInfo) -> bool:
    """Whether `info` describes the system that runs this Python."""
    try:
        return info.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return False


def parse(text: str, *, is_emulated: bool = False) -> DeviceInfo:
    """Parses the output of facts.sh. `is_emulated`: whether the definition says so.

    A machine that calls itself QEMU's `virt` board is emulated in any case.
    """
    values: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := re.match("([^=:]*)[=:](.*)", line):
            values.setdefault(match[1].strip(), []).append(match[2].strip())

    def first(key: str) -> str | None:
        return next(iter(values.get(key, [])), None)

    memory_kib = printed.number((first("MemTotal") or "").removesuffix(" kB"))
    khz = [printed.number(value) for value in values.get("khz", [])]
    processors = values.get("processor")
    return DeviceInfo(
        machine=first("machine") or "unknown",
        kernel=first("kernel") or "unknown",
        cpu=_cpu(values),
        cpu_count=len(processors) if processors else None,
        memory_bytes=None if memory_kib is None else memory_kib * 1024,
        boot_id=first("boot_id"),
        governor="+".join(dict.fromkeys(values.get("governor", []))) or None,
        frequencies_mhz=tuple(number / 1000 for number in khz if number is not None),
        temperature_celsius=_temperature(values.get("zone", [])),
        is_emulated=is_emulated or "emulator" in values,
    )


def _cpu(values: dict[str, list[str]]) -> str | None:
    parts = zip(values.get("CPU implementer", []), values.get("CPU part", []), strict=False)
    arm = [_arm_core(*part) for part in parts]
    # 32-bit ARM kernels print a "model name" (ARMv7 Processor rev 4), which is less specific.
    names = arm or values.get("uarch") or values.get("model name") or []
    return "+".join(dict.fromkeys(names)) or None


def _arm_core(implementer: str, part: str) -> str:
    try:
        core = cores.by_midr(int(implementer, 16), int(part, 16))
    except ValueError:
        core = None
    return core.name if core else f"arm_{implementer}_{part}"


def _temperature(zones: list[str]) -> float | None:
    readings = (
        (kind, printed.number(text)) for kind, _, text in (zone.rpartition(" ") for zone in zones)
    )
    return hottest((kind, milli) for kind, milli in readings if milli is not None)


def hottest(zones: Iterable[tuple[str, int]]) -> float | None:
    """The temperature of the hottest CPU zone in degrees Celsius; of any zone if there is none.

    `zones`: pairs of kind and thousandths of a degree.
    """
    readings = [(bool(CPU_SENSOR.search(kind)), milli / 1000) for kind, milli in zones]
    return max(readings)[1] if readings else None
