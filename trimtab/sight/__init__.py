"""Pictures that are shown to a network, and its results as a table and drawn."""

from trimtab.quantization.picture_samples import read_pixels as read_picture
from trimtab.sight.result import Sight
from trimtab.sight.shown import AUTO, Showing, advice, run

__all__ = ["AUTO", "Showing", "Sight", "advice", "read_picture", "run"]
