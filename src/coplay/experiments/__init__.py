"""Experiments: reproduce, sweep, alignment, label selection, and their pages."""
