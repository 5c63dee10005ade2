"""Recognition of channel shuffles."""

from __future__ import annotations

from tests.small_programs import Net, after, types


def test_a_composed_channel_shuffle_is_recognized() -> None:
    net = Net(x=(2, 6, 4, 5))
    y = net("reshape", "x", shape=[2, 3, 2, 4, 5])
    y = net("reshape", net("transpose", y, permutation=[0, 2, 1, 3, 4]), shape=[2, 6, 4, 5])
    program = after(net.finish(y), "recognize_channel_shuffle")
    assert types(program) == ["channel_shuffle"]
    assert program.ops[0].attributes["group"] == 3


def test_a_transpose_of_channels_and_pixels_is_not_a_shuffle() -> None:
    net = Net(x=(2, 6, 4, 5))
    y = net("reshape", "x", shape=[2, 3, 8, 5])
    y = net("reshape", net("transpose", y, permutation=[0, 2, 1, 3]), shape=[2, 6, 4, 5])
    assert "channel_shuffle" not in types(after(net.finish(y), "recognize_channel_shuffle"))
