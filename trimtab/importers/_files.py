"""The files of a network: a single file, or a text file with a weights file beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trimtab.errors import ModelFileError


def head(path: Path, size: int) -> bytes:
    """The first bytes of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def read_text(path: Path, limit_bytes: int) -> str:
    """The content of a text file; ModelFileError if it is unreadable or too large."""
    return read_bytes(path, limit_bytes).decode("utf-8-sig", errors="replace")


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """The content of a file; ModelFileError if it is unreadable or too large."""
    check_regular(path)
    try:
        size = path.stat().st_size
        if size > limit_bytes:
            raise ModelFileError(
                f"has {size} bytes, the limit for such files is {limit_bytes}",
                where=str(path),
                hint="check that it is the right file",
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL, from another file
        raise unreadable(path, error) from error


def check_regular(path: Path) -> None:
    """ModelFileError for a pipe or a device, whose content may have no end."""
    try:
        is_other = path.exists() and not path.is_file()
    except OSError as error:  # a name that is too long
        raise unreadable(path, error) from error
    if is_other:
        raise ModelFileError(
            "is not a regular file", where=str(path), hint="write the model into files first"
        )


def unreadable(path: Path, error: OSError | ValueError) -> ModelFileError:
    """The exception for a file that the operating system cannot read."""
    return ModelFileError(
        f"cannot be read: {getattr(error, 'strerror', None) or error}",
        where=str(path),
        hint="check the path and its permissions",
    )


def companion(path: Path, suffix: str, is_candidate: Callable[[Path], bool]) -> Path | None:
    """The file with `suffix` that belongs to `path`: the one with the same stem, otherwise the only
    candidate beside it; None if there is no candidate.

    ModelFileError if there are several candidates.
    """
    if (same_stem := path.with_suffix(suffix)).exists():
        return same_stem
    candidates = sorted(p for p in path.parent.glob(f"*{suffix}") if is_candidate(p))
    if len(candidates) > 1:
        raise ModelFileError(
            f"several files may belong to it: {', '.join(p.name for p in candidates)}",
            where=str(path),
            hint=f"give both files the same name: {path.stem}{suffix} beside {path.name}",
        )
    return candidates[0] if candidates else None


def text_and_weights(
    path: Path,
    text: str,
    weights: str,
    is_text: Callable[[Path], bool],
    is_weights: Callable[[Path], bool] = lambda _: True,
) -> tuple[Path, Path | None]:
    """The text file of a network and its weights file, if there is one; `path` is one of the two.

    `text` and `weights` are their suffixes. ModelFileError for weights without a text file.
    """
    if path.suffix != weights:
        return path, companion(path, weights, is_weights)
    if text_file := companion(path, text, is_text):
        return text_file, path
    raise ModelFileError(
        f"has no {text} beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {path.stem}{text}",
    )


def existing(*paths: Path | None) -> list[Path]:
    """The files that there are: a network may have no weights."""
    return [path for path in paths if path]


class WeightsFile:
    """A weights file, which may be absent. `text` and `suffix` are the suffixes of the text file
    and of the weights file.
    """

    text: str
    suffix: str

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @property
    def stored_bytes(self) -> int:
        """The size of the file; 0 if it is absent."""
        return self._path.stat().st_size if self._path else 0

    def missing(self, where: str) -> ModelFileError:
        """The exception for weights of an absent file."""
        return ModelFileError(
            "its weights are missing",
            where=where,
            hint=f"put the {self.suffix} file beside the {self.text}, under the same name",
        )

    def damaged(self, reason: str) -> ModelFileError:
        """The exception for a file that does not match the network."""
        return ModelFileError(
            f"does not contain the weights of this network: {reason}",
            where=str(self._path),
            hint=f"copy the {self.text} and the {self.suffix} of the same network again",
        )
