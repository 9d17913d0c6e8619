"""The benchmark sees what it looks for; what it finds here, tests/faults say."""

import itertools
import json
import os
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from policysieve.bench.cells import code_version
from policysieve.bench.faults import apart, calling, files, measuring, soaking, studies
from policysieve.bench.faults.writers import CONTENTS, CONVERTED, Writer
from policysieve.cli import main
from policysieve.exploration import decisions
from policysieve.exploration.learners import Uniform
from policysieve.formats import FORMATS

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")
# Of Python 3.12 and later; what the children do here needs no other thread.
may_fork = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def content(k):
    return bytes([k % CONTENTS]) * 1_000


def in_place(path, k):
    with open(path, "wb") as file:
        file.write(content(k)[:500])
        file.flush()
        time.sleep(0.002)
        file.write(content(k)[500:])


def beside(path, k):
    partial = path.with_name(f"{os.getpid()}.{k}")
    in_place(partial, k)
    partial.replace(path)


def one_with(write, tmp_path, monkeypatch):
    path = tmp_path / "own" / "file"
    path.parent.mkdir()
    writer = Writer("made up", path, lambda k: write(path, k))
    monkeypatch.setattr(files, "all_writers", lambda _folder: iter([writer]))


@forks
@may_fork
class TestFiles:
    def test_whole_files_beside_are_not_broken_but_left_over(self, tmp_path, monkeypatch):
        one_with(beside, tmp_path, monkeypatch)
        (row,) = files.killed_writers(kills=10)
        assert row["writes"] > 0
        assert (row["broken"], row["lost"], row["failed"]) == (0, 0, 0)
        assert row["left_over"] > 0
        (row,) = files.writers_at_once(seconds=0.2)
        assert row["reads"] > 0
        assert row["writes"] > 0
        assert (row["broken"], row["failed"], row["left_over"]) == (0, 0, 0)

    def test_files_that_are_written_in_place_break(self, tmp_path, monkeypatch):
        one_with(in_place, tmp_path, monkeypatch)
        assert files.killed_writers(kills=10)[0]["broken"] > 0
        assert files.writers_at_once(seconds=0.2)[0]["broken"] > 0
        (row,) = files.full_disks()
        assert row["tried"] == 4
        assert row["broken"] > 0

    def test_writes_that_are_acknowledged_but_not_made_are_lost(self, tmp_path, monkeypatch):
        parent = os.getpid()

        def once(path, k):
            if k == 0 or os.getpid() == parent:
                beside(path, k)
            else:
                time.sleep(0.002)

        one_with(once, tmp_path, monkeypatch)
        assert files.killed_writers(kills=20)[0]["lost"] > 0

    def test_what_a_full_disk_leaves_is_seen(self, tmp_path, monkeypatch):
        one_with(beside, tmp_path, monkeypatch)
        (row,) = files.full_disks()
        assert (row["broken"], row["silent"], row["foreign"]) == (0, 0, 0)
        assert row["left_over"] == 4

    @pytest.mark.parametrize(("error", "kind"), [(None, "silent"), (KeyError, "foreign")])
    def test_errors_that_are_hidden_or_not_the_systems(self, tmp_path, monkeypatch, error, kind):
        def hide(path, k):
            try:
                beside(path, k)
            except OSError:
                if error is not None:
                    raise error from None

        one_with(hide, tmp_path, monkeypatch)
        (row,) = files.full_disks()
        assert row[kind] == 4
        assert row["silent"] + row["foreign"] == 4

    def test_what_ends_a_fork_is_known(self):
        fork = apart.Fork(lambda k: 1 // (3 - k))
        fork.wait()
        assert (fork.calls, fork.error.split(":")[0]) == (3, "ZeroDivisionError")


def test_every_format_that_is_not_saved_is_converted_to():
    assert {"parquet", *CONVERTED} == set(FORMATS)


def test_what_fails_in_a_process_of_its_own_is_said():
    with pytest.raises(RuntimeError, match="unexpected keyword argument 'leaps'"):
        apart.apart(calling.clock_jumps, leaps=1)


@linux
def test_a_leak_is_seen(monkeypatch):
    held = []

    class Leaky(Uniform):
        def tell(self, decisions, rewards):
            held.append(np.ones(500 * len(decisions)))
            super().tell(decisions, rewards)

    monkeypatch.setattr(soaking, "LEARNERS", {"Leaky": Leaky})
    monkeypatch.setattr(soaking, "_LOOKS", 5)
    monkeypatch.setattr(soaking, "_WARM", 1)
    leaky = soaking.soak(learner="Leaky", rounds=2_000, batch=10)
    assert leaky["bytes_beyond"] > 3_000
    assert [look["rounds"] for look in leaky["looks"]] == [400, 800, 1_200, 1_600, 2_000]
    assert leaky["bytes_kept"] == pytest.approx(28, abs=2)


def test_rounds_that_are_lost_doubled_or_wrong_are_seen():
    learner = Uniform(calling.POLICIES, calling.PROBLEM, rng=0)
    batches = [learner.ask([0, 1, 2]) for _ in range(4)]
    told = [(batch, np.array([0.0, 1.0, 0.0])) for batch in batches]
    for batch, rewards in told:
        learner.tell(batch, rewards)
    fine = {"rounds": 12, "lost": 0, "doubled": 0, "wrong": 0}
    assert calling._compared(learner, told[::-1]) == fine
    changed = [*told[:3], (batches[3], np.ones(3))]
    assert calling._compared(learner, changed) == {**fine, "wrong": 2}
    again = calling._compared(learner, [*told, told[3]])
    assert (again["lost"], again["doubled"]) == (3, 3)
    learner.ask([1])
    assert calling._compared(learner, told)["lost"] == 1


def test_answers_that_differ_are_seen(monkeypatch):
    seeds, kind = itertools.count(), calling.Sieve
    monkeypatch.setattr(
        calling, "Sieve", lambda *one, rng, **more: kind(*one, rng=next(seeds), **more)
    )
    assert calling.interrupts(calls=10)["different"] > 5


def test_a_clock_that_jumps_is_seen(monkeypatch):
    monkeypatch.setattr(decisions, "_now", lambda: time.time())
    found = calling.clock_jumps(jumps=4)
    assert (found["wrong"], found["expired"], found["kept"]) == (8, 4, 2)


def test_command(monkeypatch, tmp_path):
    """The command prints and saves what the steps return."""
    asked = []

    def fuzz_calls(n, seed):
        asked.append((n, seed))
        return {"inputs_tried": n, "foreign": ["KeyError: 'a'"], "changed": []}

    def measured(function, **arguments):
        if function is soaking.soak:
            return {
                **arguments,
                "looks": [{"rounds": 5, "held": 7, "kept": 3}] * 2,
                "bytes_kept": 28.0,
                "bytes_beyond": 0.5,
            }
        if function is studies.killed_studies:
            return {**arguments, "steps": 9, "lost": 0, "doubled": 0, "failed": 0, "different": 0}
        if function is calling.interrupts:
            return {"calls": 20, "interrupted": 9, "lost": 0, "doubled": 0, "different": 0}
        return function(**arguments) if function is calling.clock_jumps else []

    name = "policysieve.bench.faults.calls"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(fuzz_calls=fuzz_calls))
    monkeypatch.setattr(measuring, "apart", measured)
    monkeypatch.setattr(measuring, "_cannot", lambda: {"threads": "not here"})
    printed = CliRunner().invoke(main, ["bench", "faults", "--quick", "--folder", str(tmp_path)])
    assert printed.exit_code == 0, printed.output
    assert asked == [(measuring.FaultSettings.quick().calls, 0)]
    assert "an error that is not ours" in printed.output
    assert "not here" in printed.output
    saved = json.loads((tmp_path / "faults.json").read_text())
    assert saved["code"] == code_version()
    assert saved["settings"]["soak_rounds"] == 20_000
    assert [run["learner"] for run in saved["soaks"]][:3] == [
        "Sieve",
        "Sieve",
        "LowVarianceExploration",
    ]
    assert saved["calls"]["foreign"] == ["KeyError: 'a'"]
    assert saved["studies"]["kills"] == measuring.FaultSettings.quick().study_kills
    assert (tmp_path / "memory.svg").is_file()


