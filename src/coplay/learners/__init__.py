"""Learners: credit and losses as pure functions, and the algorithms built on them."""
