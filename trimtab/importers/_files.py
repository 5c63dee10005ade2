"""Reading the files of a network: one, or a text with its weights beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trimtab.errors import ModelFileError


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file, none when it cannot be read: to sniff at."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def read_text(path: Path, limit_bytes: int) -> str:
    """The text of a file that describes a network; ModelFileError when it cannot be one."""
    return read_bytes(path, limit_bytes).decode("utf-8-sig", errors="replace")


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """The content of a file; ModelFileError when it is unreadable or larger than any model."""
    try:
        size = path.stat().st_size
        if size > limit_bytes:
            raise ModelFileError(
                f"has {size} bytes, such files have at most {limit_bytes}",
                where=str(path),
                hint="check that it is the right file",
            )
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> ModelFileError:
    """The exception for a file that the operating system does not give."""
    return ModelFileError(
        f"cannot be read: {error.strerror}", where=str(path), hint="check the path and rights"
    )


def companion(path: Path, suffix: str, likely: Callable[[Path], bool]) -> Path | None:
    """The file with `suffix` that belongs to `path`: of the same name, else the only one beside it
    that is `likely`; None when there is none at all.

    ModelFileError when there are several.
    """
    if (twin := path.with_suffix(suffix)).exists():
        return twin
    found = sorted(p for p in path.parent.glob(f"*{suffix}") if likely(p))
    if len(found) > 1:
        raise ModelFileError(
            f"several files may belong to it: {', '.join(p.name for p in found)}",
            where=str(path),
            hint=f"give both files one name: {path.stem}{suffix} beside {path.name}",
        )
    return found[0] if found else None


def text_and_weights(
    path: Path,
    text: str,
    weights: str,
    is_text: Callable[[Path], bool],
    is_weights: Callable[[Path], bool] = lambda _: True,
) -> tuple[Path, Path | None]:
    """The text of a network, and its weights if there are any, of which `path` is one; `text` and
    `weights` are their suffixes. ModelFileError for weights without a text.
    """
    if path.suffix != weights:
        return path, companion(path, weights, is_weights)
    if found := companion(path, text, is_text):
        return found, path
    raise ModelFileError(
        f"has no {text} beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {path.stem}{text}",
    )


class WeightsFile:
    """A file of weights, or none; `text` and `suffix` are the suffixes of the network's files."""

    text: str
    suffix: str

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def missing(self, where: str) -> ModelFileError:
        """The exception for weights that are asked for when there is no file."""
        return ModelFileError(
            "its weights are missing",
            where=where,
            hint=f"put the {self.suffix} file beside the {self.text}, under the same name",
        )

    def damaged(self, reason: str) -> ModelFileError:
        """The exception for a file that holds something else."""
        return ModelFileError(
            f"does not hold the weights of this network: {reason}",
            where=str(self._path),
            hint=f"take the {self.text} and the {self.suffix} of one network, and copy them again",
        )
