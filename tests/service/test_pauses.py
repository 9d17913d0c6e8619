"""While a process serves, the garbage collector leaves what was there before alone."""

import gc
import signal
from dataclasses import replace

from policysieve.service import Hosted, Settings
from policysieve.service.serving import serve
from tests.study.cases import linear


def test_what_is_there_when_it_starts_is_not_looked_at_again(url):
    before, seen = gc.get_threshold(), []

    def started(_):
        seen.append((gc.get_freeze_count(), gc.get_threshold()))
        signal.raise_signal(signal.SIGTERM)

    serve(Hosted(url, linear()), replace(Settings(), port=0), started=started)
    ((frozen, thresholds),) = seen
    assert frozen > 10_000
    assert thresholds > before
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)
