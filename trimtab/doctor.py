"""The requirements of this machine, and the commands that install the missing ones.

Compilers, user-mode emulators and the programs of transports are not listed here: the toolchains'
TOML files and the transports' modules name their own.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trimtab import paths, strict_json, system
from trimtab.build.toolchain import find_toolchain, list_toolchains
from trimtab.devices import list_devices
from trimtab.errors import MissingRequirementError
from trimtab.paths import PROGRAM
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Page, Table


@dataclass(frozen=True)
class Requirement:
    """A program, file or package that a machine may lack."""

    name: str
    purpose: str
    location: str  # path or version; "" if it is missing
    package: str  # of Debian and Ubuntu; "" if no package has it
    remedy: str  # the command that installs it, or what to do by hand
    needed: bool  # the main job cannot run without it
    development: bool = False  # only work on trimtab itself needs it


def _apt(package: str) -> str:
    return f"sudo apt-get install {package}"


def _program(name: str, package: str, purpose: str) -> Requirement:
    # sshd lies in /usr/sbin, which is not in everybody's PATH.
    location = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""
    return Requirement(name, purpose, location, package, _apt(package), needed=False)


def _file(path: str, package: str, purpose: str) -> Requirement:
    location = path if Path(path).is_file() else ""
    return Requirement(Path(path).name, purpose, location, package, _apt(package), needed=False)


def _python_package(name: str, purpose: str) -> Requirement:
    spec = importlib.util.find_spec(name)
    location = str(Path(spec.origin).parent) if spec and spec.origin else ""
    return Requirement(name, purpose, location, "", f"{sys.executable} -m pip install {name}", True)


def _python_headers() -> Requirement:
    header = Path(sysconfig.get_path("include"), "Python.h")
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-dev"
    location = str(header) if header.is_file() else ""
    return Requirement(
        "Python.h", "the engine for this machine", location, package, _apt(package), True
    )


def _ndk() -> Requirement:
    home = os.environ.get("ANDROID_NDK_HOME", "")
    return Requirement(
        "Android NDK",
        "toolchains "
        + ", ".join(t for t in list_toolchains() if find_toolchain(t).compiler == "ndk"),
        home if home and Path(home).is_dir() else "",
        "",
        "unpack the NDK from developer.android.com/ndk and set ANDROID_NDK_HOME to it",
        needed=False,
    )


def _sanitizers() -> Requirement:
    """The sanitizers' run-time libraries, which Debian has in a separate package."""
    library = f"libclang_rt.asan-{platform.machine()}.so"
    location, clang = "", shutil.which("clang")
    if clang:
        argv = [clang, f"-print-file-name={library}"]
        path = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
        location = path if Path(path).is_file() else ""
    package = "libclang-rt-dev"
    return Requirement(library, "the same", location, package, _apt(package), needed=False)


def _of_toolchains() -> Iterable[Requirement]:
    """The cross GCCs and the user-mode emulators that the toolchains name, each once."""
    compilers: dict[tuple[str, str], list[str]] = {}
    emulators: dict[tuple[str, str], list[str]] = {}
    for toolchain in map(find_toolchain, list_toolchains()):
        if toolchain.compiler == "gcc" and toolchain.needs:
            key = (f"{toolchain.target}-g++", toolchain.needs)
            compilers.setdefault(key, []).append(toolchain.name)
        if toolchain.emulator:
            key = (toolchain.emulator.program, toolchain.emulator.package)
            emulators.setdefault(key, []).append(toolchain.name)
    for (program, package), names in compilers.items():
        yield _program(program, package, "toolchain " + ", ".join(names))
    for (program, package), names in emulators.items():
        yield _program(program, package, "runs the binaries of " + ", ".join(names))


def _of_devices() -> Iterable[Requirement]:
    """The programs that the transports of all devices start, each once."""
    users: dict[tuple[str, str], list[str]] = {}
    for definition in list_devices():
        for needed in definition.programs.items():
            users.setdefault(needed, []).append(definition.name)
    for (program, package), names in users.items():
        yield _program(program, package, "reaches " + ", ".join(names))


def examine() -> tuple[Requirement, ...]:
    """Examines this machine; changes nothing and needs no permission."""
    python = "python{}.{}.{}".format(*sys.version_info[:3])
    return (
        Requirement("Python", "everything", f"{python} in {sys.prefix}", "", "", needed=True),
        _python_headers(),
        _python_package("ziglang", "compiler for this machine and for every musl target"),
        _python_package("cmake", "builds"),
        _python_package("ninja", "builds"),
        _python_package("onnx", "reads .onnx models"),
        *_of_toolchains(),
        *_of_devices(),
        _program("qemu-system-aarch64", "qemu-system-arm", "the ARM board with SSH (board)"),
        _program("dpkg-deb", "dpkg", "unpacks the packages of which the emulated board consists"),
        _ndk(),
        *(_of_development() if paths.is_checkout() else ()),
    )


