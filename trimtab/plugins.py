"""Plug-ins: folders that add operators, kernels, parsers, passes and more from outside the tree.

A plug-in is a folder with any of the sub-folders in `ROOMS`; their files are found by name, like
those of trimtab. docs/plugins.md shows how to write one. Instead of a folder, a plug-in can be a
shared library with operators, which the engine loads (docs/run-time-plugins.md).

Plug-ins are discovered once, at the first use, and do not change during the process: first those of
`--plugin` and `add`, then `TRIMTAB_PLUGIN_PATH`, `[tool.trimtab] plugins` of the nearest
pyproject.toml, and the entry points `trimtab.plugins` of installed packages. An error in a plug-in
of `--plugin` or `add` is raised. A plug-in from another source is excluded with a warning.

Uses the standard library only: CMake's configure step reads schemas through this module.
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
from importlib.machinery import PathFinder
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
"""The sub-folders of a plug-in, each with the pattern of its files."""

_ENTRY_POINTS = "trimtab.plugins"
_PACKAGE = "trimtab_plugins"  # of the modules of plug-ins: trimtab_plugins.<plug-in>.<room>.<file>
_DOCS = "docs/plugins.md describes plug-ins"
_RENAME = "rename one of them"

_requested: list[tuple[str, str]] = []
_only: list[list[Path]] = []
_excluded: dict[str, PluginError] = {}


class PluginWarning(UserWarning):
    """A plug-in, or a file of one, is excluded."""


@dataclass(frozen=True)
class Plugin:
    """One plug-in: its folder and its origin (`--plugin`, a file, an entry point). Its name is that
    of the folder or the entry point, as an identifier.
    """

    name: str
    folder: Path
    origin: str
    is_requested: bool = False

    def files(self, room: str) -> list[Path]:
        """The files in one of its sub-folders, sorted; PluginError for a link that leads outside
        the plug-in.
        """
        paths = sorted(p for p in (self.folder / room).glob(ROOMS[room]) if p.is_file())
        for path in paths:
            if not path.resolve().is_relative_to(self.folder):
                raise self.error("leads outside the plug-in's folder", path)
        return [path for path in paths if not path.name.startswith("_")]

    def error(self, what: str, where: Path | str, hint: str = _DOCS) -> PluginError:
        """An error of this plug-in at a file or a line."""
        return PluginError(f"plug-in {self.name}: {what}", where=str(where), hint=hint)


def add(folder: str | Path, origin: str = "trimtab.plugins.add") -> None:
    """Adds the plug-in in `folder`, or the shared library at that path.

    UsageError if plug-ins were already discovered: operators, kernels and parsers are loaded once.
    """
    if active.cache_info().currsize:
        raise UsageError(
            "plug-ins must be added before trimtab is used",
            where=str(folder),
            hint="call trimtab.plugins.add right after import trimtab",
        )
    _requested.append((str(folder), origin))


def use_only(folders: Iterable[Path]) -> None:
    """Replaces the discovery by these folders. Invalid ones are excluded: the caller has already
    reported them.
    """
    _only[:] = [list(folders)]
    active.cache_clear()


@cache
def active() -> tuple[Plugin, ...]:
    """All valid plug-ins in the order of discovery, each folder once.

    PluginError for a requested plug-in that is not a valid folder, or that has the same name as
    another one.
    """
    names: dict[str, Plugin] = {}
    for plugin in _candidates():
        other = names.setdefault(plugin.name, plugin)
        if other.folder != plugin.folder:
            _exclude(
                plugin,
                plugin.error(f"another plug-in has this name: {other.folder}", plugin.folder),
            )
        elif other is plugin and not plugin.folder.is_dir():
            _exclude(
                plugin, plugin.error(f"there is no such folder ({plugin.origin})", plugin.folder)
            )
            del names[plugin.name]
        elif other is plugin and not any((plugin.folder / room).is_dir() for room in ROOMS):
            hint = f"it has none of the sub-folders {', '.join(ROOMS)}"
            _exclude(plugin, plugin.error("is not a plug-in", plugin.folder, hint))
            del names[plugin.name]
    return tuple(names.values())


def excluded() -> dict[str, PluginError]:
    """The errors of plug-ins, or files of them, that were excluded so far, by path."""
    return dict(_excluded)


def files_in(room: str) -> Iterator[tuple[Plugin, Path]]:
    """The files in one sub-folder of all plug-ins."""
    for plugin in active():
        with isolated(plugin):
            yield from ((plugin, path) for path in plugin.files(room))


def merged_files(room: str, builtin: Mapping[str, Path]) -> dict[str, Path]:
    """The files in one sub-folder by name: the `builtin` ones, then those of plug-ins. A duplicate
    name is an error that states both paths.
    """
    result = dict(builtin)
    for plugin, path in files_in(room):
        with isolated(plugin):
            if other := result.get(path.stem):
                raise plugin.error(f"{other} has the same name", path, _RENAME)
            result[path.stem] = path
    return result


@cache
def modules(
    room: str, builtin: Path | None = None, required: tuple[str, ...] = ()
) -> dict[str, ModuleType]:
    """The imported modules in one sub-folder of all plug-ins, by name.

    Errors: a name that another plug-in or a module in the folder `builtin` has, and a module
    without one of the `required` names.
    """
    paths = {path.stem: path for path in builtin.glob("*.py")} if builtin else {}
    result: dict[str, ModuleType] = {}
    for plugin, path in files_in(room):
        with isolated(plugin):
            if other := paths.get(path.stem):
                raise plugin.error(f"{other} has the same name", path, _RENAME)
            imported = module(plugin, room, path)
            if missing := [name for name in required if not hasattr(imported, name)]:
                raise plugin.error(f"does not define {', '.join(missing)}", path)
            result[path.stem] = imported
            paths[path.stem] = path
    return result


@contextmanager
def isolated(plugin: Plugin) -> Iterator[None]:
    """Handles errors of a plug-in: they are raised if it was requested, and warnings otherwise."""
    try:
        yield
    except TrimtabError as error:
        if not isinstance(error, PluginError) or not error.what.startswith("plug-in "):
            error = plugin.error(error.what, error.where or plugin.folder, error.hint)
        _exclude(plugin, error)


@cache
def libraries() -> tuple[Plugin, ...]:
    """The plug-ins that are shared libraries."""
    return tuple(one for one in _named() if one.folder.is_file())


def for_builds() -> list[Plugin]:
    """The plug-ins that affect builds: those with operators, kernels or profiles."""
    rooms = ("ops", "kernels", "profiles")
    return [p for p in active() if any((p.folder / room).is_dir() for room in rooms)]


def for_engine() -> list[Plugin]:
    """The plug-ins whose code is compiled into the Python engine."""
    return [
        p
        for p in for_builds()
        if any((p.folder / room).is_dir() for room in ("kernels", "profiles"))
        or any((p.folder / "ops").glob("*.cpp"))
    ]


def module(plugin: Plugin, room: str, path: Path) -> ModuleType:
    """Imports a file of a plug-in as a module, once; any exception becomes a PluginError with its
    line.
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
    except Exception as error:  # importing a module may raise anything
        what = f"{type(error).__name__}: {error}"
        raise plugin.error(what, source_line(plugin.folder, error)) from error


