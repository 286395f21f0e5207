"""Evaluation: matches, summaries, cross-play, metrics, claims."""
