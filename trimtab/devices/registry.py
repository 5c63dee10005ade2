"""Device definitions: `devices/NAME.toml` of the project, of plug-ins and of the user."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar, cast

from trimtab import cores, paths, plugins
from trimtab.build import toolchain
from trimtab.devices.limits import USUAL, TimeLimits
from trimtab.devices.protocol import Device
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError, ToolchainError, UsageError
from trimtab.toml_table import TomlFile

T = TypeVar("T")

_DOCS = "see docs/devices.md"
_COMMON_KEYS = ("doc", "transport", "toolchain", "cpu", "sysfs", "lease")


@dataclass(frozen=True)
class DeviceDefinition:
    """One device: its transport, and the toolchain and core to build for.

    `cpu` is a core's canonical name. `sysfs` and `lease` are folders on the device, "" for the
    defaults. `options` are the keys of the transport.
    """

    name: str
    path: Path
    options: Mapping[str, object]
    transport: str
    toolchain: str
    doc: str = ""
    cpu: str | None = None
    sysfs: str = ""
    lease: str = ""

    def open(self, *, trust_new: bool = False, limits: TimeLimits = USUAL) -> Device:
        """The device, not connected yet: enter it with `with`.

        `trust_new` pins an unknown host key. A changed one is always refused. `limits`: how long it
        may take.
        """
        module = _transport(self.transport, self.path)
        create = cast("Callable[..., ShellDevice]", module.create)
        device = create(self, trust_new=trust_new)
        device.sysfs = self.sysfs or device.sysfs
        device.lease_folder = self.lease or device.lease_folder
        device.limits = limits
        return device

    def read_options(self, kind: type[T]) -> T:
        """The transport's keys as a dataclass. Raises `DeviceError` for wrong or unknown keys."""
        hint = f"transport {self.transport}: {_DOCS}"
        return TomlFile(self.path, DeviceError, hint=hint).record(kind, self.options)

    def local_path(self, text: str) -> Path | None:
        """A file of this machine; a relative path starts at the definition's folder. "" is None."""
        return self.path.parent / Path(text).expanduser() if text else None

    @property
    def programs(self) -> Mapping[str, str]:
        """Programs that the transport starts on this machine, and their distribution packages."""
        module = importlib.import_module(f"trimtab.devices.{self.transport}")
        return cast("Mapping[str, str]", getattr(module, "PROGRAMS", {}))


def list_devices() -> tuple[DeviceDefinition, ...]:
    """All readable definitions by name. The user's own replaces one of the project."""
    return _load_all()[0]


def unreadable_devices() -> Mapping[str, DeviceError]:
    """The errors of the definitions that `list_devices` leaves out, by name."""
    return _load_all()[1]


def find_device(name: str) -> DeviceDefinition:
    """The definition called `name`. Raises a `DeviceError` that lists all names."""
    files = _files()
    if name not in files:
        raise DeviceError(
            f"unknown device {name!r}",
            hint=f"known devices: {', '.join(sorted(files))}; "
            f"define your own as {paths.config() / 'devices'}/NAME.toml (docs/devices.md)",
        )
    return _load(files[name])


def _load_all() -> tuple[tuple[DeviceDefinition, ...], dict[str, DeviceError]]:
    definitions, errors = [], {}
    for name, path in sorted(_files().items()):
        try:
            definitions.append(_load(path))
        except DeviceError as error:
            errors[name] = error
    return tuple(definitions), errors


def _files() -> dict[str, Path]:
    own = {path.stem: path for path in (paths.root() / "devices").glob("*.toml")}
    users = {path.stem: path for path in (paths.config() / "devices").glob("*.toml")}
    return plugins.merged_files("devices", own) | users


def _load(path: Path) -> DeviceDefinition:
    file = TomlFile(path, DeviceError, hint=_DOCS)
    table = dict(file.table)
    common = {key: table.pop(key) for key in _COMMON_KEYS if key in table}
    if common.get("cpu"):
        common["cpu"] = _core_name(file, common["cpu"])
    definition = file.record(DeviceDefinition, common, name=path.stem, path=path, options=table)
    module = _transport(definition.transport, path)
    _check_target(definition)
    if options := getattr(module, "OPTIONS", None):
        definition.read_options(options)
    return definition


def _core_name(file: TomlFile, text: object) -> str:
    if not isinstance(text, str):
        raise file.wrong("cpu", "a string")
    try:
        return cores.find(text).name
    except UsageError as error:
        raise DeviceError(error.what, where=str(file.path), hint=error.hint) from None


def _check_target(definition: DeviceDefinition) -> None:
    """Raises `DeviceError` for an unknown toolchain, or one that cannot build for the core."""
    try:
        chosen = toolchain.find_toolchain(definition.toolchain)
        if definition.cpu:
            chosen.core(definition.cpu)
    except (ToolchainError, UsageError) as error:
        raise DeviceError(error.what, where=str(definition.path), hint=error.hint) from None


def _transport(name: str, path: Path) -> ModuleType:
    """The transport's module: any module of this package that has a function `create`."""
    module_name = f"trimtab.devices.{name}"
    if re.fullmatch("[a-z][a-z0-9_]*", name) and importlib.util.find_spec(module_name):
        module = importlib.import_module(module_name)
        if hasattr(module, "create"):
            return module
    raise DeviceError(
        f"unknown transport {name!r}",
        where=str(path),
        hint=f"use {', '.join(_transports())} ({_DOCS})",
    )


def _transports() -> list[str]:
    """The names of the modules of this package that are transports."""
    infos = pkgutil.iter_modules([str(Path(__file__).parent)])
    names = (info.name for info in infos if info.name != Path(__file__).stem)
    return [n for n in names if hasattr(importlib.import_module(f"trimtab.devices.{n}"), "create")]
