"""A learner plays in a world: the loop, and what comes out of it."""

from policysieve.simulate.loop import run
from policysieve.simulate.result import Checkpoint, RunResult

__all__ = ["Checkpoint", "RunResult", "run"]
