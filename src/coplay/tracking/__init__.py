"""Trackers: where the records of a training run go besides its own files."""
