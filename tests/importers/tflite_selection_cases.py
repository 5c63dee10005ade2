"""Logic, selection, TOPK_V2 and ONE_HOT of TFLite."""

from __future__ import annotations

import numpy as np
from tflite import TensorType

from tests.importers.tflite_case import model_of
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import normal

X, MORE = normal(2, 3, 5), normal(2, 3, 5, seed="more")
IS_TRUE = X > 0
INDICES = np.array([[1, -1, 3], [0, 4, 7]], np.int32)


def _top_k() -> Model:
    model = model_of("TOPK_V2", [2], [(2, 3, 2), (2, 3, 2)], "TopKV2Options", x=X)
    model.tensors[model.outputs[1]].type = TensorType.INT32
    return model


SELECTION: dict[str, Model] = {
    "logical_not": model_of("LOGICAL_NOT", [], [X.shape], x=IS_TRUE, dtype="bool"),
    "logical_and": model_of("LOGICAL_AND", [MORE > 0], [X.shape], x=IS_TRUE, dtype="bool"),
    "logical_or": model_of("LOGICAL_OR", [MORE[0] > 0], [X.shape], x=IS_TRUE, dtype="bool"),
    "not_equal": model_of("NOT_EQUAL", [X[0]], [X.shape], x=X, dtype="bool"),
    "select": model_of("SELECT", [X, MORE], [X.shape], x=IS_TRUE),
    "select_rows": model_of("SELECT", [X, MORE], [X.shape], x=np.array([True, False])),
    "select_v2": model_of("SELECT_V2", [X, MORE[0, 0]], [X.shape], x=IS_TRUE[:, :, :1]),
    "sign": model_of("SIGN", [], [X.shape], x=np.where(MORE > 1, 0, X).astype(np.float32)),
    "top_k": _top_k(),
    "one_hot": model_of(
        "ONE_HOT",
        [5, np.float32(2), np.float32(-1)],
        [(2, 3, 5)],
        "OneHotOptions",
        x=INDICES,
        Axis=-1,
    ),
    "one_hot_axis": model_of(
        "ONE_HOT",
        [4, np.float32(1), np.float32(0)],
        [(2, 4, 3)],
        "OneHotOptions",
        x=INDICES,
        Axis=1,
    ),
    "reduce_prod": model_of("REDUCE_PROD", [[1, 2]], [(2,)], "ReducerOptions", x=X),
    "reduce_any": model_of(
        "REDUCE_ANY", [[2]], [(2, 3)], "ReducerOptions", x=MORE > 1, dtype="bool"
    ),
    "reduce_all": model_of(
        "REDUCE_ALL",
        [[0, 2]],
        [(1, 3, 1)],
        "ReducerOptions",
        x=MORE > -2,
        dtype="bool",
        KeepDims=True,
    ),
}
