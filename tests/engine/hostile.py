"""Opens damaged models in a process of its own: `python -m tests.engine.hostile FILE SEED COUNT`.

Every damaged copy gets a right checksum, so that it reaches the checks behind it. A copy that is
accepted is run. Prints "accepted N refused M"; a crash ends the process by a signal.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np

from trimtab import _engine, modelfile

INTERESTING = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
)


def damaged(image: np.ndarray, tables: int, rng: np.random.Generator) -> np.ndarray:
    """A copy with up to three words of the first `tables` bytes replaced, its checksum mended."""
    copy = modelfile.aligned_array(image.size)
    copy[:] = image
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(40, tables - 4))
        width = int(rng.choice([1, 2, 4]))
        value = int(rng.choice(INTERESTING)) if rng.random() < 0.7 else int(rng.integers(0, 2**32))
        copy[at : at + width] = np.frombuffer(struct.pack("<I", value)[:width], np.uint8)
    copy[32:40] = np.frombuffer(struct.pack("<Q", _engine.checksum(copy)), np.uint8)
    return copy


def main(path: Path, seed: int, count: int) -> None:
    """Opens `count` damaged copies of the model at `path`."""
    content = np.fromfile(path, np.uint8)
    image = modelfile.aligned_array(content.size)
    image[:] = content
    var_count = struct.unpack_from("<I", content.data, 40)[0]
    offsets = [
        struct.unpack_from("<Q", content.data, 64 + 64 * i + 32)[0] for i in range(var_count)
    ]
    tables = min(offset for offset in offsets if offset)
    inputs = [np.ones((1, 3, 9, 7), np.float32)]
    rng = np.random.default_rng(seed)
    accepted = refused = 0
    for _ in range(count):
        try:
            _engine.Executor(damaged(image, tables, rng), 1).run(inputs)
            accepted += 1
        except _engine.EngineError:
            refused += 1
    print(f"accepted {accepted} refused {refused}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
