"""The class Pi: the candidate policies."""

from policysieve.policies.answers import Answers, ContextAnswers, Slates
from policysieve.policies.base import Policies
from policysieve.policies.cached import CachedPolicies, cached
from policysieve.policies.calling import Calls
from policysieve.policies.cover import Cover, natarajan_cover, natarajan_sample_size
from policysieve.policies.estimators import EstimatorPolicies
from policysieve.policies.functions import FunctionPolicies
from policysieve.policies.implicit import (
    AnyPolicies,
    ClassWeights,
    ConstantPolicy,
    ImplicitPolicies,
    MarginalPolicy,
    Policy,
    check_class,
)
from policysieve.policies.linear import LinearPolicies
from policysieve.policies.oracle import FittedPolicy, OraclePolicies
from policysieve.policies.policy_class import PolicyClass
from policysieve.policies.randomized import RandomizedPolicy
from policysieve.policies.table import PolicyTable
from policysieve.policies.tabular import TabularPolicies, TabularPolicy
from policysieve.policies.thresholds import Thresholds
from policysieve.policies.trees import StumpPolicies, TreePolicies, TreePolicy
from policysieve.policies.usage import CandidateUsage, Usage
from policysieve.policies.votes import VotePolicies

__all__ = [
    "Answers",
    "AnyPolicies",
    "CachedPolicies",
    "Calls",
    "CandidateUsage",
    "ClassWeights",
    "ConstantPolicy",
    "ContextAnswers",
    "Cover",
    "EstimatorPolicies",
    "FittedPolicy",
    "FunctionPolicies",
    "ImplicitPolicies",
    "LinearPolicies",
    "MarginalPolicy",
    "OraclePolicies",
    "Policies",
    "Policy",
    "PolicyClass",
    "PolicyTable",
    "RandomizedPolicy",
    "Slates",
    "StumpPolicies",
    "TabularPolicies",
    "TabularPolicy",
    "Thresholds",
    "TreePolicies",
    "TreePolicy",
    "Usage",
    "VotePolicies",
    "cached",
    "check_class",
    "natarajan_cover",
    "natarajan_sample_size",
]