def source_line(place: Path, error: BaseException) -> str:
    """`file:line` of the innermost frame of `error` inside a file or folder; else the path
    itself.
    """
    lines = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    own = [p for p in lines if Path(p[0]).resolve().is_relative_to(place.resolve())]
    return f"{own[-1][0]}:{own[-1][1]}" if own else str(place)


def owner(module: str) -> Plugin | None:
    """The plug-in that a module belongs to, by the module's name."""
    names = module.split(".")
    if names[0] != _PACKAGE:
        return None
    return next((plugin for plugin in active() if plugin.name == names[1]), None)


def _exclude(plugin: Plugin, error: PluginError) -> None:
    if plugin.is_requested:
        raise error
    if error.where not in _excluded:
        _excluded[error.where] = error
        warnings.warn(f"{error}", PluginWarning, stacklevel=2)


def _named() -> Iterator[Plugin]:
    if _only:
        return
    for folder, origin in _requested:
        yield _plugin(Path(folder), origin, is_requested=True)
    for folder in filter(None, os.environ.get("TRIMTAB_PLUGIN_PATH", "").split(os.pathsep)):
        yield _plugin(Path(folder), "TRIMTAB_PLUGIN_PATH")


def _candidates() -> Iterator[Plugin]:
    for folders in _only:
        yield from (_plugin(folder, "use_only") for folder in folders)
        return
    yield from (one for one in _named() if not one.folder.is_file())
    for above in (Path.cwd(), *Path.cwd().parents):
        if (above / "pyproject.toml").is_file():
            yield from _from_pyproject(above / "pyproject.toml")
            break
    yield from _from_packages()


def _plugin(folder: Path, origin: str, name: str = "", is_requested: bool = False) -> Plugin:
    folder = folder.expanduser().resolve()
    name = re.sub(r"\W", "_", name or folder.name).lower()
    return Plugin(name, folder, origin, is_requested)


def _from_pyproject(file: Path) -> Iterator[Plugin]:
    """The plug-ins of a pyproject.toml; an unreadable file is not trimtab's business."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    folders = table.get("tool", {}).get("trimtab", {}).get("plugins", [])
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise PluginError("[tool.trimtab] plugins must be a list of folders", where=str(file))
    for folder in folders:
        yield _plugin(file.parent / folder, str(file))


def _declared_by_packages() -> bool:
    """Whether an installed package may have plug-ins. importlib.metadata, which knows all kinds of
    installations, takes 30 ms, and most machines have none.
    """
    if any(hasattr(f, "find_distributions") for f in sys.meta_path if f is not PathFinder):
        return True
    return any(
        folder.is_file() or any(map(_names_plugins, folder.glob("*-info/entry_points.txt")))
        for folder in map(Path, sys.path)
    )


def _names_plugins(entry_points: Path) -> bool:
    try:
        return _ENTRY_POINTS in entry_points.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


def _from_packages() -> Iterator[Plugin]:
    if not _declared_by_packages():
        return
    from importlib import metadata

    for point in metadata.entry_points(group=_ENTRY_POINTS):
        origin = f"entry point {point.name} = {point.value}"
        try:
            package = importlib.import_module(point.module)
            folder = Path(next(iter(package.__path__)))
        except Exception as error:  # importing a package may raise anything
            broken = Plugin(point.name, Path(point.module), origin)
            _exclude(broken, broken.error(f"cannot be imported: {error}", origin))
        else:
            yield _plugin(folder, origin, point.name)
