"""Minimum cut of a flow network (Ford & Fulkerson 1956, Edmonds & Karp 1972)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

INFINITE = 1 << 60
SOURCE, SINK = 0, 1


class MinCut:
    """A flow network. Nodes are integers: SOURCE, SINK, and the results of `node`."""

    def __init__(self) -> None:
        self._capacity: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self._count = 2

    def node(self) -> int:
        """Adds a node."""
        self._count += 1
        return self._count - 1

    def add(self, a: int, b: int, cost: int) -> None:
        """Adds the cost of a cut with `a` on the source's side and `b` on the sink's side."""
        self._capacity[a][b] = min(INFINITE, self._capacity[a].get(b, 0) + cost)
        self._capacity[b].setdefault(a, 0)

    def add_conversion(self, producer: int, readers: Iterable[int], cost: int) -> None:
        """Adds the cost of one conversion for all `readers` on another side than `producer`: a node
        for each direction joins them.
        """
        to_sink, to_source = self.node(), self.node()
        self.add(producer, to_sink, cost)
        self.add(to_source, producer, cost)
        for reader in readers:
            self.add(to_sink, reader, INFINITE)
            self.add(reader, to_source, INFINITE)

    def source_side(self) -> set[int]:
        """The nodes on the source's side of the minimum cut with the most nodes on that side."""
        while path := self._path():
            flow = min(self._capacity[a][b] for a, b in path)
            for a, b in path:
                self._capacity[a][b] -= flow
                self._capacity[b][a] += flow
        reaches_sink = self._reach(SINK, backwards=True)
        return {node for node in range(self._count) if node not in reaches_sink}

    def _path(self) -> list[tuple[int, int]]:
        """The edges of a shortest path with residual capacity; empty if there is none."""
        parents = self._reach(SOURCE)
        if SINK not in parents:
            return []
        path, at = [], SINK
        while at != SOURCE:
            path.append((parents[at], at))
            at = parents[at]
        return path

    def _reach(self, start: int, backwards: bool = False) -> dict[int, int]:
        """The nodes that `start` reaches (or that reach it) over residual capacity, with their
        predecessors.
        """
        parents = {start: start}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for other in self._capacity[at]:
                residual = self._capacity[other][at] if backwards else self._capacity[at][other]
                if residual > 0 and other not in parents:
                    parents[other] = at
                    queue.append(other)
        return parents
