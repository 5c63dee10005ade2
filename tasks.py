"""The project's tasks, for `./inv` and for plain `invoke`. They live in `trimtab/cli/`."""

from trimtab.cli import namespace

__all__ = ["namespace"]
