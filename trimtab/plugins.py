"""Plug-ins: folders that bring operators, kernels, parsers, passes and more from outside the tree.

A plug-in is a folder with any of the rooms `ROOMS`; what is in them is found by file name, as it is
in trimtab's own. docs/plugins.md shows how one is written. A shared library with operators may be
named in the place of a folder: the engine loads it (docs/run-time-plugins.md). Which plug-ins there
are is settled when it is first asked for, and stays so for the life of the process: `--plugin` and
`add` come first, then `TRIMTAB_PLUGIN_PATH`, `[tool.trimtab] plugins` of the nearest
pyproject.toml, and the entry points `trimtab.plugins` of installed packages.

A plug-in that was named by `--plugin` or `add` and is wrong is an error. One that was only found is
left out with a warning, and everything else goes on. Standard library only: CMake's configure step
reads schemas through this.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tomllib
import traceback
import types
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from trimtab.errors import PluginError, TrimtabError, UsageError

ROOMS = {
    "ops": "*.toml",
    "kernels": "*/*",
    "functions": "*.py",
    "importers": "*.py",
    "passes": "*.py",
    "devices": "*.toml",
    "reports": "*.py",
    "toolchains": "*.toml",
    "profiles": "*.toml",
    "cores": "*.toml",
    "tests/cases": "*.py",
}
"""The rooms of a plug-in, and the files in them that are its parts."""

_ENTRY_POINTS = "trimtab.plugins"
_PACKAGE = "trimtab_plugins"  # of the modules of plug-ins: trimtab_plugins.<plug-in>.<room>.<file>
_DOCS = "docs/plugins.md says what a plug-in is"
_OTHERWISE = "call one of them otherwise"

_asked: list[tuple[str, str]] = []
_settled: list[list[Path]] = []
_left_out: dict[str, PluginError] = {}


class PluginWarning(UserWarning):
    """A plug-in, or a part of it, is left out."""


@dataclass(frozen=True)
class Plugin:
    """One plug-in: its folder, and how it was found (`--plugin`, a file, an entry point). Its name
    is the folder's, or the entry point's, spelled as an identifier.
    """

    name: str
    folder: Path
    origin: str
    is_asked_for: bool = False

    def files(self, room: str) -> list[Path]:
        """The files of one of its rooms, sorted; PluginError for what lies outside its folder."""
        found = sorted(p for p in (self.folder / room).glob(ROOMS[room]) if p.is_file())
        for path in found:
            if not path.resolve().is_relative_to(self.folder):
                raise self.error("leads outside the plug-in's folder", path)
        return [path for path in found if not path.name.startswith("_")]

    def error(self, what: str, where: Path | str, hint: str = _DOCS) -> PluginError:
        """What is wrong with it, at a file or a line of one."""
        return PluginError(f"plug-in {self.name}: {what}", where=str(where), hint=hint)


def add(folder: str | Path, origin: str = "trimtab.plugins.add") -> None:
    """Has trimtab use the plug-in in `folder`, or the shared library of that path; before anything
    else is asked of trimtab.

    UsageError when it is too late for that: operators, kernels and parsers are looked up once.
    """
    if active.cache_info().currsize:
        raise UsageError(
            "plug-ins are added before trimtab is used",
            where=str(folder),
            hint="call trimtab.plugins.add right after import trimtab",
        )
    _asked.append((str(folder), origin))


def use_only(folders: Iterable[Path]) -> None:
    """Settles that there are these plug-ins and no others, of which those that are wrong are left
    out: who found them has said so.
    """
    _settled[:] = [list(folders)]
    active.cache_clear()


@cache
def active() -> tuple[Plugin, ...]:
    """The plug-ins that are there, in the order in which they are found; a folder counts once.

    PluginError for a folder asked for that is none, and for two plug-ins of one name.
    """
    names: dict[str, Plugin] = {}
    for plugin in _candidates():
        other = names.setdefault(plugin.name, plugin)
        if other.folder != plugin.folder:
            _refuse(
                plugin,
                plugin.error(f"there is one of its name in {other.folder}", plugin.folder),
            )
        elif other is plugin and not plugin.folder.is_dir():
            _refuse(
                plugin, plugin.error(f"there is no such folder ({plugin.origin})", plugin.folder)
            )
            del names[plugin.name]
        elif other is plugin and not any((plugin.folder / room).is_dir() for room in ROOMS):
            rooms = ", ".join(ROOMS)
            _refuse(plugin, plugin.error("is no plug-in", plugin.folder, f"it has none of {rooms}"))
            del names[plugin.name]
    return tuple(names.values())


def excluded() -> dict[str, PluginError]:
    """What is wrong with plug-ins, or parts of them, that were left out so far, by their places."""
    return dict(_left_out)


def files_in(room: str) -> Iterator[tuple[Plugin, Path]]:
    """The files of one room in all plug-ins."""
    for plugin in active():
        with isolated(plugin):
            yield from ((plugin, path) for path in plugin.files(room))


def merged_files(room: str, own: Mapping[str, Path]) -> dict[str, Path]:
    """The files of one room by their names: trimtab's `own`, then those of plug-ins. A name that is
    taken is an error that names both places.
    """
    result = dict(own)
    for plugin, path in files_in(room):
        with isolated(plugin):
            if other := result.get(path.stem):
                raise plugin.error(f"there is {other}, too", path, _OTHERWISE)
            result[path.stem] = path
    return result


@cache
def modules(
    room: str, own: Path | None = None, needs: tuple[str, ...] = ()
) -> dict[str, ModuleType]:
    """The modules of one room in all plug-ins by their names, imported once. A name that is taken,
    by another plug-in or by one of trimtab's modules in the folder `own`, is an error that names
    both places; so is a module that lacks a name it `needs`.
    """
    taken = {path.stem: path for path in own.glob("*.py")} if own else {}
    result: dict[str, ModuleType] = {}
    for plugin, path in files_in(room):
        with isolated(plugin):
            if other := taken.get(path.stem):
                raise plugin.error(f"there is {other}, too", path, _OTHERWISE)
            found = module(plugin, room, path)
            if missing := [name for name in needs if not hasattr(found, name)]:
                raise plugin.error(f"has no {' and no '.join(missing)}", path)
            result[path.stem] = found
            taken[path.stem] = path
    return result


@contextmanager
def isolated(plugin: Plugin) -> Iterator[None]:
    """What is wrong inside is an error where the plug-in was asked for, else a warning."""
    try:
        yield
    except TrimtabError as error:
        if not isinstance(error, PluginError) or not error.what.startswith("plug-in "):
            error = plugin.error(error.what, error.where or plugin.folder, error.hint)
        _refuse(plugin, error)


@cache
def libraries() -> tuple[Plugin, ...]:
    """The shared libraries that were named in the place of folders."""
    return tuple(one for one in _named() if one.folder.is_file())


def for_builds() -> list[Plugin]:
    """The plug-ins that a build must know of: those with operators, kernels or profiles."""
    rooms = ("ops", "kernels", "profiles")
    return [p for p in active() if any((p.folder / room).is_dir() for room in rooms)]


def for_engine() -> list[Plugin]:
    """Those of them that bring what an engine is compiled with."""
    return [
        p
        for p in for_builds()
        if any((p.folder / room).is_dir() for room in ("kernels", "profiles"))
        or any((p.folder / "ops").glob("*.cpp"))
    ]


def module(plugin: Plugin, room: str, path: Path) -> ModuleType:
    """The module in one file of a plug-in, imported once; PluginError for whatever goes wrong, with
    its line.
    """
    for name, folder in ((_PACKAGE, []), (f"{_PACKAGE}.{plugin.name}", [str(plugin.folder)])):
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = folder
            sys.modules[name] = package
    try:
        return importlib.import_module(
            f"{_PACKAGE}.{plugin.name}.{room.replace('/', '.')}.{path.stem}"
        )
    except TrimtabError:
        raise
    except Exception as error:  # whatever the module does when it is imported
        what = f"{type(error).__name__}: {error}"
        raise plugin.error(what, source_line(plugin.folder, error)) from error


def source_line(place: Path, error: BaseException) -> str:
    """`file:line` of the code in a folder, or in a file, that `error` came through last; else the
    place itself.
    """
    places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    own = [p for p in places if Path(p[0]).resolve().is_relative_to(place.resolve())]
    return f"{own[-1][0]}:{own[-1][1]}" if own else str(place)


def owner(module: str) -> Plugin | None:
    """The plug-in that a module belongs to, by the module's name."""
    names = module.split(".")
    if names[0] != _PACKAGE:
        return None
    return next((plugin for plugin in active() if plugin.name == names[1]), None)


