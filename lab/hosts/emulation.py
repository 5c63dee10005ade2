"""Programs of aarch64 on this machine: a namespace in which the kernel starts them by QEMU.

Linux 6.7 and later register interpreters (binfmt_misc) for a user namespace alone, so that nothing
changes for the rest of the machine. Making one needs root: files belong to several users.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.bare_machine import root
from trimtab import files, paths
from trimtab.errors import EmulatorError

_RELEASE = "trixie"  # its QEMU has the Neoverse N2, and describes the CPU in /proc/cpuinfo
_HEAD = r"\x7fELF\x02\x01\x01" + 9 * r"\x00" + r"\x02\x00\xb7\x00"  # of a program for aarch64
_MASK = 7 * r"\xff" + r"\x00" + 8 * r"\xff" + r"\xfe\xff\xff\xff"
# F: the kernel opens QEMU here, so that a root need not have it; P: it keeps argv[0].
_KEEP = """
echo
read -r _
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s "$1" >/proc/sys/fs/binfmt_misc/register
echo
exec cat
"""
# Users and groups are the same inside; only a process of the outer namespace may say so.
_MAP = 'for kind in uid gid; do echo 0 0 65536 >"/proc/$1/${kind}_map"; done'


def qemu() -> Path:
    """The static QEMU of Debian 13, which is unpacked in the cache; errors of `root.unpack`."""
    folder = paths.cache() / "hosts" / "qemu"
    if not folder.is_dir():
        with files.replacing_folder(folder) as fresh, tempfile.TemporaryDirectory() as scratch:
            root.unpack(_RELEASE, Path(scratch), ["--variant=extract", "--include=qemu-user"])
            shutil.copy(Path(scratch) / "usr/bin/qemu-aarch64", fresh)
    return folder / "qemu-aarch64"


@contextmanager
def namespace(program: Path) -> Iterator[Sequence[str]]:
    """The words before a command that runs where `program` is the interpreter of aarch64.

    EmulatorError if the kernel refuses.
    """
    rule = f":qemu-aarch64:M::{_HEAD}:{_MASK}:{program}:FP"
    argv = ["unshare", "--user", "--mount", "sh", "-ec", _KEEP, "sh", rule]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        assert keeper.stderr
        if keeper.stdout.readline():  # it has its namespace
            subprocess.run(["sh", "-c", _MAP, "sh", str(keeper.pid)], check=True)
            keeper.stdin.write("\n")
            keeper.stdin.flush()
        if not keeper.stdout.readline():
            raise EmulatorError(
                f"no namespace for programs of aarch64: {keeper.stderr.read().strip()}",
                hint="it needs root, and Linux 6.7 or later with binfmt_misc",
            )
        user = f"--user=/proc/{keeper.pid}/ns/user"
        yield ["nsenter", user, "--setuid=0", "--setgid=0", "--"]
