"""A forked process has copies of the learners of its parent."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, pickle, threading
import numpy as np
import policysieve as ps

table = np.random.default_rng(0).integers(0, 6, (12, 8))
learner = ps.{name}
held, go_on = threading.Event(), threading.Event()

def hold():
    with learner._lock:
        held.set()
        go_on.wait(60)

def child():
    read, write = os.pipe()
    if os.fork() == 0:
        decisions = learner.ask({contexts})
        os.write(write, pickle.dumps(decisions))
        os._exit(0)
    os.wait()
    return pickle.loads(os.read(read, 10**6))

before = learner.ask({contexts})
thread = threading.Thread(target=hold)
thread.start()
assert held.wait(60)
children = [child(), child()]  # of a parent whose lock is held by a thread that they do not have
go_on.set()
thread.join()
mine = learner.ask({contexts})
shown = [np.asarray(one.{shown}).tolist() for one in (mine, *children)]
assert shown[0] != shown[1] != shown[2] != shown[0]
for theirs in children:
    try:
        learner.tell(theirs, np.zeros(200))
    except ps.DecisionsError as error:
        assert "not issued by this learner" in str(error)
    else:
        raise SystemExit("the parent took what its child had issued")
learner.tell(mine, np.zeros(200))
learner.tell(before, np.zeros(200))
assert (learner.rounds, learner.pending) == (400, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(
    "parts",
    [
        {
            "name": "Uniform(ps.PolicyTable(table, n_actions=6), "
            "ps.Problem(n_actions=6, epsilon=0.1, delta=0.1), rng=0)",
            "contexts": "np.arange(200) % 12",
            "shown": "actions",
        },
        {
            "name": "BanditClassifier(classes=list('abcdef'), random_state=0)",
            "contexts": "np.ones((200, 2))",
            "shown": "labels",
        },
    ],
    ids=["learner", "classifier"],
)
def test_parent_and_children_go_their_own_ways(parts):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT.format(**parts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


LARGE = """
import os
import numpy as np
import policysieve as ps

rng = np.random.default_rng(0)
policies = ps.PolicyTable(rng.integers(0, 20, (4, 100_000), dtype=np.uint8), n_actions=20)
problem = ps.Problem(n_actions=20, epsilon=0.1, delta=0.1)
contexts, actions = rng.integers(0, 4, 300), rng.integers(0, 20, 300)
log = ps.Log(
    contexts=contexts,
    actions=actions,
    propensities=np.full(300, 0.05),
    rewards=actions == contexts,
)

def learnt():
    value = ps.select(log, policies, problem).value
    return ps.design(log, policies, problem).propensities(np.arange(4)).tobytes(), value

mine = learnt()
child = os.fork()
if child == 0:
    os._exit(0 if learnt() == mine else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert code == 0, code
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_child_designs_and_selects_in_a_large_class_as_its_parent_did():
    """Threads of OpenMP, once started, are missing in a child, which then ends or waits forever."""
    command = [sys.executable, "-W", "ignore", "-c", LARGE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
