"""The oracle of the operator vectors: onnxruntime without optimizations."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from tests.ops.cases.case import Array, Case


def run(model: onnx.ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """The outputs of `model`, in its order."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def expected(case: Case) -> dict[str, Array]:
    """The outputs of `case`."""
    return run(case.model, case.inputs)


def assert_agree(case: Case, actual: dict[str, Array], reference: dict[str, Array]) -> None:
    """Asserts equal names, order, dtypes and shapes, and values within the case's tolerance.

    The absolute tolerance is relative to the largest value, because sums cancel and errors do not.
    """
    assert list(actual) == list(reference)
    for name, want in reference.items():
        output = actual[name]
        assert output.dtype == want.dtype
        assert output.shape == want.shape
        finite = np.abs(want[np.isfinite(want)])
        scale = max(1.0, float(finite.max(initial=0)))
        np.testing.assert_allclose(output, want, case.rtol, case.atol * scale, err_msg=case.id)
