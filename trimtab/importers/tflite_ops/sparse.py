"""Sparse constants, which become dense: TFLite's format of Kjolstad et al. 2017 (TACO)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tflite

from trimtab.importers._graph import Array

_CSR = 1  # DimensionType.SPARSE_CSR; the other one is dense

_VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}


def flat_indices(sparsity: Any, shape: tuple[int, ...]) -> Array:
    """The indices of the stored elements in a flattened tensor of `shape`.

    The levels of the format are the dimensions in the order of traversal, then those within
    blocks. ValueError if they do not fit the shape.
    """
    rank, levels = len(shape), sparsity.TraversalOrderLength()
    order = [sparsity.TraversalOrder(i) for i in range(levels)]
    blocked = [sparsity.BlockMap(i) for i in range(sparsity.BlockMapLength())]
    if sorted(order) != list(range(rank + len(blocked))) or len(order) != levels:
        raise ValueError(f"a sparse tensor is traversed in the order {order}")
    if sparsity.DimMetadataLength() != levels or any(not 0 <= d < rank for d in blocked):
        raise ValueError(f"a sparse tensor of {rank} dimensions has the blocks {blocked}")
    offsets = np.zeros(1, np.int64)  # of the elements so far in their level
    coordinates: dict[int, Array] = {}
    sizes: dict[int, int] = {}
    limit = math.prod(shape)
    for level, dimension in enumerate(order):
        metadata = sparsity.DimMetadata(level)
        if metadata.Format() == _CSR:
            parents, own, offsets = _sparse_level(metadata, offsets)
        else:
            sizes[dimension] = size = metadata.DenseSize()
            if size < 1 or offsets.size * size > limit:
                raise ValueError(f"a level of a sparse tensor has {size} elements")
            parents = np.repeat(np.arange(offsets.size), size)
            own = np.tile(np.arange(size), offsets.size)
            offsets = offsets[parents] * size + own
        coordinates = {d: values[parents] for d, values in coordinates.items()} | {dimension: own}
    indices = [coordinates[d] for d in range(rank)]
    for block, dimension in enumerate(blocked):
        size = sizes.get(rank + block, 0)  # a level within blocks is dense
        indices[dimension] = indices[dimension] * size + coordinates[rank + block]
    return np.ravel_multi_index(indices, shape)[np.argsort(offsets, kind="stable")]


def _sparse_level(metadata: Any, offsets: Array) -> tuple[Array, Array, Array]:
    """Parents, coordinates and offsets of the elements of a compressed level."""
    segments = _vector(metadata.ArraySegmentsType(), metadata.ArraySegments())
    own = _vector(metadata.ArrayIndicesType(), metadata.ArrayIndices())
    if offsets.max(initial=0) + 1 >= segments.size:
        raise ValueError("a sparse tensor has too few segments")
    begins, ends = segments[offsets], segments[offsets + 1]
    counts = ends - begins
    if counts.min(initial=0) < 0 or counts.sum() > own.size or ends.max(initial=0) > own.size:
        raise ValueError("a sparse tensor has segments beyond its indices")
    parents = np.repeat(np.arange(offsets.size), counts)
    starts = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    elements = starts + np.arange(parents.size)
    return parents, own[elements], elements


def _vector(type: int, table: Any) -> Array:
    if type not in _VECTORS or table is None:
        raise ValueError(f"a sparse tensor has indices of the type {type}")
    vector = _VECTORS[type]()
    vector.Init(table.Bytes, table.Pos)
    values: Array = np.array(vector.ValuesAsNumpy(), np.int64).reshape(-1)
    return values
