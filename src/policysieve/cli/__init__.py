"""The command line: parse, call, print; nothing else."""

from policysieve.cli.main import main

__all__ = ["main"]
