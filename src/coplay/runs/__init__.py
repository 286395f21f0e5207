"""Runs: config, run directory, training loop, executors."""
