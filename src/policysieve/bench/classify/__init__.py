"""Bandit classifiers of ours and of others, which only hear right or wrong."""
