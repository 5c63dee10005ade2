"""Compiler launcher that shares objects among build trees: the same source with the same flags is
compiled once, whichever profile a tree is for.

    compile_cache.py CACHE ROOT COMPILER ARGUMENT...

CMake runs it in place of COMPILER, in the build tree. An object is stored under the hash of the
compiler, its arguments, and the content of the source and of every header that the compiler read.
The build tree and the checkout (ROOT) are placeholders in that key, so that neither path matters.
Commands whose objects name paths (debug information, sanitizers) and commands that print a warning
are not stored. Start-up time counts, so this script imports little: neither trimtab
nor pathlib.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time

FORMAT = "1"
# Flags whose objects hold paths or whose compiler writes more than one file.
UNSHARED = ("-fsanitize", "-fprofile", "-ftest-coverage", "--coverage", "-save-temps", "-gsplit")
MAX_AGE_S = 30 * 24 * 3600


def main() -> int:
    """Runs or replays one command; returns the compiler's exit code."""
    cache, root, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    names = _file_names(command)
    if names is None:
        os.execvp(command[0], command)
    source, output, depfile = names
    folders = (os.getcwd(), root)
    key = _key(command, source, folders)
    folder = os.path.join(cache, key[:2])
    manifest = os.path.join(folder, key + ".headers")
    for headers in _header_lists(manifest):
        stored = _stored(folder, key, headers, folders)
        if stored and _replay(stored, manifest, output):
            _write_depfile(depfile, output, [_real(name, folders) for name in headers])
            return 0
    started = time.time_ns()
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    sys.stderr.buffer.write(done.stderr)
    if done.returncode or done.stderr:
        return done.returncode
    try:
        files = _read_depfile(depfile)
        # A header that changed while the compiler ran may not be the one that it read.
        is_stable = all(os.stat(name).st_mtime_ns < started for name in files)
    except OSError:
        return 0
    headers = [_neutral(name, folders) for name in files]
    if is_stable and (stored := _stored(folder, key, headers, folders)):
        _store(folder, manifest, headers, output, stored)
    return 0


def _file_names(command: list[str]) -> tuple[str, str, str] | None:
    """Source, object and dependency file of a command whose object may be shared, else None."""
    if any(word.startswith(UNSHARED) for word in command):
        return None
    debug = [word for word in command if word.startswith("-g")]
    if debug and debug[-1] != "-g0":
        return None
    try:
        source, output, depfile = (command[command.index(flag) + 1] for flag in ("-c", "-o", "-MF"))
    except (ValueError, IndexError):
        return None
    return source, output, depfile


def _neutral(text: str, folders: tuple[str, str]) -> str:
    """`text` without the build tree's path and the checkout's."""
    tree, root = folders
    return text.replace(tree, "@tree@").replace(root, "@root@")


def _real(text: str, folders: tuple[str, str]) -> str:
    tree, root = folders
    return text.replace("@tree@", tree).replace("@root@", root)


def _key(command: list[str], source: str, folders: tuple[str, str]) -> str:
    compiler = os.path.realpath(shutil.which(command[0]) or command[0])
    facts = [FORMAT, _compiler_id(compiler), *command[1:]]
    digest = hashlib.sha256(_neutral("\0".join(facts), folders).encode())
    with open(source, "rb") as file:
        digest.update(file.read())
    return digest.hexdigest()


def _compiler_id(path: str) -> str:
    """Identity of a compiler: the text of a wrapper script, or a program's size and time."""
    facts = os.stat(path)
    if facts.st_size > 1 << 16:
        return f"{path} {facts.st_size} {facts.st_mtime_ns}"
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace")


def _stored(folder: str, key: str, headers: list[str], folders: tuple[str, str]) -> str | None:
    """Path of the object for the present content of `headers`; None when a header is missing.

    Headers of the checkout are hashed by content, those of the system by size and time.
    """
    digest = hashlib.sha256(key.encode())
    for name in headers:
        digest.update(name.encode())
        path = _real(name, folders)
        try:
            if path == name and os.path.isabs(name):
                facts = os.stat(path)
                digest.update(f" {facts.st_size} {facts.st_mtime_ns}".encode())
            else:
                with open(path, "rb") as file:
                    digest.update(file.read())
        except OSError:
            return None
    return os.path.join(folder, digest.hexdigest() + ".o")


def _header_lists(manifest: str) -> list[list[str]]:
    """The sets of headers that this command has read so far, the latest first."""
    try:
        with open(manifest, encoding="utf-8") as file:
            return [line.split("\t") for line in reversed(file.read().splitlines())]
    except OSError:
        return []


def _replay(stored: str, manifest: str, output: str) -> bool:
    """Copies a stored object to `output`; False if it is not there."""
    try:
        shutil.copyfile(stored, output)
        os.utime(stored)
        os.utime(manifest)
    except OSError:
        return False
    return True


def _store(folder: str, manifest: str, headers: list[str], output: str, stored: str) -> None:
    """Adds an object. An error of the disk costs the next compilation and nothing else."""
    part = f"{stored}.{os.getpid()}"
    try:
        os.makedirs(folder, exist_ok=True)
        _prune(folder)
        shutil.copyfile(output, part)
        os.rename(part, stored)
        line = "\t".join(headers)
        if headers not in _header_lists(manifest):
            with open(manifest, "a", encoding="utf-8") as file:
                file.write(line + "\n")
    except OSError:
        if os.path.exists(part):
            os.unlink(part)


def _prune(folder: str) -> None:
    """Deletes files that no build has used for `MAX_AGE_S`."""
    oldest = time.time() - MAX_AGE_S
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat().st_mtime < oldest:
                os.unlink(entry.path)


def _read_depfile(path: str) -> list[str]:
    """The files of a Makefile rule `object: file file ...`."""
    with open(path, encoding="utf-8") as file:
        text = file.read().partition(":")[2].replace("\\\n", " ").replace("\\ ", "\0")
    return [word.replace("\0", " ") for word in text.split()]


def _write_depfile(path: str, output: str, headers: list[str]) -> None:
    names = " \\\n ".join(name.replace(" ", "\\ ") for name in headers)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{output}: {names}\n")


if __name__ == "__main__":
    sys.exit(main())
