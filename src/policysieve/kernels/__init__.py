"""Compiled functions on plain arrays: the only place with numba.

Nothing here checks its inputs. Every kernel is tested compiled, interpreted (``kernel.py_func``)
and against a brute-force oracle. Letters are those of docs/maths.md: K actions, m items a slate,
P policies, n rounds.
"""
