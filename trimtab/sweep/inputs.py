"""The key of a cell's build: a hash of everything that determines the result.

What belongs to trimtab (`source_hash`) travels with the tasks of a sweep, because every worker must
have the same. The rest (`digest`) is read on the machine that starts the sweep.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from trimtab import __version__, files, importers, paths, plan_cache, plugins
from trimtab.build import compiler
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import FileAccessError, UsageError
from trimtab.pipeline.resolve import find_target, model_path
from trimtab.profile import find_profile
from trimtab.sweep.matrix import Cell

FOLDERS = ("runtime", "kernels", "toolchains", "cores", "profiles")
# The rooms of plug-ins without influence on a build.
OTHER_ROOMS = frozenset(("devices", "reports", "tests/cases"))
# Packages that compute what a build contains: constants, and the outputs that it must have.
_PACKAGES = ("numpy", "onnx", "onnxruntime")


def digest(cell: Cell, sources: str) -> str:
    """The hash of all inputs of a cell's build: its configuration and the contents of its files,
    the target as the planner sees it, the compiler, the packages, and trimtab (`source_hash`).

    FileAccessError for a file that cannot be read, ModelFileError for an incomplete model.
    """
    model, toolchain = model_path(cell.model), find_toolchain(cell.toolchain or "host")
    others = [Path(name) for name in (cell.plan_file, cell.calibration) if name]
    target = find_target(cell.toolchain, cell.cpu, cell.threads)
    contents = [_contents(model.parent, importers.files(model))]
    contents += [_contents(path.parent, _below(path)) for path in others]
    return plan_cache.digest(
        *(sources, platform.python_version(), [installed_version(name) for name in _PACKAGES]),
        *(cell.configuration, contents),
        find_profile(cell.profile).digest() if cell.profile else "",
        *(target, target.bandwidth_core),
        compiler.facts(toolchain, cell.cpu),
    )


def check_sources(expected: str) -> None:
    """Raises UsageError if this trimtab differs from the one that started the sweep."""
    if expected != source_hash():
        raise UsageError(
            "this worker's trimtab or its plug-ins differ from those that started the sweep",
            hint="install the same version, or check out the same commit, and restart the worker",
        )


def source_hash() -> str:
    """Hash of every file of this trimtab and its plug-ins that may influence the result of a build.

    The places of checkout and plug-ins do not matter.
    """
    root = paths.root()
    sources = [root / "CMakeLists.txt", *(p for name in FOLDERS for p in _below(root / name))]
    facts = [package_code(), _contents(root, sources)]
    for plugin in plugins.active():
        rooms = (plugin.folder / room for room in plugins.ROOMS if room not in OTHER_ROOMS)
        own = (path for room in rooms if room.is_dir() for path in _below(room))
        facts += [plugin.name, _contents(plugin.folder, own)]
    facts += [_contents(one.folder.parent, [one.folder]) for one in plugins.libraries()]
    return plan_cache.digest(*facts)[:24]


@functools.cache
def package_code() -> str:
    """Hash of the package's modules, once: the code of a process does not change with them."""
    package = paths.package()
    modules = (p for p in package.rglob("*.py") if "_resources" not in p.parts)
    return plan_cache.digest(__version__, _contents(package, modules))


def _below(path: Path) -> list[Path]:
    """The file, or all files of the folder."""
    return [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]


def _contents(folder: Path, contents: Iterable[Path]) -> str:
    """Names inside a folder with the hashes of the files; FileAccessError if one is unreadable."""
    own = sorted(path for path in contents if "__pycache__" not in path.parts)
    try:
        return " ".join(f"{p.relative_to(folder).as_posix()}:{files.sha256(p)}" for p in own)
    except OSError as error:
        raise FileAccessError(
            f"cannot be read: {error.strerror}",
            where=str(error.filename),
            hint="check the path and its permissions",
        ) from error


def installed_version(package: str) -> str:
    """The version of a package, "" if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
