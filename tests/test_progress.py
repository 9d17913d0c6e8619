import threading

import pytest

import policysieve as ps
from policysieve import progress
from policysieve.progress import late_bar, progress_bar, tracked
from tests.terminal import on_terminal

BATCHES = ["abc", "de"]


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with progress_bar("Racing") as move:
        move(1, total=7, title="the first cell")
        move(7)
    assert "the first cell" in terminal.getvalue()
    assert "7/7" in terminal.getvalue()


def test_items_count_for_their_size(monkeypatch):
    terminal = on_terminal(monkeypatch)
    assert list(tracked(iter(BATCHES), "Reading", 5, size=len)) == BATCHES
    assert "5/5" in terminal.getvalue()
    assert list(tracked(BATCHES, "Training")) == BATCHES
    assert "2/2" in terminal.getvalue()


def test_nothing_is_shown_to_those_who_ask_for_quiet(monkeypatch):
    terminal = on_terminal(monkeypatch)
    assert list(tracked(BATCHES, "Reading", quiet=True)) == BATCHES
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    assert list(tracked(BATCHES, "Reading")) == BATCHES
    assert capsys.readouterr().err == ""


def test_what_takes_a_second_shows_how_far_it_is(monkeypatch):
    terminal = on_terminal(monkeypatch)
    with late_bar("Asking", 10) as move:
        move(1)
        assert terminal.getvalue() == ""
        monkeypatch.setattr(progress, "_LATE", 0.0)
        move(4)
        assert "Asking" in terminal.getvalue()
        move(10)
    assert "10/10" in terminal.getvalue()


def test_what_is_done_at_once_shows_nothing(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_LATE", 0.0)
    with late_bar("Asking", 10) as move:
        move(10)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_within_another_bar_none_is_shown(monkeypatch, quiet):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_LATE", 0.0)
    with progress_bar("Playing", 3, quiet=quiet), late_bar("Asking", 10) as move:
        move(4)
    assert "Asking" not in terminal.getvalue()
    with late_bar("Asking", 10) as move:
        move(4)
    assert "Asking" in terminal.getvalue()


def test_other_threads_show_no_late_bars(monkeypatch):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_LATE", 0.0)

    def work():
        with late_bar("Asking", 10) as move:
            move(4)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("calls", [None, ps.Calls()])
def test_slow_candidates_show_how_far_they_are(monkeypatch, calls):
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_LATE", 0.0)
    policies = ps.FunctionPolicies(
        [lambda x: 0, lambda x: 1], n_actions=2, vectorized=False, calls=calls
    )
    policies.actions([1, 2, 3])
    assert "Asking the candidates" in terminal.getvalue()


@pytest.mark.parametrize("shown", [True, False])
def test_a_run_has_one_bar_or_none(monkeypatch, shown):
    policies = ps.FunctionPolicies([lambda x: x % 2, lambda x: 0 * x], n_actions=2)
    world = ps.worlds.SparseSynthetic(n_actions=2, n_contexts=9, n_policies=2, profile="close")
    learner = ps.Uniform(policies, world.problem(epsilon=0.2, delta=0.2), rounds=50, rng=0)
    terminal = on_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_LATE", 0.0)
    ps.run(learner, world, 50, progress=shown)
    assert ("Uniform" in terminal.getvalue()) == shown
    assert "Asking" not in terminal.getvalue()
