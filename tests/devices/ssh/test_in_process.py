"""The watch over a link of the SSH client in this process, with a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from trimtab.devices.ssh import client, in_process


def thread(target: Callable[..., None], args: Sequence[Any], daemon: bool) -> SimpleNamespace:
    """A thread that ends before `start` returns."""
    assert daemon
    return SimpleNamespace(start=lambda: target(*args), is_alive=lambda: False)


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_link_is_given_up_when_as_many_questions_as_with_openssh_stay_unanswered(
    answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSH asks ServerAliveCountMax times, an interval apart, and waits one more."""
    clock = SimpleNamespace(now=0.0)
    packetizer = SimpleNamespace(last_s=0.0)
    questions: list[float] = []

    def ask(_: Any) -> None:
        questions.append(clock.now)
        if len(questions) <= answered:
            packetizer.last_s = clock.now

    def wait(seconds: float) -> bool:
        clock.now += seconds
        return False

    monkeypatch.setattr(in_process, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(in_process, "ask_whether_alive", ask)
    monkeypatch.setattr(in_process, "threading", SimpleNamespace(Thread=thread))
    link: Any = SimpleNamespace(packetizer=packetizer, is_active=lambda: True)
    closing: Any = SimpleNamespace(wait=wait)
    silent_s = in_process.wait_until_silent(link, closing)
    assert len(questions) == answered + client.ALIVE_COUNT
    assert clock.now == (answered + client.ALIVE_COUNT + 1) * client.ALIVE_S
    assert silent_s == (client.ALIVE_COUNT + 1) * client.ALIVE_S
