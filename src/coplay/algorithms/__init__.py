"""Algorithms: how a learner turns the games it played into new parameters."""
