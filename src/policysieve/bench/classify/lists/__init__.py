"""Classifiers that show lists of labels compared, ours and those of others."""
