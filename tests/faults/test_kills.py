"""Processes that are killed while they save: files are whole, and no left-overs stay."""

import json
import subprocess
import sys

KILLS = 5

SAVES = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
import policysieve as ps
from policysieve.exploration.designs import MixtureExploration

folder, kills = Path(sys.argv[1]), int(sys.argv[2])
contents = [np.full((2000, 50), value, np.uint8) for value in (0, 1)]
tables = [ps.PolicyTable(content, n_actions=2) for content in contents]
problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
designs = [
    MixtureExploration(
        tables[0], problem, support=np.arange(50), shares=np.full(50, 0.02), mixing=mixing
    )
    for mixing in (0.25, 0.5)
]
logs = [
    ps.Log(
        contexts=np.arange(500),
        actions=np.zeros(500, int),
        propensities=np.full(500, 0.5),
        rewards=np.full(500, value),
    )
    for value in (0.0, 1.0)
]
saved = {"table.npy": tables, "design.npz": designs, "log.parquet": logs}


def save(which):
    for name, values in saved.items():
        values[which].save(folder / name)


def seen():
    table = ps.PolicyTable.load(folder / "table.npy", n_actions=2).table
    design = ps.Exploration.load(folder / "design.npz", tables[0])
    log = ps.Log.load(folder / "log.parquet")
    return [
        any(np.array_equal(table[:, :, 0], content) for content in contents),
        any(design.same_as(one) for one in designs),
        any(log == one for one in logs),
    ]


save(0)
rng, whole, parent = random.Random(0), [], os.getpid()
for _ in range(kills):
    child = os.fork()
    if not child:
        which = 0
        while os.getppid() == parent:  # which may be killed, too
            which = 1 - which
            save(which)
        os._exit(0)
    time.sleep(0.02 * rng.random())
    while len(os.listdir(folder)) == len(saved):  # so that it is in the middle of a file
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            raise SystemExit("the child ended before it was killed")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    whole.append(seen())
save(1)
print(json.dumps({"whole": whole, "names": sorted(os.listdir(folder))}))
"""


def test_killed_saves_leave_whole_files_and_the_next_save_tidies_up(tmp_path):
    command = [sys.executable, "-c", SAVES, str(tmp_path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["whole"] == [[True] * 3] * KILLS
    assert found["names"] == ["design.npz", "log.parquet", "table.npy"]
