"""Benchmarks: one folder for each question, with its tasks, measurements, tables and page."""
