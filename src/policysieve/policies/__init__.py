"""The class Pi: the candidate policies."""

from policysieve.policies.base import Policies
from policysieve.policies.estimators import EstimatorPolicies
from policysieve.policies.functions import FunctionPolicies
from policysieve.policies.linear import LinearPolicies
from policysieve.policies.randomized import RandomizedPolicy
from policysieve.policies.table import PolicyTable

__all__ = [
    "EstimatorPolicies",
    "FunctionPolicies",
    "LinearPolicies",
    "Policies",
    "PolicyTable",
    "RandomizedPolicy",
]
