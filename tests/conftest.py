"""The same examples on every run, and no deadline: machines may be slow and busy."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("steady")
