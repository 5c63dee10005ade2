"""The persons of PoseNet's maps, by the formulas of PersonLab (Papandreou et al. 2018, 3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tests.heads.reference import Array, sigmoid

CHAINS = ((0, 1, 3), (0, 2, 4), (0, 5, 7, 9), (5, 11, 13, 15), (0, 6, 8, 10), (6, 12, 14, 16))
EDGES = [edge for chain in CHAINS for edge in pairwise(chain)]
POINTS = 17
STRIDE, RADIUS, REFINEMENTS = 8, 20, 5


def seen(persons: Array, size: tuple[int, int], rng: np.random.Generator) -> tuple[Array, ...]:
    """The maps of a network for persons [persons, points, (y, x)], in pixels: logits [17, h, w],
    offsets [34, h, w], displacements [64, h, w], with some noise.
    """
    h, w = size
    places = np.moveaxis(np.mgrid[:h, :w], 0, -1) * STRIDE
    away = persons[:, :, None, None] - places  # [persons, points, h, w, 2]
    square = (away**2).sum(-1)
    nearest = square.argmin(0)  # [points, h, w]
    heat = 3 - np.sqrt(square.min(0)) / 4 + rng.normal(0, 0.3, (POINTS, h, w))
    offsets = np.take_along_axis(away, nearest[None, ..., None], 0)[0]
    ways = []
    for direction in (1, -1):
        for a, b in (edge[::direction] for edge in EDGES):
            step = persons[:, b] - persons[:, a]
            ways.append(step[nearest[a]])
    displacements = np.stack(ways).reshape(2, len(EDGES), h, w, 2)
    moves = np.moveaxis(offsets, -1, 0), np.moveaxis(displacements, -1, 1)
    near, far = (x + rng.normal(0, 0.4, x.shape) for x in moves)
    return heat, near.reshape(-1, h, w), far.reshape(-1, h, w)


def sample(x: Array, at: Array) -> Array:
    """Bilinear values of [c, h, w] at a place (y, x)."""
    (y, x0), (v, u) = at.astype(int), at % 1
    last = np.array(x.shape[1:]) - 1
    below, right = min(y + 1, last[0]), min(x0 + 1, last[1])
    top = x[:, y, x0] * (1 - u) + x[:, y, right] * u
    bottom = x[:, below, x0] * (1 - u) + x[:, below, right] * u
    result: Array = top * (1 - v) + bottom * v
    return result


class Maps:
    """The maps of an image."""

    def __init__(self, heat: Array, offsets: Array, displacements: Array, stride: int) -> None:
        self.heat = heat
        self.offsets = offsets.reshape(2, POINTS, *heat.shape[1:]) / stride
        self.displacements = displacements.reshape(2, 2, len(EDGES), *heat.shape[1:]) / stride

    def moved(self, at: Array, field: Array) -> Array:
        """`at` moved by a field [2, h, w], and limited to the map."""
        place: Array = np.clip(at + sample(field, at), 0, np.array(self.heat.shape[1:]) - 1)
        return place

    def roots(self, threshold: float) -> Iterator[tuple[int, Array]]:
        """The maxima of heat maps, best first, and their refined places."""
        rows = []
        for k, y, x in np.ndindex(*self.heat.shape):
            window = self.heat[k, max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
            score = self.heat[k, y, x]
            if sigmoid(score) >= threshold and score == window.max():
                rows.append((-score, k, y, x))
        for _, k, y, x in sorted(rows):
            yield k, self.moved(np.array([y, x], float), self.offsets[:, k])

    def person(self, root: int, at: Array) -> Array:
        """The keypoints [points, (y, x, score)] of a person, in units of the stride."""
        done: dict[int, Array] = {}
        reached = {root: (sample(self.heat, at)[root], at)}
        while reached:
            k = max(reached, key=lambda k: reached[k][0])
            score, place = reached.pop(k)
            done[k] = np.array([*place, sigmoid(score)])
            for e, edge in enumerate(EDGES):
                for direction, (a, b) in enumerate((edge, edge[::-1])):
                    if a != k or b in done:
                        continue
                    to = self.moved(place, self.displacements[direction, :, e])
                    for _ in range(REFINEMENTS):
                        to = self.moved(to, self.offsets[:, b])
                    reached[b] = (sample(self.heat, to)[b], to)
        return np.array([done[k] for k in range(POINTS)])


def decoded(
    heat: Array, offsets: Array, displacements: Array, threshold: float, stride: int = STRIDE
) -> tuple[Array, Array]:
    """Keypoints [persons, points, (x, y, score)] in pixels, and scores of the persons of maps."""
    maps = Maps(heat, offsets, displacements, stride)
    persons: list[Array] = []

    def near(a: Array, b: Array) -> Array:
        square = ((a[..., :2] - b[..., :2]) ** 2).sum(-1)
        return np.asarray(square <= (RADIUS / stride) ** 2)

    for k, at in maps.roots(threshold):
        if any(near(at, person[k]) for person in persons):
            continue
        person = maps.person(k, at)
        if person[:, 2].mean() >= threshold:
            persons.append(person)
    persons.sort(key=lambda person: -person[:, 2].mean())
    scores = []
    for i, person in enumerate(persons):
        hidden = np.any([near(person, better) for better in persons[:i]], 0)
        scores.append(np.where(hidden, 0, person[:, 2]).mean())
    order = [i for i in np.argsort(-np.array(scores), kind="stable") if scores[i] >= threshold]
    keypoints = np.array([persons[i] for i in order]).reshape(-1, POINTS, 3)
    return keypoints[..., [1, 0, 2]] * [stride, stride, 1], np.array(scores)[order]
