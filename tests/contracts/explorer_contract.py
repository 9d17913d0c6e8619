"""What every learner must do."""

from tests.contracts.knowing_contract import KnowingContract
from tests.contracts.telling_contract import TellingContract


class ExplorerContract(TellingContract, KnowingContract):
    """Inherit, and define `make(policies, problem, seed)`; `slates = False` where not supported."""
