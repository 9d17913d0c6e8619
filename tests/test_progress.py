from policysieve.progress import progress_bar, tracked
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