def _of_development() -> Iterable[Requirement]:
    for program in (
        _file(
            "/usr/share/benchmark/compare.py",
            "libbenchmark-tools",
            "reads what --format google-benchmark writes (with scipy)",
        ),
        _program("sshd", "openssh-server", "tests of the SSH transport"),
        _program("ssh-keygen", "openssh-client", "keys in these tests"),
        _program("minisign", "minisign", "tests of signed statements"),
        _program("adb", "adb", "tests of the adb transport"),
        _program("busybox", "busybox", "tests of leases in the shell of small boards"),
        _program("toybox", "toybox", "Android's programs in tests of adb and of leases"),
        _program("mksh", "mksh", "Android's shell in these tests"),
        _program("tcsh", "tcsh", "tests of login shells of SSH devices"),
        _program("fish", "fish", "the same"),
        _program("shellcheck", "shellcheck", "lint of the scripts that run on devices"),
        _program("zstd", "zstd", "tests of what is packed for transit"),
        _program("cpio", "cpio", "oracle of the board's initial RAM disk"),
        _program("readelf", "binutils", "oracle of the size tests"),
        _program(
            "chromium-headless-shell",
            "chromium-headless-shell",
            "tests of pages in a browser, pictures of the README",
        ),
        _program("clang", "clang", "sanitize and fuzz (zig carries no AddressSanitizer)"),
        _sanitizers(),
        _program("llvm-cov", "llvm", "coverage"),
        _program("llvm-mca-19", "llvm-19", "modeled time on ARM cores (bench.model)"),
        _program("cc", "gcc", "tests of the example programs, built as their readers would"),
        _program("c++", "g++", "the same"),
        _program("ps", "procps", "tests of leases"),
        _program("make", "make", "the same"),
        _program("pkg-config", "pkgconf", "the same"),
    ):
        yield replace(program, development=True)


def page(requirements: Sequence[Requirement]) -> Page:
    """The requirements with their state, and the commands that install the missing ones."""
    sections: list[str | Table] = [_table([r for r in requirements if not r.development])]
    if development := [r for r in requirements if r.development]:
        sections.append(_table(development, "Only for the tests of trimtab and other work on it:"))
    if packages := _missing_packages(requirements):
        remedy = _apt(" ".join(packages))
        sections.append(f"All missing packages at once: {PROGRAM} setup, or\n  {remedy}")
    return sections


def _table(requirements: Iterable[Requirement], title: str = "") -> Table:
    rows = [
        (
            "ok" if r.location else "MISSING" if r.needed else "absent",
            r.name,
            r.purpose,
            None if r.location else r.remedy,
        )
        for r in requirements
    ]
    return Table([*map(Column, ("", "what", "needed for", "how to get it"))], rows, title)


def _missing_packages(requirements: Iterable[Requirement]) -> list[str]:
    return sorted({r.package for r in requirements if r.package and not r.location})


def as_json(requirements: Iterable[Requirement]) -> str:
    """The requirements as a JSON array of objects; `found` is the location."""
    rows = [asdict(requirement) for requirement in requirements]
    return strict_json.dumps([{**row, "found": row.pop("location")} for row in rows], indent=2)


def require(requirements: Iterable[Requirement]) -> None:
    """MissingRequirementError if the main job cannot run on this machine."""
    missing = [r for r in requirements if r.needed and not r.location]
    if missing:
        raise MissingRequirementError(
            f"the main job cannot run without {', '.join(r.name for r in missing)}",
            hint="; ".join(dict.fromkeys(r.remedy for r in missing)),
        )


def install(requirements: Iterable[Requirement], progress: Progress = SILENT) -> None:
    """Installs the missing distribution packages, and reports which.

    MissingRequirementError without apt-get or the right to use it, or if it fails.
    """
    packages = _missing_packages(requirements)
    if not packages:
        progress.note("no distribution package is missing")
        return
    command = _apt(" ".join(packages))
    system.require_linux(
        f"installing {', '.join(packages)}",
        "building for boards and running models needs none of them; for the rest, use WSL or a "
        "virtual machine (docs/hosts.md)",
    )
    if not shutil.which("apt-get"):
        raise MissingRequirementError(
            f"missing: {', '.join(packages)}, and this system has no apt-get",
            hint="install the contents of these Debian packages with your package manager",
        )
    prefix: list[str] = []
    if system.user_id() != 0:
        prefix = ["sudo", "-n"]
        if not shutil.which("sudo") or subprocess.run([*prefix, "true"], check=False).returncode:
            raise MissingRequirementError("installing packages needs root", hint=command)
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    with progress.step("update the lists of packages"):
        _run_apt([*apt, "update"], command)
    # All of these are optional, and a release may lack one of them.
    absent = [p for p in packages if not _is_known(p)]
    if absent:
        progress.note(f"this release has no {', '.join(absent)}: continuing without")
    if present := [p for p in packages if p not in absent]:
        with progress.step(f"install the distribution packages {' '.join(present)}"):
            _run_apt([*apt, "install", "-y", "--no-install-recommends", *present], command)


def _is_known(package: str) -> bool:
    shown = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)
    return shown.returncode == 0


def _run_apt(argv: Sequence[str], command: str) -> None:
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise MissingRequirementError(
            f"apt-get failed with exit code {done.returncode}", hint=command
        )
