import io

import pytest

from policysieve.progress import progress_bar, tracked

BATCHES = ["abc", "de"]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    return shown


def test_a_bar_on_a_terminal(terminal):
    with progress_bar("Racing") as move:
        move(1, total=7, title="the first cell")
        move(7)
    assert "the first cell" in terminal.getvalue()
    assert "7/7" in terminal.getvalue()


def test_items_count_for_their_size(terminal):
    assert list(tracked(iter(BATCHES), "Reading", 5, size=len)) == BATCHES
    assert "5/5" in terminal.getvalue()
    assert list(tracked(BATCHES, "Training")) == BATCHES
    assert "2/2" in terminal.getvalue()


def test_nothing_is_shown_to_those_who_ask_for_quiet(terminal):
    assert list(tracked(BATCHES, "Reading", quiet=True)) == BATCHES
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    assert list(tracked(BATCHES, "Reading")) == BATCHES
    assert capsys.readouterr().err == ""
