"""The C++ engine (bindings/)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.engine import EngineError as EngineError

MAX_ELEMENTS: int
compiler: str

def infer_shapes(
    op_id: int,
    inputs: Sequence[tuple[list[int], int] | None],
    attributes: bytes,
    output_count: int,
) -> list[tuple[list[int], int]]: ...
def run_operator(
    op_id: int,
    inputs: Sequence[tuple[NDArray[Any], int] | None],
    attributes: bytes,
    output_count: int,
) -> list[NDArray[Any]]: ...
def cpu_features() -> list[str]: ...
def kernel_names() -> list[str]: ...
def time_kernel(name: str, args_type: str, sizes: dict[str, int], least_ns: float) -> float: ...
def hand_over_ns(cores: tuple[int, int]) -> float: ...
def schema_hash() -> int: ...
def store_panels(w: NDArray[Any], groups: int, panel: int, padded: bool) -> NDArray[Any]: ...
def scaled_rows(w: NDArray[np.float32], factors: NDArray[np.float64]) -> NDArray[np.float32]: ...

class Checksum:
    def add(self, image: NDArray[np.uint8]) -> None: ...
    def digest(self) -> int: ...

def check_model(image: NDArray[np.uint8]) -> None: ...
def load_library(path: str) -> None: ...
def origin_of(op_id: int) -> str: ...
def register_function(
    type: str,
    place: str,
    inputs: tuple[int, int],
    outputs: tuple[int, int],
    masks: tuple[int, int],
    dtypes: int,
    nhwc: bool,
    attributes: list[str],
    shape: Callable[..., Any],
    run: Callable[..., Any],
) -> None: ...

class Executor:
    def __init__(
        self,
        model: NDArray[np.uint8],
        threads: int = 1,
        mapped: bool = False,
        max_memory_bytes: int = 0,
    ) -> None: ...
    def run(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]: ...
    def run_by_name(
        self,
        input_names: tuple[str, ...],
        output_names: tuple[str, ...],
        inputs: object,
        out: dict[str, NDArray[Any]],
        resizes: bool = False,
    ) -> dict[str, NDArray[Any]] | None: ...
    def run_images(
        self,
        arrays: Mapping[int, NDArray[Any]],
        images: Mapping[
            int,
            tuple[int, tuple[int, int], list[NDArray[np.uint8]], tuple[int, int, int, int]],
        ],
    ) -> list[NDArray[Any]]: ...
    def overwrite_inputs(self, count: int) -> None: ...
    def resize_input(self, index: int, dims: Sequence[int]) -> None: ...
    def time_operators(self) -> list[float]: ...
    def inputs(self) -> list[tuple[tuple[int, ...], np.dtype[Any]]]: ...
    def outputs(self) -> list[tuple[tuple[int, ...], np.dtype[Any]]]: ...
    def memory(self) -> dict[str, int]: ...
