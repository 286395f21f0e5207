"""Settings of every test."""

from hypothesis import settings

# No deadline: machines that share their cores would fail tests for being slow. Derandomised: the same examples on every run.
settings.register_profile("coplay", max_examples=40, deadline=None, derandomize=True)
settings.load_profile("coplay")
