"""Downloads Debian packages of another architecture with a private apt configuration.

It needs no root, leaves the host's dpkg and apt alone, and works on Debian and Ubuntu.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from trimtab import files
from trimtab.errors import EmulatorError

_MIRROR = "http://deb.debian.org/debian"
_RELEASE = "bookworm"  # for hosts that are not Debian
_KEYRINGS = tuple(
    Path(f"/usr/share/keyrings/debian-archive-keyring.{suffix}") for suffix in ("gpg", "pgp")
)
_APT_S = 600.0

_CONFIG = """
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
"""


class PackageSource:
    """A private apt with an empty system, so that downloads include all dependencies."""

    def __init__(self, folder: Path, arch: str) -> None:
        """Makes the configuration in `folder` and fetches the package lists of Debian's `arch`."""
        for sub in ("state/lists/partial", "cache/archives/partial"):
            (folder / sub).mkdir(parents=True, exist_ok=True)
        files.write_text(folder / "status", "")
        files.write_text(folder / "sources.list", _sources(folder))
        config = folder / "apt.conf"
        files.write_text(config, _CONFIG.format(arch=arch, folder=folder))
        self._archives = folder / "cache" / "archives"
        self._env = os.environ | {"APT_CONFIG": str(config), "LC_ALL": "C"}
        run_tool(["apt-get", "-q", "update"], env=self._env)

    def download(self, packages: Sequence[str]) -> tuple[Path, ...]:
        """Downloads `packages` with all dependencies; returns the .deb files."""
        words = ["apt-get", "-q", "-y", "--download-only", "install", *packages]
        run_tool(words, env=self._env)
        return tuple(sorted(self._archives.glob("*.deb")))

    def download_alone(self, metapackage: str) -> Path:
        """Downloads the package behind `metapackage`, without its dependencies."""
        listing = run_tool(["apt-cache", "depends", "--important", metapackage], env=self._env)
        depends = [line.split()[-1] for line in listing.splitlines() if "Depends:" in line]
        if not depends:
            raise EmulatorError(f"the Debian package {metapackage} depends on nothing")
        run_tool(["apt-get", "-q", "download", depends[0]], env=self._env, cwd=self._archives)
        return next(self._archives.glob(f"{depends[0]}_*.deb"))


@contextmanager
def open_package(package: Path) -> Iterator[tarfile.TarFile]:
    """The files of a .deb as a stream: read each member before the next one."""
    process = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
    try:
        with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
            yield tar
    except tarfile.TarError as error:
        raise EmulatorError(
            f"a downloaded package is damaged: {error}", where=str(package)
        ) from error
    finally:
        process.kill()
        process.wait()


def run_tool(words: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None) -> str:
    """Runs a packaging tool; returns its stdout."""
    try:
        result = subprocess.run(
            words,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_APT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise EmulatorError(
            f"{words[0]} is not installed, and the board is made of Debian packages",
            hint="use a Debian or Ubuntu host, or a device qemu-* (QEMU user mode)",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EmulatorError(f"no end after {_APT_S:g} s: {' '.join(words)}") from error
    if result.returncode != 0:
        raise EmulatorError(
            f"{' '.join(words)} fails: {result.stderr.strip()[-600:]}",
            hint="is the network up, and can this machine reach a Debian mirror? Without one, the "
            "devices qemu-* (QEMU user mode) still work",
        )
    return result.stdout


def _sources(folder: Path) -> str:
    """One `deb` line per archive: those of a Debian host, or Debian's own address."""
    system = _os_release()
    is_debian = system.get("ID") == "debian" and "VERSION_CODENAME" in system
    release = system["VERSION_CODENAME"] if is_debian else _RELEASE
    mirrors = (_host_mirrors(release) if is_debian else []) or [_MIRROR]
    keyring = _keyring(folder)
    return "".join(f"deb [signed-by={keyring}] {mirror} {release} main\n" for mirror in mirrors)


def _os_release() -> dict[str, str]:
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}


def _host_mirrors(release: str) -> list[str]:
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    listing = run_tool([*words, "Created-By: Packages"], env=os.environ)
    rows = [line.split() for line in listing.splitlines()]
    return list(dict.fromkeys(row[0] for row in rows if row[1:] == [release, "main"]))


def _keyring(folder: Path) -> Path:
    """Debian's archive keys; another distribution's host takes them from its own archive."""
    for keyring in _KEYRINGS:
        if keyring.is_file():
            return keyring
    unpacked = folder / "keyring"
    unpacked.mkdir(exist_ok=True)
    try:
        run_tool(
            ["apt-get", "-q", "download", "debian-archive-keyring"], env=os.environ, cwd=unpacked
        )
    except EmulatorError as error:
        raise EmulatorError(
            f"the keys of the Debian archive are missing: {error.what}",
            hint="apt-get update && apt-get install debian-archive-keyring",
        ) from error
    package = next(unpacked.glob("*.deb"))
    run_tool(["dpkg-deb", "-x", str(package), str(unpacked)], env=os.environ)
    for keyring in _KEYRINGS:
        inside = unpacked / keyring.relative_to("/")
        if inside.is_file():
            return inside
    raise EmulatorError(
        "the package debian-archive-keyring contains no keyring", where=str(package)
    )
