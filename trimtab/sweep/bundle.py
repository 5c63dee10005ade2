"""Files that travel between processes: by their paths within one, with their bytes to another."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from trimtab import files
from trimtab.errors import FileAccessError


class Bundle:
    """Some files under a name, without folders. Pickled it holds their bytes and rights."""

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        """Files that are there."""
        self.name = name
        self._paths = tuple(paths)
        self._content: dict[str, tuple[bytes, int]] = {}

    @staticmethod
    def of_folder(folder: Path) -> Bundle:
        """All files of a folder, under its name."""
        with files.access(folder):
            return Bundle(folder.name, sorted(p for p in folder.iterdir() if p.is_file()))

    def into(self, store: Path) -> Path:
        """The folder of the bundle in `store`, which is filled if it is not there; FileAccessError
        when that is refused.
        """
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
        read = {p.name: (p.read_bytes(), p.stat().st_mode & 0o777) for p in self._paths}
        return self.name, {**self._content, **read}

    def __setstate__(self, state: tuple[str, dict[str, tuple[bytes, int]]]) -> None:
        self.name, self._content = state
        self._paths = ()
