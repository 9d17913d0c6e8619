"""Counts that anybody may look at, whatever is going on."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from policysieve.policies.usage import Meter


def name(policy):
    return f"policy {policy}"


def test_many_threads_may_add():
    meter = Meter()

    def work():
        for _ in range(500):
            meter.add(0, calls=1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.usage(name).total.calls == 2000


LOOKS = """
import faulthandler, os, signal, sys
from policysieve.policies.usage import Meter

faulthandler.dump_traceback_later(60, exit=True)
meter, seen = Meter(), []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(meter.usage(str)))

def interrupt(frame, event, argument):
    if frame.f_code is Meter.add.__code__ and event == "line":
        os.kill(os.getpid(), signal.SIGUSR1)
    return interrupt

sys.settrace(interrupt)
meter.add(0, calls=1)
sys.settrace(None)
print(len(seen) > 2, meter.usage(str).total.calls)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_handler_may_look_while_something_is_added():
    """At each line of it."""
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True 1\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_counts_though_another_thread_was_counting():
    meter, inside, leave = Meter(), threading.Event(), threading.Event()

    class Slow(int):
        def __radd__(self, other):
            inside.set()
            leave.wait(60)
            return other + 1

    thread = threading.Thread(target=lambda: meter.add(0, calls=Slow(1)))
    thread.start()
    inside.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        meter.add(1, calls=1)
        os._exit(int(meter.usage(name).candidates[-1].calls))
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
