"""Files that travel between processes: as paths within one, as bytes to another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab import files
from trimtab.errors import FileAccessError


class FileBundle:
    """A named set of files by their paths inside a folder. Its pickle holds their bytes and
    permissions.
    """

    def __init__(self, name: str, folder: Path, paths: Sequence[Path]) -> None:
        """`paths` are existing files in `folder` or below."""
        self.name = name
        self._paths = {path.relative_to(folder).as_posix(): path for path in paths}
        self._content: dict[str, tuple[bytes, int]] = {}

    @staticmethod
    def of_folder(folder: Path) -> FileBundle:
        """All files of a folder, under the folder's name."""
        with files.access(folder):
            own = sorted(p for p in folder.iterdir() if p.is_file())
            return FileBundle(folder.name, folder, own)

    def into(self, store: Path) -> Path:
        """The bundle's folder in `store`, written unless it exists. Raises FileAccessError."""
        folder = store / self.name
        if folder.is_dir():
            return folder
        with files.replacing_folder(folder, error=FileAccessError) as fresh:
            for name, path in self._paths.items():
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, fresh / name)
            for name, (data, mode) in self._content.items():
                files.write_bytes(fresh / name, data, mode=mode)
        return folder

    def __getstate__(self) -> tuple[str, dict[str, tuple[bytes, int]]]:
        contents = {
            name: (path.read_bytes(), path.stat().st_mode & 0o777)
            for name, path in self._paths.items()
        }
        return self.name, {**self._content, **contents}

    def __setstate__(self, state: tuple[str, dict[str, tuple[bytes, int]]]) -> None:
        self.name, self._content = state
        self._paths = {}
