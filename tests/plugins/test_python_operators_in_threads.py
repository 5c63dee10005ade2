"""Python functions as operators: whose arrays they get, and whose errors they raise."""

from __future__ import annotations

from pathlib import Path

from tests.plugins.libraries import EXAMPLE, python

# `make(n)`: a session of `n` uses of the operator on [1, 3, 40, 40], each before a pooling.
NETWORK = """
import gc, sys, threading
import numpy as np
import trimtab

trimtab.plugins.add(sys.argv[1])

def make(count=1):
    program = trimtab.Program("thresholds")
    x = program.add_input("x", (1, 3, 40, 40))
    for _ in range(count):
        (x,) = program.block.add_op("soft_threshold", [x], {"threshold": 0.5})
        (x,) = program.block.add_op("max_pool", [x], {"kernel_shape": (1, 1)})
    program.outputs = [x]
    return trimtab.Session(program)
"""

KEEPS = """
kept = []

@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    y = x + 1
    kept.append((x, x.copy()))
    kept.append((y, y.copy()))
    assert not x.flags.writeable
    return y

for n in range(4):
    session = make(3)
    session.run({"x": np.full((1, 3, 40, 40), n, np.float32)})
    session.run({"x": np.full((1, 3, 40, 40), -n, np.float32)})
del session
gc.collect()
pressure = [np.full(4800, np.nan, np.float32) for _ in range(2000)]  # takes over freed memory
assert len(kept) == 4 * 2 * 3 * 2
for array, at_call in kept:
    np.testing.assert_array_equal(array, at_call)
"""

FRAMES = """
@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    return x[:, :2]

session = make()
try:
    session.run({"x": np.ones((1, 3, 40, 40), np.float32)})
except trimtab.errors.PluginError as raised:
    error = raised
del session
gc.collect()
frame, arrays = error.__traceback__, []
while frame:
    for value in list(frame.tb_frame.f_locals.values()):
        values = value if isinstance(value, (list, tuple)) else [value]
        arrays += [one for one in values if isinstance(one, np.ndarray)]
    frame = frame.tb_next
assert arrays
for array in arrays:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert owner.flags.owndata, "a debugger would read memory of the engine"
"""


def test_arrays_that_a_function_keeps_stay_as_they_were(tmp_path: Path) -> None:
    done = python(NETWORK + KEEPS, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_traceback_of_a_function_has_no_memory_of_the_engine(tmp_path: Path) -> None:
    done = python(NETWORK + FRAMES, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


STRESS = """
@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    value = int(x.flat[0])
    if value % 2:
        raise ValueError(f"odd {value}")
    return x

wrong, counts = [], {False: 0, True: 0}

def work(number):
    session, x = make(2), np.full((1, 3, 40, 40), number, np.float32)
    for _ in range(300):
        try:
            (y,) = session.run({"x": x}).values()
            outcome = int(y.flat[0])
        except trimtab.TrimtabError as error:
            outcome = str(error)
        fails = bool(number % 2)
        counts[fails] += 1
        if (f"odd {number}\\n" not in f"{outcome}\\n") if fails else outcome != number:
            wrong.append((number, outcome))

threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert counts == {False: 1200, True: 1200}, counts
assert not wrong, (len(wrong), wrong[:3])
"""


def test_an_exception_is_raised_in_the_run_and_the_thread_of_its_function(tmp_path: Path) -> None:
    done = python(NETWORK + STRESS, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


NESTED = """
inner = None
calls = []

@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    calls.append(float(x.flat[0]))
    if x.flat[0] == 1:
        raise ValueError("one")
    if x.flat[0] == 2:
        try:
            inner.run({"x": np.ones_like(x)})
        except trimtab.TrimtabError as error:
            return x + ("one" in str(error))
    return x

inner, outer = make(), make(2)
(y,) = outer.run({"x": np.full((1, 3, 40, 40), 2, np.float32)}).values()
assert (y == 3).all()  # the error of the inner run is caught there
assert calls == [2, 1, 3]
calls.clear()
try:
    outer.run({"x": np.ones((1, 3, 40, 40), np.float32)})
except trimtab.TrimtabError as error:
    assert "one" in str(error)
assert calls == [1]  # nothing is called with what a failed function leaves
try:
    inner.run({"x": np.ones((1, 3, 40, 40), np.float32)})
    inner.time_operators()
except trimtab.TrimtabError:
    pass
try:
    inner.time_operators()
except trimtab.TrimtabError as error:
    assert "one" in str(error)
else:
    raise AssertionError("a timed run hides the error")
outer.run({"x": np.zeros((1, 3, 40, 40), np.float32)})
"""


def test_runs_inside_a_function_have_errors_of_their_own(tmp_path: Path) -> None:
    done = python(NETWORK + NESTED, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


ITSELF = """
import contextlib, threading

@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    global mode
    x = np.ones((1, 3, 40, 40), np.float32)
    if mode == "itself":
        session.run({"x": x})
    elif mode == "thread":
        mode = "alone"
        def other():
            with contextlib.suppress(BaseException):
                session.run({"x": x})
        waits.append(threading.Thread(target=other))
        waits[0].start()
        waits[0].join(0.5)
    return x

mode, waits = "itself", []
session = make()
x = {"x": np.ones((1, 3, 40, 40), np.float32)}
try:
    session.run(x)
except trimtab.errors.PluginError as raised:
    print(raised.what)
mode = "thread"
session.run(x)  # the other thread waits for its turn, and then has one
for thread in waits:
    thread.join()
print("end")
"""


def test_an_operator_that_runs_its_own_session_is_an_error(tmp_path: Path) -> None:
    done = python(NETWORK + ITSELF, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == "operator soft_threshold: its function uses the session that runs it"
    assert last == "end"


WAITING = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
entered, leave = threading.Event(), threading.Event()

@trimtab.operator("soft_threshold", shape=lambda x, threshold: x)
def soft_threshold(x, threshold):
    entered.set()
    leave.wait()
    return x

session = make()
x = {"x": np.ones((1, 3, 40, 40), np.float32)}
holder = threading.Thread(target=session.run, args=(x,))
holder.start()
entered.wait()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    session.run(x)
except KeyboardInterrupt:
    print("interrupted")
leave.set()
holder.join()
session.run(x)
print("end")
"""


def test_a_thread_that_waits_for_a_session_obeys_ctrl_c(tmp_path: Path) -> None:
    done = python(NETWORK + WAITING, EXAMPLE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", "end"]
