"""Cache of loaded and planned models, so that the next process starts at once.

An entry is found by a key: the hash of everything that determines its content, which includes the
bytes of the model and those of trimtab (`package_digest`). The hash of a file is kept as well, as
long as the system says that the file is the same. No entry is trusted: one that is damaged
counts as missing and is made again. Several processes may use the cache at the same time: files are
complete when they get their names, and readers keep those that others delete.

The environment variable TRIMTAB_PLAN_CACHE_MB sets the size of the cache; 0 switches it off. Models
of a process with plug-ins or operators of its own are not cached.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trimtab import files, paths, plugins, strict_json
from trimtab.engine import extension
from trimtab.errors import FileAccessError, TrimtabError, UsageError
from trimtab.modelfile import check
from trimtab.modelfile.image import Image, new_image
from trimtab.program import ModelHints

VARIABLE = "TRIMTAB_PLAN_CACHE_MB"
_DEFAULT_MB = 2048

_PLAN, _LOAD, _CONTENT = ".plan", ".load", ".content"
_ALIGNMENT = 64
_CLOCK_NS = 2_000_000_000  # longer than the resolution of any file system's time
_STALE_S = 3600.0  # a partial file of this age has no writer any more

# Files that decide plans besides the package.
_RESOURCES = {
    "cores": (".toml",),
    "kernels": (".toml", ".h", ".cpp"),
    "profiles": (".toml",),
    "runtime/ops": (".toml",),
}

FileSignature = tuple[str, int, int, int, int, int]
"""Path, device, inode, size, and the times of the last change of content and of state."""
Signature = tuple[FileSignature, ...]


@dataclass(frozen=True)
class LoadFacts:
    """Facts about a loaded model without its operators: see `Program`."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_ranges: Mapping[str, tuple[float, float]]
    hints: ModelHints = field(default_factory=ModelHints)


@dataclass(frozen=True)
class PlanCache:
    """The entries in `folder`, together at most `limit_bytes`, oldest use deleted first."""

    folder: Path
    limit_bytes: int

    def package_digest(self) -> str:
        """The hash of everything of this installation that decides how a model is loaded and
        planned: the code and tables of trimtab, its engine, and what computes with them.
        """
        signature = package_signature()
        if signature not in _package_digests:
            contents = [Path(str(file[0])) for file in signature]
            hashed = self.content_digest(signature, lambda: content_digest_of(contents))
            _package_digests[signature] = digest(hashed, sys.version, np.__version__)
        return _package_digests[signature]

    def content_digest(self, signature: Signature, compute: Callable[[], str]) -> str:
        """The hash of the contents of files, which `compute` returns unless it is known for files
        with this `signature`.
        """
        names = [file[0] for file in signature]
        path = self.folder / f"{_plain_digest('content', names)}{_CONTENT}"
        now = time.time_ns()
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            content = strict_json.loads(path.read_bytes())
            if content["check"] == _plain_digest(signature, content["digest"]):
                return str(content["digest"])
        value = compute()
        # A file that changes again within the resolution of the clock keeps its signature.
        if all(file[-1] < now - _CLOCK_NS for file in signature):
            content = {"check": _plain_digest(signature, value), "digest": value}
            self._store(path, [strict_json.dumps(content).encode()])
        return value

    def facts(self, key: str) -> LoadFacts | None:
        """The facts of a model that has been loaded before; None if there are none."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            path = self.folder / f"{key}{_LOAD}"
            content = strict_json.loads(path.read_bytes())
            if content["digest"] == digest(key, content["facts"]):
                self._mark_used(path)
                return _facts(content["facts"])
        return None

    def store_facts(self, key: str, facts: LoadFacts) -> None:
        """Keeps facts for the next process."""
        plain = strict_json.loads(strict_json.dumps(asdict(facts)))
        content = strict_json.dumps({"digest": digest(key, plain), "facts": plain}).encode()
        self._store(self.folder / f"{key}{_LOAD}", [content])

    def image(self, key: str) -> Image | None:
        """The bytes of a planned program, in memory of their own; None if there are none, or if
        they are damaged.
        """
        path = self.folder / f"{key}{_PLAN}"
        try:
            with path.open("rb") as file:
                image = _read(file, key)
            check(image, str(path))
        except OSError:
            return None
        except (ValueError, TrimtabError):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        self._mark_used(path)
        return image

    def store_image(self, key: str, image: Image) -> None:
        """Keeps a planned program for the next process, if the cache is large enough."""
        if image.size <= self.limit_bytes:
            self._store(self.folder / f"{key}{_PLAN}", [_head(key), image.data])

    def _store(self, path: Path, pieces: Iterable[bytes | memoryview]) -> None:
        """Writes an entry. A cache that cannot be written is as good as none: no error."""
        with contextlib.suppress(FileAccessError, OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with files.replacing(path) as part, part.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
            self._shrink()

    def _shrink(self) -> None:
        """Deletes the entries whose last use is longest ago, and what broken writers have left."""
        entries, total = [], 0
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                if not entry.name.endswith((_PLAN, _LOAD, _CONTENT)):
                    if status.st_mtime < time.time() - _STALE_S:
                        Path(entry.path).unlink(missing_ok=True)
                    continue
                entries.append((status.st_mtime_ns, status.st_size, entry.path))
                total += status.st_size
        for _, size, path in sorted(entries):
            if total <= self.limit_bytes:
                return
            with contextlib.suppress(OSError):
                Path(path).unlink(missing_ok=True)
            total -= size

    def _mark_used(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            os.utime(path)


def current() -> PlanCache | None:
    """The cache of this process; None if it is switched off or cannot be used.

    UsageError if the environment variable is not a number.
    """
    text = os.environ.get(VARIABLE, "")
    if text and not text.isdecimal():
        raise UsageError(
            f"{text!r} is not a number of megabytes",
            where=f"environment variable {VARIABLE}",
            hint="use a whole number; 0 switches the cache off",
        )
    limit = int(text or _DEFAULT_MB) * 1_000_000
    if not limit or plugins.active() or plugins.libraries():
        return None
    return PlanCache(paths.cache() / "plans", limit)


def digest(*facts: object) -> str:
    """The hash of values: numbers, strings, None, collections and dataclasses of them."""
    return hashlib.sha256(strict_json.dumps([*map(_canonical, facts)]).encode()).hexdigest()


def _plain_digest(*facts: object) -> str:
    """The hash of strings, whole numbers, and lists and tuples of them: a thousand signatures take
    30 ms by `digest`.
    """
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def signature_of(path: str, status: os.stat_result) -> FileSignature:
    """The state of a file: another one if its content has changed."""
    return (
        *(path, status.st_dev, status.st_ino),
        *(status.st_size, status.st_mtime_ns, status.st_ctime_ns),
    )


_package_digests: dict[Signature, str] = {}


@functools.cache  # the code of a process does not change
def package_signature() -> Signature:
    """The files of this installation that decide how a model is loaded and planned."""
    files_ = [*_signatures(paths.package(), (".py", ".toml"))]
    for folder, suffixes in _RESOURCES.items():
        files_ += _signatures(paths.root() / folder, suffixes)
    single = [Path(extension().__file__)]
    onnx = importlib.util.find_spec("onnx")
    if onnx and onnx.origin:
        single.append(Path(onnx.origin).with_name("version.py"))
    files_ += [signature_of(str(path), path.stat()) for path in single]
    return tuple(files_)


def content_digest_of(contents: Iterable[Path]) -> str:
    """The hash of files and of their names, without the place of the installation."""
    running = hashlib.sha256()
    for path in contents:
        content = path.read_bytes()
        running.update(f"\0{_inside(path)}\0{len(content)}\0".encode())
        running.update(content)
    return running.hexdigest()


def _inside(path: Path) -> str:
    """The name of a file without the place of the installation."""
    bases = (base for base in (paths.package(), paths.root()) if path.is_relative_to(base))
    return path.relative_to(next(bases, path.parent)).as_posix()


def _signatures(folder: str | Path, suffixes: tuple[str, ...]) -> Iterator[FileSignature]:
    """The signatures of the files below a folder that end so, sorted by name."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.is_dir():
            yield from _signatures(entry.path, suffixes)
        elif entry.name.endswith(suffixes):
            yield signature_of(entry.path, entry.stat())


