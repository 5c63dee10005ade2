"""Bare Debian systems: a folder with a release's smallest system, git, Python and CA certificates,
in which commands run as on a machine that nobody prepared.

A root is made with mmdebstrap. Commands run in it with chroot, in mount and process namespaces of
their own, with the network of this machine. Making and entering one needs root.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab.errors import BuildError, MissingRequirementError

PACKAGES = ("ca-certificates", "git", "python3")
MIRROR = "http://deb.debian.org/debian"
# Of the machine: where packages come from, and whom it trusts.
_INHERITED = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Mounts of a system, and the folder to enter; $0 is the root, the rest is the command.
_ENTER = """
set -e
mount --make-rprivate /
mount --bind "$0" "$0"  # a system has a mounted root, whose free space df tells
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
exec chroot "$0" "$@"
"""


def make(
    release: str,
    folder: Path,
    packages: Sequence[str] = (),
    *,
    architecture: str = "",
    within: Sequence[str] = (),
) -> None:
    """Makes the root of a Debian release (`bookworm`, `trixie`) with PACKAGES and `packages`.

    `architecture`: Debian's name of another one than this machine's, whose programs run `within` a
    namespace (`lab.hosts.emulation`). MissingRequirementError without mmdebstrap; BuildError with
    its last lines if it fails.
    """
    options = [f"--include={','.join([*PACKAGES, *packages])}", "--variant=minbase"]
    if architecture:
        # The namespace runs its programs, without a QEMU inside of the root.
        options += [f"--architectures={architecture}", "--skip=check/qemu"]
    unpack(release, folder, options, within)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    # A network may be behind a proxy with a certificate of its own, which this machine trusts.
    if _CERTIFICATES.is_file():
        shutil.copy(_CERTIFICATES, folder / _CERTIFICATES.relative_to("/"))


def unpack(release: str, folder: Path, options: Sequence[str], within: Sequence[str] = ()) -> None:
    """Calls mmdebstrap; the errors are those of `make`."""
    if not shutil.which("mmdebstrap"):
        raise MissingRequirementError(
            "mmdebstrap is not installed", hint="sudo apt-get install mmdebstrap"
        )
    # Its setup mounts devices, which a user namespace allows in mounts of its own.
    argv = [*within, *(["unshare", "--mount"] if within else [])]
    argv += ["mmdebstrap", *options, release, str(folder), MIRROR]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"mmdebstrap failed:\n{done.stderr[-2000:]}", where=release)


def run(
    root: Path,
    command: str,
    *,
    user: str = "root",
    cpus: Sequence[int] = (),
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
) -> int:
    """Runs a command of the shell in a root; returns its exit code.

    `user`: who runs it, made if missing, without any right to become root; `cpus`: the allowed
    processors, all by default; `log`: a file for what it prints; `within`: as for `make`.
    """
    variables = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/root" if user == "root" else f"/home/{user}",
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **(environment or {}),
    }
    script = command
    if user != "root":
        make_user = f"id {user} >/dev/null 2>&1 || useradd --create-home {user}"
        script = f"{make_user}; exec setpriv --reuid={user} --regid={user} --clear-groups"
        script += f" sh -c {shlex.quote(command)}"
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, str(root)]
    argv = [*within, *argv]
    if cpus:
        argv = ["taskset", "--cpu-list", ",".join(map(str, cpus)), *argv]
    # The shell writes the log while the command runs.
    logged = ["sh", "-c", 'log=$1; shift; exec "$@" >>"$log" 2>&1', "sh", str(log or os.devnull)]
    done = subprocess.run(
        [*logged, *argv, "sh", "-c", script], env=variables, stdin=subprocess.DEVNULL, check=False
    )
    return done.returncode
