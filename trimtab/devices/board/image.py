"""Makes the QEMU board's kernel, initramfs and keys from Debian packages.

The initramfs holds busybox, dropbear, glibc and libstdc++ (for dynamically linked binaries) and the
kernel modules for the network. The download is 26 MB for aarch64.
"""

from __future__ import annotations

import fnmatch
import hashlib
import lzma
import posixpath
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from trimtab import files
from trimtab.devices import scripts
from trimtab.devices.board.cpio import CpioWriter
from trimtab.devices.board.debian import PackageSource, open_package
from trimtab.errors import EmulatorError
from trimtab.progress import Progress

READY_LINE = "trimtab board is ready"
KERNEL, INITRD, CLIENT_KEY, HOST_KEY = "vmlinuz", "initrd", "id_ed25519", "host_key.pub"


@dataclass(frozen=True)
class BoardMachine:
    """One architecture: Debian's name, the kernel's metapackage, QEMU's program and core."""

    debian_arch: str
    kernel_package: str
    program: str
    cpu_model: str


MACHINES = {
    # The cloud kernel is a third of the size of the general one, and sufficient.
    "aarch64": BoardMachine(
        "arm64", "linux-image-cloud-arm64", "qemu-system-aarch64", "cortex-a53"
    ),
    "armv7": BoardMachine("armhf", "linux-image-armmp", "qemu-system-arm", "cortex-a15"),
}

_PACKAGES = ("busybox-static", "dropbear-bin", "libstdc++6")
_PROGRAMS = (
    "usr/bin/busybox",
    "usr/sbin/dropbear",
    "usr/lib/ld-linux*.so*",
    "usr/lib/*-linux-gnu*/*.so*",
)
# In loading order. Built-in modules of a kernel have no file.
_MODULES = (
    "virtio",
    "virtio_ring",
    "virtio_mmio",
    "failover",
    "net_failover",
    "virtio_net",
)
_INITTAB = "::sysinit:/etc/rc\n"
_RC = scripts.FOLDER / "board_rc.sh"


def recipe() -> str:
    """A short hash of everything in this package that an image depends on."""
    texts = Path(__file__).read_bytes() + _RC.read_bytes()
    return hashlib.sha256(texts).hexdigest()[:12]


def build(arch: str, work: Path, image: Path, progress: Progress) -> None:
    """Downloads into `work` and makes the folder `image`, complete or not at all.

    Raises `EmulatorError` if packages cannot be downloaded or lack a file.
    """
    machine = MACHINES[arch]
    with progress.step(f"download Debian packages for {machine.debian_arch} into {work}"):
        source = PackageSource(work / "apt", machine.debian_arch)
        packages = source.download(_PACKAGES)
        kernel_package = source.download_alone(machine.kernel_package)
    with (
        progress.step("make kernel, initramfs and keys"),
        files.replacing_folder(image, error=EmulatorError) as fresh,
    ):
        modules = _unpack_kernel(kernel_package, fresh / KERNEL)
        client_key = _ed25519(fresh / CLIENT_KEY)
        host_key = Ed25519PrivateKey.generate()
        files.write_text(fresh / HOST_KEY, _public_text(host_key) + "\n")
        with files.replacing(fresh / INITRD) as part, part.open("wb") as file:
            cpio = CpioWriter(file)
            _write_skeleton(cpio)
            cpio.file("etc/authorized_keys", f"{client_key}\n".encode(), 0o600)
            cpio.file("etc/dropbear_host_key", _dropbear_key(host_key), 0o600)
            for name, content in modules.items():
                cpio.file(f"modules/{name}.ko", content)
            _copy_programs(cpio, (package for package in packages if package != kernel_package))
            cpio.close()


def _write_skeleton(cpio: CpioWriter) -> None:
    for folder in ("usr", "usr/bin", "usr/sbin", "usr/lib", "dev", "proc", "sys", "etc", "modules"):
        cpio.directory(folder)
    cpio.directory("root", 0o700)
    cpio.directory("tmp", 0o1777)
    for link in ("bin", "sbin", "lib"):
        cpio.symlink(link, f"usr/{link}")
    cpio.symlink("init", "bin/busybox")
    cpio.character_device("dev/console", 5, 1)
    cpio.symlink("usr/bin/sh", "busybox")
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    cpio.file("etc/group", b"root:x:0:\n")
    cpio.file("etc/inittab", _INITTAB.encode())
    cpio.file("etc/rc", _RC.read_bytes(), 0o755)
    cpio.file("modules/order", "".join(f"{name}\n" for name in _MODULES).encode())


def _unpack_kernel(package: Path, kernel: Path) -> dict[str, bytes]:
    """Writes the kernel; returns the network modules that it has as files."""
    modules: dict[str, bytes] = {}
    with open_package(package) as tar:
        for member in filter(tarfile.TarInfo.isreg, tar):
            path = _merged(member.name)
            stem, _, suffix = posixpath.basename(path).partition(".ko")
            if fnmatch.fnmatch(path, "boot/vmlinuz-*"):
                files.write_bytes(kernel, _content(tar, member))
            elif stem.replace("-", "_") in _MODULES and suffix in {"", ".xz"}:
                content = _content(tar, member)
                modules[stem] = lzma.decompress(content) if suffix else content
    if not kernel.exists():
        raise EmulatorError("the kernel's package contains no boot/vmlinuz-*", where=str(package))
    return modules


def _copy_programs(cpio: CpioWriter, packages: Iterable[Path]) -> None:
    folders: set[str] = {"usr/lib"}
    present: set[str] = set()
    for package in packages:
        with open_package(package) as tar:
            for member in tar:
                path = _merged(member.name)
                pattern = next((want for want in _PROGRAMS if fnmatch.fnmatch(path, want)), None)
                if pattern is None or path.count("/") != pattern.count("/"):
                    continue
                present.add(pattern)
                folder = posixpath.dirname(path)
                if pattern.endswith("/*.so*") and folder not in folders:
                    folders.add(folder)
                    cpio.directory(folder)
                if member.issym():
                    cpio.symlink(path, member.linkname)
                elif member.isreg():
                    cpio.file(path, _content(tar, member), 0o755)
    missing = [want for want in _PROGRAMS if want not in present]
    if missing:
        raise EmulatorError(f"the board's Debian packages lack {', '.join(missing)}")


def _merged(path: str) -> str:
    """The path with /bin, /sbin and /lib below /usr, as in newer releases; no leading `./`."""
    path = posixpath.normpath(path)
    return f"usr/{path}" if path.startswith(("bin/", "sbin/", "lib/")) else path


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _ed25519(path: Path) -> str:
    """Makes a private key for us; gives the line for authorized_keys."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    files.write_bytes(path, private, mode=0o600)
    return _public_text(key)


def _public_text(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _dropbear_key(key: Ed25519PrivateKey) -> bytes:
    """Dropbear's own file format (its ed25519.c): the type, then private and public half, each a
    `string` of RFC 4251, section 5.
    """
    halves = key.private_bytes_raw() + key.public_key().public_bytes_raw()
    return b"".join(len(s).to_bytes(4, "big") + s for s in (b"ssh-ed25519", halves))
