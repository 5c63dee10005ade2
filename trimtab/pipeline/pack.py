"""Compresses a model, or the runner and model of a build, for transfer to a device."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import compression, files, modelfile, strict_json
from trimtab.build.output import RECORD
from trimtab.errors import BuildError, UsageError
from trimtab.paths import PROGRAM

MODEL_SUFFIX, FOLDER_SUFFIX = ".zst", ".tar.zst"


@dataclass(frozen=True)
class PackedFile:
    """A compressed file. `content`: the names of the files in it; `content_bytes`: their size;
    `unpack`: the command that unpacks it with zstd (and tar) alone.
    """

    path: Path
    content: Sequence[str]
    content_bytes: int
    packed_bytes: int
    sha256: str
    unpack: str

    def to_json(self) -> str:
        """The facts as JSON."""
        return strict_json.dumps(asdict(self) | {"path": str(self.path)}, indent=1)


def pack(source: Path, output: Path | None = None) -> PackedFile:
    """Compresses a .ttm file, or the runner and model in a folder of `build`, into `output`
    (default: beside the source). The stream ends in a checksum of its content.

    UsageError if the source does not exist, TtmError if the model is damaged, BuildError if the
    folder's files are not the ones that were built.
    """
    if source.is_dir():
        sources = _build_files(source)
        target = output or source.absolute().with_name(source.absolute().name + FOLDER_SUFFIX)
        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
                for path in sources:
                    tar.add(path, path.name, filter=_anonymous)
            archive.seek(0)
            _write(compression.CompressedReader(archive, compression.COMPRESSORS["zstd"]()), target)
        unpack = f"zstd -dc {target.name} | tar -x"
    elif source.is_file():
        modelfile.read(source)
        sources, target = [source], output or source.with_name(source.name + MODEL_SUFFIX)
        with source.open("rb") as model:
            _write(compression.CompressedReader(model, compression.COMPRESSORS["zstd"]()), target)
        unpack = f"zstd -d {target.name}"
    else:
        raise UsageError(
            "there is no such file or folder", where=str(source), hint=f"{PROGRAM} build makes one"
        )
    return PackedFile(
        target,
        [path.name for path in sources],
        sum(path.stat().st_size for path in sources),
        target.stat().st_size,
        files.sha256(target),
        unpack,
    )


def models(old: Path, new: Path) -> tuple[Path, Path]:
    """The model files of two builds, or these files themselves.

    UsageError if the builds have different runners, or hold their models; errors of `pack`.
    """
    if not (old.is_dir() and new.is_dir()):
        return old, new
    before, after = ({path.suffix: path for path in _build_files(f)} for f in (old, new))
    for folder, built in ((old, before), (new, after)):
        if ".ttm" not in built:
            raise UsageError("the build has no model file", where=str(folder))
    if files.sha256(before[""]) != files.sha256(after[""]):
        raise UsageError(
            "the runners of these builds differ, and a difference is of their models",
            where=str(new),
            hint=f"send the new runner, too ({PROGRAM} pack), and name the .ttm files here",
        )
    return before[".ttm"], after[".ttm"]


def _build_files(folder: Path) -> list[Path]:
    """The runner of a build and the model beside it, if any; BuildError if they have changed."""
    try:
        built = strict_json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"]
        hashes = {name: str(facts["sha256"]) for name, facts in built.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BuildError(
            f"not a build folder: {RECORD} cannot be read ({error})",
            where=str(folder),
            hint=f"{PROGRAM} build --model NET",
        ) from error
    names = [name for name in hashes if name == "trimtab-run" or name.endswith(".ttm")]
    for name in names:
        if not (folder / name).is_file() or files.sha256(folder / name) != hashes[name]:
            raise BuildError(
                f"{name} has changed since the build", where=str(folder), hint="build again"
            )
    return [folder / name for name in names]


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Clears owner and time, so that equal files give equal archives."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def _write(packed: compression.CompressedReader, target: Path) -> None:
    with files.replacing(target) as part, part.open("wb") as out:
        shutil.copyfileobj(packed, out)
