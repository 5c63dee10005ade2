"""Device definitions: `devices/NAME.toml` of the project, and the user's own."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from trimtab import cores, paths, plugins
from trimtab.cores import Core
from trimtab.devices.protocol import Device
from trimtab.devices.shell import ShellDevice
from trimtab.errors import DeviceError, UsageError

T = TypeVar("T")


class Options:
    """The keys of a definition that belong to its transport; each must be read by it."""

    def __init__(self, definition: Definition) -> None:
        """Starts with no key read."""
        self._definition = definition
        self._read: set[str] = set()

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without `default` it is required."""
        return self._get(key, default, str, "a text")

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number; without `default` it is required."""
        return self._get(key, default, int, "a whole number")

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        return self._get(key, default, bool, "true or false")

    def file(self, key: str) -> Path | None:
        """The path of a file of this machine, relative to the definition's folder; None when it is
        not given.
        """
        text = self.text(key, "")
        return self._definition.path.parent / Path(text).expanduser() if text else None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty when it is not given."""
        items: list[object] = self._get(key, [], list, "a list of texts")
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) != len(items):
            raise DeviceError(f"`{key}` must be a list of texts", where=str(self._definition.path))
        return texts

    def finish(self) -> None:
        """Raises `DeviceError` for keys that the transport did not ask for: misspelt ones."""
        unknown = sorted(set(self._definition.options) - self._read)
        if unknown:
            raise DeviceError(
                f"unknown keys for transport {self._definition.transport}: {', '.join(unknown)}",
                where=str(self._definition.path),
                hint=f"known keys: {', '.join(sorted(self._read))}",
            )

    def _get(self, key: str, default: T | None, kind: type[T], what: str) -> T:
        self._read.add(key)
        value = self._definition.options.get(key, default)
        if value is None:
            raise DeviceError(
                f"`{key}` is missing",
                where=str(self._definition.path),
                hint=f"transport {self._definition.transport} needs it; see docs/devices.md",
            )
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise DeviceError(f"`{key}` must be {what}", where=str(self._definition.path))
        return value


@dataclass(frozen=True)
class Definition:
    """One device: how it is reached, and which toolchain and core to build for.

    `cpu` is the name of a core in its one spelling. `sysfs`, `lease`: the folders of a `Device`,
    "" for the usual ones. `options` are the keys that belong to the transport.
    """

    name: str
    doc: str
    transport: str
    toolchain: str
    cpu: str | None
    path: Path
    options: Mapping[str, object]
    sysfs: str = ""
    lease: str = ""

    def open(self, *, trust_new: bool = False) -> Device:
        """The device itself, not yet connected: enter it with `with`.

        `trust_new`: pin a host key that was never seen (one that changed is refused regardless).
        """
        create = cast("Callable[..., ShellDevice]", _transport(self.transport, self.path))
        device = create(self, trust_new=trust_new)
        device.sysfs = self.sysfs or device.sysfs
        device.lease_folder = self.lease or device.lease_folder
        return device

    @property
    def programs(self) -> Mapping[str, str]:
        """What the transport starts on this machine, and the distribution's packages with it."""
        module = importlib.import_module(f"trimtab.devices.{self.transport}")
        return cast("Mapping[str, str]", getattr(module, "PROGRAMS", {}))


def list_devices() -> tuple[Definition, ...]:
    """All definitions by name that can be read; the user's own replaces one of the project with the
    same name.
    """
    return _loaded()[0]


def unreadable_devices() -> Mapping[str, DeviceError]:
    """Why the definitions that `list_devices` leaves out cannot be read, by name."""
    return _loaded()[1]


def _loaded() -> tuple[tuple[Definition, ...], dict[str, DeviceError]]:
    found, errors = [], {}
    for name, path in sorted(_files().items()):
        try:
            found.append(_load(path))
        except DeviceError as error:
            errors[name] = error
    return tuple(found), errors


def find_device(name: str) -> Definition:
    """The definition called `name`; raises `DeviceError` naming the known ones."""
    files = _files()
    if name not in files:
        raise DeviceError(
            f"unknown device {name!r}",
            hint=f"known devices: {', '.join(sorted(files))}; "
            f"define your own as {paths.config() / 'devices'}/NAME.toml (docs/devices.md)",
        )
    return _load(files[name])


def _files() -> dict[str, Path]:
    own = {path.stem: path for path in (paths.root() / "devices").glob("*.toml")}
    users = {path.stem: path for path in (paths.config() / "devices").glob("*.toml")}
    return plugins.merged_files("devices", own) | users


def _load(path: Path) -> Definition:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DeviceError(
            f"cannot read the device's definition: {error}", where=str(path)
        ) from error
    common = {key: table.pop(key, None) for key in ("doc", "transport", "toolchain", "cpu")}
    common |= {key: table.pop(key, "") for key in ("sysfs", "lease")}
    for key, value in common.items():
        if value is None and key != "cpu":
            raise DeviceError(f"`{key}` is missing", where=str(path), hint="see docs/devices.md")
        if value is not None and not isinstance(value, str):
            raise DeviceError(f"`{key}` must be a text", where=str(path))
    if common["cpu"]:
        common["cpu"] = _core(common["cpu"], path).name
    definition = Definition(name=path.stem, path=path, options=table, **common)
    _transport(definition.transport, path)
    return definition


def _core(name: str, path: Path) -> Core:
    try:
        return cores.find(name)
    except UsageError as error:
        raise DeviceError(error.what, where=str(path), hint=error.hint) from None


def _transport(name: str, path: Path) -> object:
    """`create` of the transport's module, which is any in this folder that has one."""
    module_name = f"trimtab.devices.{name}"
    if re.fullmatch("[a-z][a-z0-9_]*", name) and importlib.util.find_spec(module_name):
        create = getattr(importlib.import_module(module_name), "create", None)
        if create is not None:
            return cast("object", create)
    raise DeviceError(f"unknown transport {name!r}", where=str(path), hint="see docs/devices.md")