def _refuse(plugin: Plugin, error: PluginError) -> None:
    if plugin.is_asked_for:
        raise error
    if error.where not in _left_out:
        _left_out[error.where] = error
        warnings.warn(f"{error}", PluginWarning, stacklevel=2)


def _named() -> Iterator[Plugin]:
    if _settled:
        return
    for folder, origin in _asked:
        yield _plugin(Path(folder), origin, is_asked_for=True)
    for folder in filter(None, os.environ.get("TRIMTAB_PLUGIN_PATH", "").split(os.pathsep)):
        yield _plugin(Path(folder), "TRIMTAB_PLUGIN_PATH")


def _candidates() -> Iterator[Plugin]:
    for only in _settled:
        yield from (_plugin(folder, "use_only") for folder in only)
        return
    yield from (one for one in _named() if not one.folder.is_file())
    for above in (Path.cwd(), *Path.cwd().parents):
        if (above / "pyproject.toml").is_file():
            yield from _of_project(above / "pyproject.toml")
            break
    yield from _of_packages()


def _plugin(folder: Path, origin: str, name: str = "", is_asked_for: bool = False) -> Plugin:
    folder = folder.expanduser().resolve()
    name = re.sub(r"\W", "_", name or folder.name).lower()
    return Plugin(name, folder, origin, is_asked_for)


def _of_project(file: Path) -> Iterator[Plugin]:
    """Those that a pyproject.toml names; one that cannot be read names none: it is not for us."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    named = table.get("tool", {}).get("trimtab", {}).get("plugins", [])
    if not isinstance(named, list) or not all(isinstance(folder, str) for folder in named):
        raise PluginError("[tool.trimtab] plugins must be a list of folders", where=str(file))
    for folder in named:
        yield _plugin(file.parent / folder, str(file))


def _of_packages() -> Iterator[Plugin]:
    from importlib import metadata

    for point in metadata.entry_points(group=_ENTRY_POINTS):
        origin = f"entry point {point.name} = {point.value}"
        try:
            package = importlib.import_module(point.module)
            folder = Path(next(iter(package.__path__)))
        except Exception as error:  # whatever the package does when it is imported
            broken = Plugin(point.name, Path(point.module), origin)
            _refuse(broken, broken.error(f"cannot be imported: {error}", origin))
        else:
            yield _plugin(folder, origin, point.name)
