import os
import subprocess
import sys

import pytest

from policysieve.bench.speed import yardsticks


def test_code_sees_arguments_and_environment():
    code = "import os, sys; print(sys.argv[1], os.environ['SIEVE'])"
    assert yardsticks.run_code(code, "given", environment={"SIEVE": "fine"}) == "given fine\n"
    assert "SIEVE" not in os.environ


def test_code_that_fails_is_not_timed():
    with pytest.raises(subprocess.CalledProcessError):
        yardsticks.run_code("raise SystemExit(3)")


def test_busy_processes_end(monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(yardsticks.subprocess, "Popen", start)
    with yardsticks.busy_processes():
        assert started
        assert all(process.poll() is None for process in started)
    assert all(process.poll() is not None for process in started)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes have other parents elsewhere")
def test_busy_processes_end_with_who_started_them():
    code = (
        "import subprocess, sys\n"
        "from policysieve.bench.speed.yardsticks import _BUSY\n"
        "child = subprocess.Popen([sys.executable, '-c', _BUSY], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
    )
    # Nobody else holds the pipe: it is at its end once the busy process has ended, too.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stderr=subprocess.PIPE, timeout=60
    )
    assert done.returncode == 0
