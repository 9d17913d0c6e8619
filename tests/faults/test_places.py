"""Kernels run where their machine code cannot be kept, and whatever became of what was kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import policysieve

# One kernel that calls another, for two types that are of one size in memory.
INNER = """
from policysieve.kernels import kernel

@kernel
def inner(x):
    return x + 1
"""
OUTER = """
from policysieve.kernels import kernel
from policysieve.kernels.inner import inner

@kernel
def following(x):
    return inner(x[0])
"""
RUN = """
import json, warnings
import numpy as np
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from policysieve.kernels.outer import following
    {between}
    found = [following(np.array([1], np.int64)), following(np.array([1.0]))]
loaded = sum(following.stats.cache_hits.values())
print(json.dumps({{"found": found, "loaded": loaded, "said": [str(one.message) for one in said]}}))
"""
COMPILED = {"found": [2, 2.0], "loaded": 0, "said": []}
LOADED = {"found": [2, 2.0], "loaded": 2, "said": []}


def environment(package, **changed):
    here = {**os.environ, "PYTHONPATH": str(package)}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        here.pop(name, None)
    return {**here, **{name: str(value) for name, value in changed.items()}}


def run(env, between="pass"):
    """What the kernel finds in another process, how much was loaded, and what was said."""
    command = [sys.executable, "-c", RUN.format(between=between)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with a copy of the package, that has the two kernels and cannot keep their code."""
    folder = tmp_path_factory.mktemp("package")
    here = Path(policysieve.__file__).parent
    copy = folder / "policysieve"
    shutil.copytree(here, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "inner.py").write_text(INNER)
    (copy / "kernels" / "outer.py").write_text(OUTER)
    (copy / "kernels" / "__pycache__").touch()  # not even root can make a folder of it
    return folder


@pytest.fixture(scope="module")
def code(package, tmp_path_factory):
    """A folder of machine code, as a first process has kept it."""
    folder = tmp_path_factory.mktemp("kept")
    assert run(environment(package, NUMBA_CACHE_DIR=folder)) == COMPILED
    return folder


@pytest.fixture
def kept(code, tmp_path):
    folder = tmp_path / "kept"
    shutil.copytree(code, folder)
    return folder


def test_nowhere_to_keep_machine_code(package, tmp_path):
    (tmp_path / "file").touch()
    here = run(environment(package, HOME=tmp_path / "file" / "home"))
    assert (here["found"], here["loaded"]) == ([2, 2.0], 0)
    (message,) = here["said"]
    assert "each process compiles it anew" in message
    assert "NUMBA_CACHE_DIR" in message


def test_machine_code_is_kept_in_the_users_cache(package, tmp_path):
    assert run(environment(package, HOME=tmp_path)) == COMPILED
    assert list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_made_anew(package, kept, ending):
    for path in kept.rglob(f"*.{ending}"):
        path.write_bytes(path.read_bytes()[:20])
    damaged = {path: path.read_bytes() for path in kept.rglob(f"*.{ending}")}
    assert run(environment(package, NUMBA_CACHE_DIR=kept)) == COMPILED
    assert not [path for path, before in damaged.items() if path.read_bytes() == before]


def test_code_under_the_name_of_another_is_not_run(package, kept):
    """So it is left when two processes keep code for two types at once."""
    first, second = kept.rglob("outer*.nbc")
    code = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(code)
    assert run(environment(package, NUMBA_CACHE_DIR=kept)) == COMPILED


def test_a_folder_that_vanishes_is_made_again(package, kept):
    env = environment(package, NUMBA_CACHE_DIR=kept)
    assert run(env, f"import shutil; shutil.rmtree({str(kept)!r})") == COMPILED
    assert list(kept.rglob("*.nbc"))


def test_a_folder_that_cannot_be_made_again_is_said_once(package, kept):
    vanish = f"import shutil; shutil.rmtree({str(kept)!r}); open({str(kept)!r}, 'w').close()"
    here = run(environment(package, NUMBA_CACHE_DIR=kept), vanish)
    assert (here["found"], here["loaded"], len(here["said"])) == ([2, 2.0], 0, 1)


def test_code_is_compiled_anew_when_a_kernel_that_it_holds_has_changed(package, kept):
    inner = package / "policysieve" / "kernels" / "inner.py"
    inner.write_text(INNER.replace("x + 1", "x + 2"))
    try:
        here = run(environment(package, NUMBA_CACHE_DIR=kept))
    finally:
        inner.write_text(INNER)
    assert here == {**COMPILED, "found": [3, 3.0]}


def test_two_processes_compile_at_once(package, tmp_path):
    env = environment(package, NUMBA_CACHE_DIR=tmp_path)
    command = [sys.executable, "-c", RUN.format(between="print('ready', flush=True); input()")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [subprocess.Popen(command, text=True, env=env, **pipes) for _ in range(2)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [json.loads(text)["found"] for text in said] == [[2, 2.0]] * 2
    assert run(env) == LOADED
