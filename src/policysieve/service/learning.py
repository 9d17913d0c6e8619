"""Learning apart from those who ask and tell: nobody waits for a proof."""

import logging
import threading
import time

from policysieve.arrays import told
from policysieve.errors import ArchivedError, StorageError
from policysieve.study import Study

__all__ = ["Learner"]

_REST = 0.1  # seconds between two looks at least, in which rewards gather
_IDLE, _LONGEST = 1.0, 10.0  # seconds until the next look when nothing was told here
_SHARE = 0.5  # of the time at most, so that others get their turn

_LOG = logging.getLogger("policysieve.service")


class Learner:
    """A thread that learns from one study while it is told, and now and then by itself.

    Others may have told the study, too, and deadlines pass: so it looks a second after it has
    learnt something, and then less and less often.

    Parameters
    ----------
    study : Study
        Which was opened with ``learn=False``.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._news, self._ending = threading.Event(), threading.Event()
        self._trouble = ""
        name = f"policysieve-learn-{study.name}"
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def told(self) -> None:
        """There is something to learn."""
        self._news.set()

    def end(self) -> None:
        """Begin nothing more."""
        self._ending.set()
        self._news.set()

    def join(self, seconds: float) -> None:
        """Wait until it has ended, so long at most."""
        self._thread.join(seconds)

    def _work(self) -> None:
        pause = _IDLE
        while not self._ending.is_set():
            self._news.clear()
            start = time.monotonic()
            try:
                learnt = self._study.learn()
            except ArchivedError:
                return
            except Exception as error:  # a database that is away may come back
                learnt = 0
                self._say(error)
            else:
                self._trouble = ""
            pause = _IDLE if learnt else min(2 * pause, _LONGEST)
            spent = time.monotonic() - start
            self._ending.wait(max(_REST, spent * (1 - _SHARE) / _SHARE))
            self._news.wait(pause)

    def _say(self, error: Exception) -> None:
        """Log what went wrong, once; who asks for the status hears it, too.

        What is not of the database may say what a client sent, and is named by its type alone.
        """
        trouble = told(error) if isinstance(error, StorageError) else type(error).__name__
        if trouble != self._trouble:
            _LOG.error("study %r could not learn: %s", self._study.name, trouble)
            self._trouble = trouble
