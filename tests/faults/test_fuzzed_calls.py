"""Bad input is refused with an error of ours, and changes nothing."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.faults.call import Call
from policysieve.bench.faults.calls import fuzz_calls
from policysieve.bench.faults.catalogue import CALLS
from policysieve.bench.faults.values import Hostile, hostile_value
from policysieve.formats import from_bandit_feedback, open_contexts, to_bandit_feedback

CSV = "a file of rounds"  # of which every call gets one
FORMAT_CALLS = {
    "open_contexts": Call(
        lambda _, paths, format, **how: list(open_contexts(paths, format, **how)),
        lambda: {
            "paths": CSV,
            "format": "csv",
            "columns": {"context": "context"},
            "max_bytes": 1 << 20,
        },
    ),
    "from_bandit_feedback": Call(
        lambda _, **feedback: from_bandit_feedback(feedback),
        lambda: {
            "context": np.ones((4, 2)),
            "action": np.array([0, 1, 2, 0]),
            "reward": np.zeros(4),
            "pscore": np.full(4, 0.5),
            "position": np.zeros(4, dtype=int),
            "n_actions": 3,
        },
    ),
    "to_bandit_feedback": Call(
        lambda _, log, n_actions: to_bandit_feedback(log, n_actions),
        lambda: {"log": CALLS["check_log"].good()["log"], "n_actions": 3},
    ),
}


AVAILABLE = {
    "available as a mask": Call(
        lambda _, available, fallback: ps.PolicyTable(
            [[0, 1], [2, 0]], n_actions=3, fallback=fallback
        ).actions([0, 1], available=available),
        lambda: {
            "available": np.array([[True, False, True], [True, True, False]]),
            "fallback": np.array([2, 0, 1]),
        },
    ),
    "available as names": Call(
        lambda _, available, fallback: ps.PolicyTable(
            [["a"]], actions=["a", "b", "c"], fallback=fallback
        ).actions([0], available=available),
        lambda: {"available": [["b", "c"]], "fallback": ["c", "b"]},
    ),
}


def test_what_is_available_is_understood_or_refused(monkeypatch):
    monkeypatch.setattr("policysieve.bench.faults.calls.CALLS", AVAILABLE)
    assert fuzz_calls(600, 0) == {"inputs_tried": 600, "foreign": [], "changed": []}


@pytest.mark.parametrize("seed", range(4))
def test_hostile_values_are_taken_or_refused_and_nothing_else(seed):
    found = fuzz_calls(250, seed)
    assert found == {"inputs_tried": 250, "foreign": [], "changed": []}


def test_formats_take_hostile_values_or_refuse_them(monkeypatch):
    monkeypatch.setattr("policysieve.bench.faults.calls.CALLS", FORMAT_CALLS)
    assert fuzz_calls(400, 0) == {"inputs_tried": 400, "foreign": [], "changed": []}


def test_the_same_seed_makes_the_same_calls(monkeypatch):
    def breaks(_made, **_given):
        raise KeyError

    broken = {name: replace(call, run=breaks) for name, call in CALLS.items()}
    monkeypatch.setattr("policysieve.bench.faults.calls.CALLS", broken)
    first = fuzz_calls(200, 7)["foreign"]
    assert len(first) == 200
    assert fuzz_calls(200, 7)["foreign"] == first
    assert fuzz_calls(200, 8)["foreign"] != first


def test_every_call_takes_its_good_arguments(monkeypatch):
    """Or its hostile ones would be refused for another reason."""
    monkeypatch.setattr(
        "policysieve.bench.faults.calls.hostile_value", lambda good, _rng: Hostile(good, "good")
    )
    monkeypatch.setattr("policysieve.bench.faults.calls._ALLOWED", ())
    found = fuzz_calls(1500, 0)
    assert {words.partition("(")[0] for words in found["foreign"]} <= {"Exploration.load"}


def test_what_is_neither_ours_nor_harmless_is_found(monkeypatch):
    class Thing:
        touched = False

    def breaks(thing, value):
        thing.touched = True
        raise KeyError(value)

    call = replace(
        CALLS["Problem"],
        run=breaks,
        good=lambda: {"value": 1},
        make=Thing,
        state=lambda thing: thing.touched,
    )
    monkeypatch.setattr("policysieve.bench.faults.calls.CALLS", {"breaks": call})
    found = fuzz_calls(3, 0)
    assert len(found["foreign"]) == len(found["changed"]) == 3
    assert "breaks(value=" in found["foreign"][0]
    assert "KeyError" in found["foreign"][0]


def test_every_public_function_and_class_with_arguments_is_called():
    left_out = {
        *("Explorer", "Policies", "Exploration"),
        *(
            "Accuracy",
            "Certificate",
            "Comparison",
            "Decisions",
            "Guardrail",
            "LabelDecisions",
            "LogHealth",
            "OutcomeValue",
            "Plan",
            "Segment",
            "Segments",
        ),
        *("ExploringCost", "Forecast", "Loss", "Status", "StudyStatus"),
        *("Recommendation", "RunResult", "Selection", "Usage"),  # results, made by others
    }
    public = {
        name
        for name in ps.__all__
        if callable(getattr(ps, name)) and not name.endswith("Error") and name not in left_out
    }
    called = {word for name in CALLS for word in name.replace(".", " ").split()}
    source = "".join(inspect.getsource(call.run) for call in CALLS.values())
    assert {name for name in public if name not in called and f"ps.{name}" not in source} == set()


def test_hostile_arrays_differ_from_the_good_one():
    rng, good = np.random.default_rng(0), np.arange(6.0).reshape(3, 2)
    words = {hostile_value(good, rng).words for _ in range(2000)}
    assert len(words) > 80
    assert np.array_equal(good, np.arange(6.0).reshape(3, 2))
