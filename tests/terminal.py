"""A terminal to print to, for tests of what is shown on one."""

import io
import sys


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """From now on in the test, all output goes to a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, terminal)
    return terminal
