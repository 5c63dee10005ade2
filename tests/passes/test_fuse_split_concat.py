"""A concat of the results of a split."""

from __future__ import annotations

from tests.small_programs import Net, after, types


def test_a_concat_of_all_results_reads_the_split_tensor() -> None:
    net = Net(x=(1, 8, 4, 4))
    a, b = net.many("split", 2, "x", axis=1, sizes=[3, 5])
    both = net("concat", "x", a, b, net("abs", b), axis=-3)
    swapped, repeated = net("concat", b, a, axis=1), net("concat", a, b, axis=1)
    program = after(net.finish(both, swapped, net("neg", repeated)), "fuse_split_concat")
    assert types(program) == ["split", "abs", "concat", "concat", "neg"]
    assert [len(op.inputs) for op in program.ops if op.type == "concat"] == [3, 2]
