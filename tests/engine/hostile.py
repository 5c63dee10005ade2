"""Opens damaged models in a separate process: `python -m tests.engine.hostile FILE SEED COUNT`.

Every damaged copy has valid checksums, so that it reaches the later checks, and some have damaged
constants, which the engine does not check. An accepted copy is run. Prints "accepted N refused M";
a crash ends the process by a signal.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np

from tests.engine.raw_runs import WrongInputError, run_arrays
from trimtab import _engine, modelfile, schema
from trimtab.modelfile import records
from trimtab.modelfile.image import Image, new_image

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


def damaged(image: Image, rng: np.random.Generator) -> Image:
    """A copy with up to three words of its tables, an element of a list of indices, and at times
    one of a quantization replaced.
    """
    copy = new_image(image.size)
    copy[:] = image
    tables_bytes = records.SEAL.unpack_from(image.data)[2]
    tables = image[:tables_bytes].tobytes()
    var_count = records.COUNTS.unpack_from(tables, records.SEAL.size)[2]
    variables = [records.variable(tables, i)[1] for i in range(var_count)]

    def damage(begin: int, end: int) -> None:
        at = int(rng.integers(begin, end - 4))
        width = int(rng.choice([1, 2, 4]))
        value = int(rng.choice(INTERESTING)) if rng.random() < 0.7 else int(rng.integers(0, 2**32))
        copy[at : at + width] = np.frombuffer(struct.pack("<I", value)[:width], np.uint8)

    for _ in range(rng.integers(1, 4)):
        damage(records.SEAL.size, tables_bytes)
    for var in variables:
        if var.data_offset and var.dtype == schema.DTYPES["i64"]:
            damage(
                var.data_offset, var.data_offset + var.data_bytes
            )  # operators keep indices in range
        if var.quantization_offset and rng.random() < 0.1:
            at = var.quantization_offset
            damage(at, at + records.QUANTIZATION.size + 4)
    modelfile.seal(copy)
    return copy


def main(path: Path, seed: int, count: int) -> None:
    """Opens `count` damaged copies of the model at `path`."""
    image = modelfile.encode(modelfile.read(path))  # whose tables are not packed
    inputs = [np.ones((1, 3, 9, 7), np.float32)]
    rng = np.random.default_rng(seed)
    accepted = refused = 0
    for _ in range(count):
        try:
            run_arrays(_engine.Executor(damaged(image, rng), 1), inputs)
            accepted += 1
        except (_engine.EngineError, WrongInputError):
            refused += 1
    print(f"accepted {accepted} refused {refused}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
