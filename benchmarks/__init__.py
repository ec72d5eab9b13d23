"""`make bench`: every figure as a ratio in one run."""
