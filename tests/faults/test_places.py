"""Kernels run where their machine code cannot be kept, and whatever became of what was kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import policysieve

PACKAGE = Path(policysieve.__file__).parent

HITS = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numpy as np
    from policysieve.kernels.designs import hit_lists
    starts, hits = hit_lists(np.array([[[1], [0], [1]]], np.uint8), np.array([0]), np.array([1]))
import json
kept = hit_lists.stats.cache_path
messages = [str(one.message) for one in said]
print(json.dumps({"hits": hits.tolist(), "kept": kept, "said": messages}))
"""

# A kernel in a file of its own, for two types that are of one size in memory.
MODULE = """
from policysieve.kernels import kernel

@kernel
def following(x):
    return x[0] + 1
"""
FOLLOWING = """
import json, warnings
import numpy as np
from place import following
{between}
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = [following(np.array([1], np.int64)), following(np.array([1.0]))]
hits = sum(following.stats.cache_hits.values())
print(json.dumps({{"found": found, "hits": hits, "said": [str(one.message) for one in said]}}))
"""


def no_folder(tmp_path):
    """A path that cannot become a folder, not even for root: it lies behind a file."""
    tmp_path.joinpath("file").touch()
    return tmp_path / "file" / "home"


def environment(*path, **changed):
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    here.pop("NUMBA_CACHE_DIR", None)
    return {**here, **{name: str(value) for name, value in changed.items()}}


def output(code, env):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=env
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def package(tmp_path):
    """A copy of the package whose folder of kernels takes no more files."""
    copy = tmp_path / "copy" / "policysieve"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "__pycache__").touch()
    return copy.parent


def test_nowhere_to_keep_machine_code(package, tmp_path):
    home = no_folder(tmp_path)
    here = output(HITS, environment(package, HOME=home, XDG_CACHE_HOME=home))
    assert here["hits"] == [0, 2]
    assert here["kept"] is None
    (message,) = here["said"]
    assert "each process compiles it anew" in message
    assert "NUMBA_CACHE_DIR" in message


def test_the_package_cannot_be_written(package, tmp_path):
    env = environment(package, HOME=tmp_path / "home")
    env.pop("XDG_CACHE_HOME", None)
    here = output(HITS, env)
    assert (here["hits"], here["said"]) == ([0, 2], [])
    assert Path(here["kept"]).is_relative_to(tmp_path / "home")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder of the small kernel, and of its machine code as a first process has kept it."""
    folder = tmp_path_factory.mktemp("source")
    folder.joinpath("place.py").write_text(MODULE)
    env = environment(PACKAGE.parent, folder, NUMBA_CACHE_DIR=folder / "kept")
    first = output(FOLLOWING.format(between=""), env)
    assert first == {"found": [2, 2.0], "hits": 0, "said": []}
    return folder


@pytest.fixture
def place(source, tmp_path):
    """What runs the small kernel in another process, and a copy of its machine code."""
    folder = tmp_path / "kept"
    shutil.copytree(source / "kept", folder)
    env = environment(PACKAGE.parent, source, NUMBA_CACHE_DIR=folder)
    return lambda between="": output(FOLLOWING.format(between=between), env), folder


def test_machine_code_is_kept(place):
    run, _ = place
    assert run() == {"found": [2, 2.0], "hits": 2, "said": []}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_made_anew(place, ending):
    run, folder = place
    for path in folder.rglob(f"*.{ending}"):
        path.write_bytes(path.read_bytes()[:20])
    assert run() == {"found": [2, 2.0], "hits": 0, "said": []}
    assert run()["hits"] == 2


def test_code_under_the_name_of_another_is_not_run(place):
    """So it is left when two processes keep code for two types at once."""
    run, folder = place
    first, second = folder.rglob("*.nbc")
    code = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(code)
    assert run() == {"found": [2, 2.0], "hits": 0, "said": []}


def test_a_folder_that_vanishes(place):
    run, folder = place
    vanish = f"import shutil; shutil.rmtree({str(folder)!r})"
    assert run(between=vanish) == {"found": [2, 2.0], "hits": 0, "said": []}
    assert run()["hits"] == 2
    blocked = run(between=f"{vanish}; open({str(folder)!r}, 'w').close()")
    assert blocked["found"] == [2, 2.0]
    assert len(blocked["said"]) == 1


def test_code_is_compiled_anew_when_a_kernel_that_it_holds_has_changed(tmp_path):
    copy = tmp_path / "policysieve"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    env = environment(tmp_path, NUMBA_CACHE_DIR=tmp_path / "kept")
    assert output(HITS, env)["hits"] == [0, 2]
    hits = copy / "kernels" / "hits.py"
    hits.write_text(hits.read_text().replace("row[i] == item", "row[i] != item"))
    assert output(HITS, env)["hits"] == [1]


def test_two_processes_compile_at_once(source, tmp_path):
    env = environment(PACKAGE.parent, source, NUMBA_CACHE_DIR=tmp_path)
    code = FOLLOWING.format(between="print('ready', flush=True); input()")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [
        subprocess.Popen([sys.executable, "-c", code], text=True, env=env, **pipes)
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [json.loads(text)["found"] for text in said] == [[2, 2.0]] * 2
    assert output(FOLLOWING.format(between=""), env)["hits"] == 2
