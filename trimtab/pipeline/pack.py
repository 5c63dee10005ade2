"""Packs what is shipped for its way to the device: a model, or the runner and model of a build."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import compression, files, modelfile
from trimtab.build.builder import RECORD
from trimtab.errors import BuildError, UsageError

MODEL_SUFFIX, FOLDER_SUFFIX = ".zst", ".tar.zst"


@dataclass(frozen=True)
class Packed:
    """A packed file. `content`: what is in it; `content_bytes`: what that weighs unpacked;
    `unpack`: the command that unpacks it, where nothing but zstd (and tar) is needed.
    """

    path: Path
    content: Sequence[str]
    content_bytes: int
    packed_bytes: int
    sha256: str
    unpack: str

    def to_json(self) -> str:
        """For programs."""
        return json.dumps(asdict(self) | {"path": str(self.path)}, indent=1)


def pack(source: Path, output: Path | None = None) -> Packed:
    """Packs a .ttm file, or what is shipped of a folder that `build` left, into `output` (default:
    beside the source). The stream ends in a checksum of its content.

    UsageError when there is nothing to pack, TtmError for a damaged model, BuildError for a folder
    whose files are not those that were built.
    """
    if source.is_dir():
        shipped = _shipped(source)
        target = output or source.absolute().with_name(source.absolute().name + FOLDER_SUFFIX)
        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
                for path in shipped:
                    tar.add(path, path.name, filter=_anonymous)
            archive.seek(0)
            _write(compression.CompressedReader(archive, compression.COMPRESSORS["zstd"]()), target)
        unpack = f"zstd -dc {target.name} | tar -x"
    elif source.is_file():
        modelfile.read(source)
        shipped, target = [source], output or source.with_name(source.name + MODEL_SUFFIX)
        with source.open("rb") as model:
            _write(compression.CompressedReader(model, compression.COMPRESSORS["zstd"]()), target)
        unpack = f"zstd -d {target.name}"
    else:
        raise UsageError(
            "there is no such file or folder", where=str(source), hint="./inv build makes one"
        )
    return Packed(
        target,
        [path.name for path in shipped],
        sum(path.stat().st_size for path in shipped),
        target.stat().st_size,
        files.sha256(target),
        unpack,
    )


def _shipped(folder: Path) -> list[Path]:
    """The runner of a build and, where it has one beside it, its model: as they were built."""
    try:
        built = json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
        wanted = {name: str(facts["sha256"]) for name, facts in built.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BuildError(
            f"not a folder that a build left: {RECORD} cannot be read ({error})",
            where=str(folder),
            hint="./inv build --model NET",
        ) from error
    names = [name for name in wanted if name == "trimtab-run" or name.endswith(".ttm")]
    for name in names:
        if not (folder / name).is_file() or files.sha256(folder / name) != wanted[name]:
            raise BuildError(
                f"{name} is not the one that was built", where=str(folder), hint="build again"
            )
    return [folder / name for name in names]


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner and time, so that equal files make equal archives."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _write(packed: compression.CompressedReader, target: Path) -> None:
    with files.replacing(target) as part, part.open("wb") as out:
        shutil.copyfileobj(packed, out)
