"""PolicySieve: find the best policy among many from sparse bandit feedback, and prove it.

Names are loaded on first use, so that importing the package stays quick.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policysieve import theory as theory
    from policysieve import worlds as worlds
    from policysieve.classify import BanditClassifier as BanditClassifier
    from policysieve.classify import BanditListClassifier as BanditListClassifier
    from policysieve.classify import LabelDecisions as LabelDecisions
    from policysieve.errors import DatasetUnavailableError as DatasetUnavailableError
    from policysieve.errors import DecisionsError as DecisionsError
    from policysieve.errors import FileFormatError as FileFormatError
    from policysieve.errors import InvalidArgumentError as InvalidArgumentError
    from policysieve.errors import MissingExtraError as MissingExtraError
    from policysieve.errors import PolicyFailureError as PolicyFailureError
    from policysieve.errors import PolicySieveError as PolicySieveError
    from policysieve.errors import UnknownValueError as UnknownValueError
    from policysieve.errors import UnpicklableError as UnpicklableError
    from policysieve.evidence import Accuracy as Accuracy
    from policysieve.evidence import Certificate as Certificate
    from policysieve.evidence import Evidence as Evidence
    from policysieve.evidence import LogHealth as LogHealth
    from policysieve.evidence import Selection as Selection
    from policysieve.evidence import check_log as check_log
    from policysieve.evidence import select as select
    from policysieve.exploration import Decisions as Decisions
    from policysieve.exploration import Exploration as Exploration
    from policysieve.exploration import Explorer as Explorer
    from policysieve.exploration import Recommendation as Recommendation
    from policysieve.exploration import design as design
    from policysieve.exploration.learners import EpsilonGreedy as EpsilonGreedy
    from policysieve.exploration.learners import Exp4 as Exp4
    from policysieve.exploration.learners import (
        ExplorationByOptimization as ExplorationByOptimization,
    )
    from policysieve.exploration.learners import ListWeights as ListWeights
    from policysieve.exploration.learners import LogBarrier as LogBarrier
    from policysieve.exploration.learners import LowVarianceExploration as LowVarianceExploration
    from policysieve.exploration.learners import PolicyElimination as PolicyElimination
    from policysieve.exploration.learners import Sieve as Sieve
    from policysieve.exploration.learners import Uniform as Uniform
    from policysieve.log import Log as Log
    from policysieve.log import LogFile as LogFile
    from policysieve.planning import Plan as Plan
    from policysieve.planning import plan as plan
    from policysieve.policies import EstimatorPolicies as EstimatorPolicies
    from policysieve.policies import FunctionPolicies as FunctionPolicies
    from policysieve.policies import LinearPolicies as LinearPolicies
    from policysieve.policies import OraclePolicies as OraclePolicies
    from policysieve.policies import Policies as Policies
    from policysieve.policies import PolicyTable as PolicyTable
    from policysieve.policies import RandomizedPolicy as RandomizedPolicy
    from policysieve.policies import StumpPolicies as StumpPolicies
    from policysieve.policies import TabularPolicies as TabularPolicies
    from policysieve.policies import TreePolicies as TreePolicies
    from policysieve.policies import natarajan_cover as natarajan_cover
    from policysieve.problem import Problem as Problem
    from policysieve.simulate import RunResult as RunResult
    from policysieve.simulate import run as run

# Where each public name lives; a module that stands for itself maps to None.
_HOMES: dict[str, str | None] = {
    "BanditClassifier": "classify",
    "BanditListClassifier": "classify",
    "LabelDecisions": "classify",
    "DatasetUnavailableError": "errors",
    "DecisionsError": "errors",
    "FileFormatError": "errors",
    "InvalidArgumentError": "errors",
    "MissingExtraError": "errors",
    "PolicyFailureError": "errors",
    "PolicySieveError": "errors",
    "UnknownValueError": "errors",
    "UnpicklableError": "errors",
    "Decisions": "exploration",
    "Exploration": "exploration",
    "Explorer": "exploration",
    "ListWeights": "exploration.learners",
    "LogBarrier": "exploration.learners",
    "LowVarianceExploration": "exploration.learners",
    "Recommendation": "exploration",
    "Uniform": "exploration.learners",
    "design": "exploration",
    "EpsilonGreedy": "exploration.learners",
    "Exp4": "exploration.learners",
    "ExplorationByOptimization": "exploration.learners",
    "RandomizedPolicy": "policies",
    "Accuracy": "evidence",
    "Certificate": "evidence",
    "Evidence": "evidence",
    "LogHealth": "evidence",
    "Selection": "evidence",
    "check_log": "evidence",
    "select": "evidence",
    "LogFile": "log",
    "PolicyElimination": "exploration.learners",
    "Sieve": "exploration.learners",
    "Log": "log",
    "Plan": "planning",
    "plan": "planning",
    "EstimatorPolicies": "policies",
    "FunctionPolicies": "policies",
    "LinearPolicies": "policies",
    "OraclePolicies": "policies",
    "Policies": "policies",
    "PolicyTable": "policies",
    "StumpPolicies": "policies",
    "TabularPolicies": "policies",
    "TreePolicies": "policies",
    "natarajan_cover": "policies",
    "Problem": "problem",
    "RunResult": "simulate",
    "run": "simulate",
    "theory": None,
    "worlds": None,
}

__all__ = ["__version__", *sorted(_HOMES)]

__version__ = metadata.version("policysieve")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        import_module(f"{__name__}.{name}")
        if home is None
        else getattr(import_module(f"{__name__}.{home}"), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
