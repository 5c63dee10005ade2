"""Headers that say what a binary has."""

from __future__ import annotations

import trimtab
from tests.small_programs import Net
from trimtab import schema
from trimtab.build import profile_headers
from trimtab.profile import Profile


def test_only_operators_that_count_are_listed() -> None:
    net = Net(x=(2, 3))
    plain = net.finish(net("relu", "x"))
    text = profile_headers.counts_header(trimtab.profile_of(plain))
    assert "constexpr bool kHasCounts = false;" in text
    counted = net.finish(net("non_zero", "x"))
    text = profile_headers.counts_header(trimtab.profile_of(counted))
    assert "constexpr bool kHasCounts = true;" in text
    assert f"kCountingOps[] = {{{{{schema.operator('non_zero').id}, false, 255}}}};" in text


def test_an_operator_counts_where_its_sizes_are_an_operand() -> None:
    net = Net(x=(2, 3))
    vector = net("reshape", net("relu", "x"), shape=(6,))
    result = net("reshape", vector, net("shape", "x"), shape=(2, 3))
    profile = trimtab.profile_of(net.finish(result))
    assert profile.sizes == ("reshape.attributes", "reshape.tensor")
    text = profile_headers.counts_header(profile)
    assert f"kCountingOps[] = {{{{{schema.operator('reshape').id}, false, 1}}}};" in text


def test_each_operator_has_its_id() -> None:
    text = profile_headers.op_ids_header([schema.operator("relu")])
    assert f"  kOpRelu = {schema.operator('relu').id}," in text


def test_only_sizes_of_the_types_are_there() -> None:
    text = profile_headers.element_sizes_header(Profile("net", dtypes=("f32", "f16")))
    assert "kHasElementsOfOneByte = false;" in text
    assert "kHasElementsOfTwoBytes = true;" in text
    text = profile_headers.element_sizes_header(Profile("net", dtypes=("f32", "u8")))
    assert "kHasElementsOfOneByte = true;" in text
    assert "kHasElementsOfTwoBytes = false;" in text
