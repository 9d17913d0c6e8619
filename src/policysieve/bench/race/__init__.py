"""The rounds that each learner needs to be right, and to prove it."""