def _canonical(value: object) -> object:
    """The value in the terms of JSON, equal for equal values in all processes."""
    if is_dataclass(value) and not isinstance(value, type):
        return [
            type(value).__name__,
            {f.name: _canonical(getattr(value, f.name)) for f in fields(value)},
        ]
    if isinstance(value, Mapping):
        return sorted(
            ([_canonical(k), _canonical(v)] for k, v in value.items()), key=strict_json.dumps
        )
    if isinstance(value, set | frozenset):
        return sorted(map(_canonical, value), key=strict_json.dumps)
    if isinstance(value, list | tuple):
        return [*map(_canonical, value)]
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", repr(value)]  # JSON has no such number
    if isinstance(value, bool | str | int | float | None):
        return value
    return int(value) if isinstance(value, np.integer) else repr(value)


def _facts(content: Mapping[str, Any]) -> LoadFacts:
    ranges = {
        name: (float(low), float(high)) for name, (low, high) in content["input_ranges"].items()
    }
    ends = tuple(content["inputs"]), tuple(content["outputs"])
    hints = content["hints"]
    texts = {key: tuple(str(text) for text in hints[key]) for key in ("labels", "heads")}
    return LoadFacts(content["name"], *ends, ranges, ModelHints(**{**hints, **texts}))


def _head(key: str) -> bytes:
    """The first bytes of the entry of a planned program: its key, so that no other can be taken for
    it.
    """
    text = f"trimtab plan {key}\n".encode()
    return text + bytes(-len(text) % _ALIGNMENT)


def _read(file: BinaryIO, key: str) -> Image:
    """The image of an entry; ValueError if it is that of another key, or incomplete."""
    head = _head(key)
    size = os.fstat(file.fileno()).st_size - len(head)
    if file.read(len(head)) != head or size <= 0:
        raise ValueError("it is the entry of another program")
    image = new_image(size)
    at = 0
    while at < size:
        count = file.readinto(image[at:].data)  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it is incomplete")
        at += count
    return image
