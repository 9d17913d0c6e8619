"""Every learner of the registry keeps the contract of learners, as it is made by default."""

from policysieve.exploration import LEARNERS
from tests.contracts.explorer_contract import ExplorerContract


def contract(learner):
    class Contract(ExplorerContract):
        slates = learner.takes_slates

        def make(self, policies, problem, seed):
            return learner(policies, problem, rng=seed)

        def rewards(self, decisions, seed=0):
            return (super().rewards(decisions) > 0).astype(float)  # which all of them take

    return Contract


for name, learner in LEARNERS.items():
    globals()[f"Test{name}"] = contract(learner)
