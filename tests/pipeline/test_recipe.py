"""Recipes: the request to build a binary."""

from __future__ import annotations

from trimtab.devices import find_device
from trimtab.pipeline.recipe import Recipe


def test_a_recipe_takes_toolchain_and_core_from_the_device_unless_it_names_them() -> None:
    device = find_device("qemu-a53")
    recipe = Recipe().on_device(device)
    assert (recipe.toolchain, recipe.cpu) == (device.toolchain, "cortex-a53")
    recipe = Recipe(toolchain="aarch64-linux-gnu", cpu="cortex-a72").on_device(device)
    assert (recipe.toolchain, recipe.cpu) == ("aarch64-linux-gnu", "cortex-a72")


def test_the_machine_in_words_has_toolchain_core_and_several_threads() -> None:
    recipe = Recipe(toolchain="aarch64-linux-musl", cpu="cortex_a53")
    assert recipe.machine == "aarch64-linux-musl, cortex-a53"
    assert recipe.on_threads(4).machine == "aarch64-linux-musl, cortex-a53, 4 threads"


def test_a_recipe_for_other_threads_is_another_recipe() -> None:
    recipe = Recipe()
    assert recipe.on_threads(3).threads == 3
    assert recipe.threads == 1
