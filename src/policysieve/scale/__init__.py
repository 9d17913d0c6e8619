"""A Ray cluster: logs in parts, candidates in shards, and sweeps. One machine needs none of it."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("ray") is None:
    raise MissingExtraError("policysieve.scale", "Ray", "ray")

from policysieve.scale.engine import RayEngine
from policysieve.scale.parts import PartedLog
from policysieve.scale.sharded import ShardedPolicies

__all__ = ["PartedLog", "RayEngine", "ShardedPolicies"]
