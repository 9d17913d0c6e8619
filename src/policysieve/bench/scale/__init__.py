"""How far it goes beyond one machine: logs in parts, candidates in shards."""
