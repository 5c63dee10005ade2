"""Labeled pictures of the user: their folder, and the accuracy of a network on them."""

from trimtab.labels.folder import LabeledFolder, read
from trimtab.labels.score import LabelScore, score

__all__ = ["LabelScore", "LabeledFolder", "read", "score"]
