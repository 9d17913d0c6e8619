"""Contexts that are rows of a table: columns have names and types, and values may be missing."""
