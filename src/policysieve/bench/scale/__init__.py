"""How far a cluster goes: logs in parts, candidates in shards."""
