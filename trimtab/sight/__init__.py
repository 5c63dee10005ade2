"""Pictures that are shown to a network, and its results as a table and drawn."""

from trimtab.sight.result import Sight
from trimtab.sight.shown import AUTO, Showing, read_picture, run

__all__ = ["AUTO", "Showing", "Sight", "read_picture", "run"]
