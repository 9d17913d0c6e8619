from policysieve.cli.progress import with_progress
from tests.cli.test_live import on_terminal

BATCHES = [[1, 2, 3], [4, 5]]


def test_counts_where_the_total_is_not_known(monkeypatch):
    terminal = on_terminal(monkeypatch)
    assert list(with_progress(iter(BATCHES), "Reading", quiet=False)) == BATCHES
    assert "Reading 5 rounds" in terminal.getvalue()


def test_draws_a_bar_where_it_is(monkeypatch):
    terminal = on_terminal(monkeypatch)
    assert list(with_progress(iter(BATCHES), "Converting", total=5, quiet=False)) == BATCHES
    assert "Converting" in terminal.getvalue()
    assert "100%" in terminal.getvalue()


def test_is_silent_if_asked_and_away_from_a_terminal(monkeypatch):
    assert with_progress(BATCHES, "Reading", quiet=False) is BATCHES
    terminal = on_terminal(monkeypatch)
    assert with_progress(BATCHES, "Reading", quiet=True) is BATCHES
    assert terminal.getvalue() == ""
