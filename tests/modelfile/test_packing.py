"""Packed tables, against a decoder that is written after docs/model-format.md."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.small_programs import Net
from trimtab import _engine, modelfile
from trimtab.errors import TtmError
from trimtab.modelfile import records
from trimtab.modelfile.image import Image, new_image
from trimtab.modelfile.packing import pack
from trimtab.program import Program
from trimtab.target import Target


def unpacked(packed: bytes) -> bytes:
    """The bytes that tokens stand for, by the format's page."""
    rest, tables, distance = iter(packed), bytearray(), 0
    for token in rest:
        tables += bytes(next(rest) for _ in range(token >> 5))
        if token & 16:
            distance = next(rest) + 256 * next(rest)
        for _ in range([0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 40, 48, 56, 64][token & 15]):
            tables.append(tables[-distance])
    return bytes(tables)


def of_records(seed: int) -> bytes:
    """Records that differ in a few bytes, with runs and noise between them."""
    rng = random.Random(seed)
    record, data = bytearray(rng.randbytes(rng.choice([8, 72]))), bytearray()
    for _ in range(rng.randrange(60)):
        record[rng.randrange(len(record))] = rng.randrange(256)
        data += record + bytes([seed]) * rng.choice([0, 0, 5, 700]) + rng.randbytes(seed * 40 % 600)
    return bytes(data)


@pytest.mark.parametrize("data", [b"", b"a", b"ab" * 9, bytes(70_000), *map(of_records, range(9))])
def test_tokens_stand_for_the_bytes_that_were_packed(data: bytes) -> None:
    packed = pack(data)
    assert unpacked(packed) == data
    assert _engine.unpack(np.frombuffer(packed, np.uint8), len(data)) == data
    assert len(packed) <= len(data) + len(data) // 7 + 11


@pytest.fixture(scope="module", name="program")
def planned() -> Program:
    net = Net(x=(1, 4, 6, 5))
    y = net("relu", net.conv("x", 8, 3))
    return trimtab.optimize(net.finish(net("concat", net.conv(y, 5), net.conv(y, 6), axis=1)))


@pytest.fixture(name="packed")
def packed_file(program: Program, tmp_path: Path) -> Image:
    """The program, as it is saved."""
    program.save(tmp_path / "net.ttm")
    return np.fromfile(tmp_path / "net.ttm", np.uint8)


def sealed(image: Image, tokens: bytes | None = None, tables_bytes: int = 0) -> Image:
    """A copy of a packed file with other tokens, or another size of its tables, and right
    checksums.
    """
    end = records.COUNTS.unpack_from(image.data, records.SEAL.size)[-1]
    copy = new_image(image.size)
    copy[:] = image
    if tokens is not None:
        copy[records.TABLES_AT : end] = np.frombuffer(tokens, np.uint8)
    if tables_bytes:
        struct.pack_into("<I", copy.data, 12, tables_bytes)
    modelfile.seal(copy)
    return copy


def test_a_packed_file_computes_what_its_program_does(program: Program, packed: Image) -> None:
    assert records.COUNTS.unpack_from(packed.data, records.SEAL.size)[-1]
    x = np.random.default_rng(3).standard_normal((1, 4, 6, 5), dtype=np.float32)
    plain = modelfile.encode(program)
    assert plain.size > packed.size
    (result,) = run_arrays(_engine.Executor(sealed(packed)), [x])
    (expected,) = run_arrays(_engine.Executor(plain), [x])
    np.testing.assert_array_equal(result, expected)


def test_damaged_tokens_under_right_checksums_are_refused_or_run(packed: Image) -> None:
    end = records.COUNTS.unpack_from(packed.data, records.SEAL.size)[-1]
    tokens = packed[records.TABLES_AT : end].tobytes()
    x = np.ones((1, 4, 6, 5), np.float32)
    refused = 0
    for at in range(len(tokens)):
        for value in (0, 0xFF, tokens[at] ^ 1 << at % 8):
            damaged = tokens[:at] + bytes([value]) + tokens[at + 1 :]
            try:
                run_arrays(_engine.Executor(sealed(packed, damaged)), [x])
            except _engine.EngineError:
                refused += 1
    assert refused > len(tokens)


@pytest.mark.parametrize("more", [-64, 64, 1 << 20, 0xFFFFFFC0])
def test_tables_of_another_size_are_refused(packed: Image, more: int) -> None:
    (size,) = struct.unpack_from("<I", packed.data, 12)
    with pytest.raises(_engine.EngineError, match="tables"):
        _engine.check_model(sealed(packed, tables_bytes=min(size + more, 0xFFFFFFC0)))


def test_the_reader_refuses_tokens_that_the_engine_has_not_checked(packed: Image) -> None:
    image = packed.copy()
    image[records.TABLES_AT] ^= 0xFF
    with pytest.raises(TtmError):
        _ = modelfile.decode(image, "net").block


def test_the_graph_of_a_planned_network_takes_at_most_120_bytes_an_operator(
    tmp_path: Path,
) -> None:
    planned = trimtab.optimize(trimtab.load("mobilenet_v2"), Target.of("aarch64", "cortex-a53"))
    planned.save(tmp_path / "net.ttm", names=False)
    with (tmp_path / "net.ttm").open("rb") as file:
        end = records.COUNTS.unpack(file.read(records.TABLES_AT)[records.SEAL.size :])[-1]
    assert 0 < end <= 120 * len(planned.ops)
