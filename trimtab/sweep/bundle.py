"""Files that travel between processes: as paths within one, as bytes to another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab import files
from trimtab.errors import FileAccessError


class FileBundle:
    """A named set of files without folders. Its pickle holds their bytes and permissions."""

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        """`paths` are existing files."""
        self.name = name
        self._paths = tuple(paths)
        self._content: dict[str, tuple[bytes, int]] = {}

    @staticmethod
    def of_folder(folder: Path) -> FileBundle:
        """All files of a folder, under the folder's name."""
        with files.access(folder):
            return FileBundle(folder.name, sorted(p for p in folder.iterdir() if p.is_file()))

    def into(self, store: Path) -> Path:
        """The bundle's folder in `store`, written unless it exists. Raises FileAccessError."""
        folder = store / self.name
        if folder.is_dir():
            return folder
        with files.replacing_folder(folder, error=FileAccessError) as fresh:
            for path in self._paths:
                shutil.copy2(path, fresh / path.name)
            for name, (data, mode) in self._content.items():
                files.write_bytes(fresh / name, data, mode=mode)
        return folder

    def __getstate__(self) -> tuple[str, dict[str, tuple[bytes, int]]]:
        contents = {p.name: (p.read_bytes(), p.stat().st_mode & 0o777) for p in self._paths}
        return self.name, {**self._content, **contents}

    def __setstate__(self, state: tuple[str, dict[str, tuple[bytes, int]]]) -> None:
        self.name, self._content = state
        self._paths = ()
