"""Splits a network of costs in two at least cost (Ford & Fulkerson 1956, Edmonds & Karp 1972)."""

from __future__ import annotations

from collections import defaultdict, deque

INFINITE = 1 << 60
SOURCE, SINK = 0, 1


class MinCut:
    """Nodes are integers: SOURCE, SINK, and those of `node`."""

    def __init__(self) -> None:
        self._capacity: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._count = 2

    def node(self) -> int:
        """A new node."""
        self._count += 1
        return self._count - 1

    def add(self, a: int, b: int, cost: int) -> None:
        """Having `a` on the source's side and `b` on the sink's costs `cost`."""
        self._capacity[a][b] = min(INFINITE, self._capacity[a].get(b, 0) + cost)
        self._capacity[b].setdefault(a, 0)

    def source_side(self) -> set[int]:
        """The nodes on the source's side of a cheapest cut, as many as can be."""
        while path := self._path():
            flow = min(self._capacity[a][b] for a, b in path)
            for a, b in path:
                self._capacity[a][b] -= flow
                self._capacity[b][a] += flow
        reaches_sink = self._reach(SINK, backwards=True)
        return {node for node in range(self._count) if node not in reaches_sink}

    def _path(self) -> list[tuple[int, int]]:
        """Shortest path with capacity left, as edges."""
        parents = self._reach(SOURCE)
        if SINK not in parents:
            return []
        path, at = [], SINK
        while at != SOURCE:
            path.append((parents[at], at))
            at = parents[at]
        return path

    def _reach(self, start: int, backwards: bool = False) -> dict[int, int]:
        """What `start` reaches (or what reaches it) over capacity left, and from where."""
        parents = {start: start}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for other in self._capacity[at]:
                left = self._capacity[other][at] if backwards else self._capacity[at][other]
                if left > 0 and other not in parents:
                    parents[other] = at
                    queue.append(other)
        return parents
