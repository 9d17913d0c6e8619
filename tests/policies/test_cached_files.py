"""The file of answers: damaged, shared, moved, or where nobody may write."""

import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path

import numpy as np
import pytest

import policysieve as ps
from tests.policies.noting import asked, functions


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\x00" + b"\x01" * 5000])
def test_another_file_is_not_a_cache(tmp_path, content):
    (tmp_path / "answers.sqlite").write_bytes(content)
    with pytest.raises(ps.FileFormatError, match=r"answers\.sqlite .*remove it"):
        ps.cached(functions(), tmp_path).actions([1])
    assert (tmp_path / "answers.sqlite").read_bytes() == content


def test_a_database_of_others_is_not_a_cache(tmp_path):
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        db.execute("CREATE TABLE answers (key BLOB PRIMARY KEY)")
    db.close()
    with pytest.raises(ps.FileFormatError, match="another kind of file"):
        ps.cached(functions(), tmp_path).actions([1])


def test_damage_is_an_error_and_never_another_answer(tmp_path):
    policies = functions(2)
    expected = ps.cached(policies, tmp_path).actions(np.arange(200))
    path = tmp_path / "answers.sqlite"
    whole, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            found = ps.cached(policies, tmp_path).actions(np.arange(200))
        except ps.FileFormatError:
            refused += 1
        else:
            np.testing.assert_array_equal(found, expected)
    assert refused > 10  # pages have unused bytes, and a key that is another is a miss
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ps.FileFormatError, match="remove it"):
        ps.cached(policies, tmp_path).actions(np.arange(200))


@pytest.mark.parametrize("slate", [[7], [-1], [0, 1]])
def test_an_answer_on_disk_is_checked(tmp_path, slate):
    from policysieve.policies.keeping import AnswerFile

    file = AnswerFile(tmp_path / "answers.sqlite", n_actions=7, slate_size=1)
    file.write({b"key": np.array(slate)})
    with pytest.raises(ps.FileFormatError):
        file.read([b"key"])


WRITER = textwrap.dedent("""
    import sys, numpy as np, policysieve as ps
    start, folder = int(sys.argv[1]), sys.argv[2]
    policies = ps.FunctionPolicies(
        [lambda x, p=p: (x + p) % 7 for p in range(3)], n_actions=7
    )
    kept = ps.cached(policies, folder)
    print("ready", flush=True)
    for step in range(int(sys.argv[3])):
        x = np.arange(start + 10 * step, start + 10 * step + 10)
        said = kept.actions(x)[:, :, 0]
        assert (said == (x[:, None] + np.arange(3)) % 7).all()
""")


def writer(start, folder, steps):
    command = [sys.executable, "-c", WRITER, str(start), str(folder), str(steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_many_processes_share_a_folder(tmp_path):
    """They begin at once with none, and ask about the same contexts."""
    running = [writer(0, tmp_path, 20) for _ in range(3)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    policies = functions()
    ps.cached(policies, tmp_path).actions(np.arange(200))
    assert asked(policies) == [[]] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_killed_process_leaves_a_file_that_can_be_used(tmp_path):
    process = writer(0, tmp_path, 10**6)
    process.stdout.readline()
    path = tmp_path / "answers.sqlite"
    while not path.exists():
        assert process.poll() is None
    for _ in range(3):  # in the middle of whatever it does
        ps.cached(functions(), tmp_path).actions(np.arange(30))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    policies = functions()
    found = ps.cached(policies, tmp_path).actions(np.arange(1000))[:, :, 0]
    np.testing.assert_array_equal(found, (np.arange(1000)[:, None] + np.arange(3)) % 7)
    assert asked(policies)[0] != list(range(1000))


def test_pickled_it_finds_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = ps.cached(functions(), "here")
    kept.actions([1])
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(kept))
    copy.actions([1])
    assert asked(copy.policies) == [[1]] * 3  # as they were when it was pickled
    assert copy.usage().total.hits == 3


@pytest.mark.parametrize("wrong", ["a file", "a folder as file"])
def test_a_folder_that_is_none_is_refused_at_once(tmp_path, wrong):
    if wrong == "a file":
        folder = tmp_path / "file"
        folder.write_text("here")
    else:
        folder = tmp_path
        (tmp_path / "answers.sqlite").mkdir()
    with pytest.raises(ps.InvalidArgumentError, match=r"folder must be one for a file answers"):
        ps.cached(functions(), folder)


def test_a_folder_that_cannot_be_made_is_refused_before_anybody_is_asked(tmp_path):
    (tmp_path / "file").write_text("here")
    policies = functions()
    kept = ps.cached(policies, tmp_path / "file" / "folder")
    with pytest.raises(ps.InvalidArgumentError, match=r"6 are missing, got .*nobody was asked"):
        kept.actions([1, 2])
    assert asked(policies) == [[]] * 3


def test_a_file_that_cannot_be_made_is_an_error_of_the_folder(tmp_path, monkeypatch):
    from contextlib import nullcontext

    from policysieve.policies import keeping

    (tmp_path / "no file").mkdir()  # as on a full disk, SQLite itself fails
    partial = nullcontext(tmp_path / "no file")
    monkeypatch.setattr(keeping, "whole_or_nothing", lambda path, new: partial)
    with pytest.raises(ps.InvalidArgumentError, match=r"3 are missing, .*unable to open"):
        ps.cached(functions(), tmp_path).actions([1])


@pytest.fixture
def read_only():
    """Runs what it is given as a user who may read a folder, and not write there."""
    folder = Path(tempfile.mkdtemp())

    def run(check):
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            if os.getuid() == 0:  # who may write everywhere
                os.setuid(65534)
            try:
                check()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    yield folder, run
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_that_cannot_be_written_can_be_read(read_only):
    folder, run = read_only
    policies = functions()
    expected = ps.cached(policies, folder).actions([1, 2])

    def check():
        kept = ps.cached(policies, folder)
        np.testing.assert_array_equal(kept.actions([2, 1]), expected[::-1])
        with pytest.raises(ps.InvalidArgumentError, match=r"3 are missing, .*nobody was asked"):
            kept.actions([1, 3])
        assert asked(policies) == [[1, 2]] * 3

    run(check)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_an_empty_folder_that_cannot_be_written_says_so(read_only):
    folder, run = read_only
    policies = functions()

    def check():
        with pytest.raises(ps.InvalidArgumentError, match=r"3 are missing, .*nobody was asked"):
            ps.cached(policies, folder).actions([1])
        assert asked(policies) == [[]] * 3

    run(check)
