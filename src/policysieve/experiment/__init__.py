"""Learners compared in one world, over the same seeds: an experiment from one file."""

from policysieve.experiment.loading import load_experiment, make_experiment
from policysieve.experiment.results import ExperimentResult, LearnerResult, Proof, SeedResult
from policysieve.experiment.running import Experiment, LearnerSetting, Progress

__all__ = [
    "Experiment",
    "ExperimentResult",
    "LearnerResult",
    "LearnerSetting",
    "Progress",
    "Proof",
    "SeedResult",
    "load_experiment",
    "make_experiment",
]
