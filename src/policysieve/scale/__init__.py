"""More than one process: logs in parts on a Ray cluster. One machine needs none of it."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("ray") is None:
    raise MissingExtraError("policysieve.scale", "Ray", "ray")

from policysieve.scale.engine import RayEngine
from policysieve.scale.sharded import ShardedPolicies

__all__ = ["RayEngine", "ShardedPolicies"]