def test_a_step_alone_keeps_what_was_measured_of_others(monkeypatch, tmp_path):
    nothing = dict.fromkeys(("steps", "lost", "doubled", "failed", "different"), 0)
    before = {"calls": 20, "interrupted": 9, **nothing}
    earlier = {"code": "before", "settings": {"calls": 20_000}, "interrupts": before}
    (tmp_path / "faults.json").write_text(json.dumps(earlier))
    monkeypatch.setattr(measuring, "apart", lambda _function, **given: {**given, **nothing})
    run = ["bench", "faults", "--steps", "studies", "--folder", str(tmp_path), "--json"]
    saved = json.loads(CliRunner().invoke(main, run).output)
    assert saved["interrupts"] == before
    assert saved["studies"] == {"kills": 1_000, **nothing}
    assert saved["codes"] == {"interrupts": "before", "studies": code_version()}
    assert saved["settings"]["study_kills"] == 1_000


def test_without_scikit_learn_no_calls_are_made(monkeypatch):
    monkeypatch.setattr(measuring, "find_spec", lambda _name: None)
    assert "needs scikit-learn" in measuring._cannot()["calls"]


def test_few_rounds_are_no_soak(monkeypatch):
    monkeypatch.setattr(measuring, "apart", lambda _soak, **run: run["rounds"])
    assert set(measuring._soaks(20_000)) == {20_000}
    assert set(measuring._soaks(1_000_000)) == {1_000_000, 100_000}


def test_what_a_system_cannot_do_is_left_out(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "fork", raising=False)
    forked = {"kills", "at_once", "full", "interrupts", "studies"}
    assert set(measuring._cannot()) == {*forked, "soaks"}
