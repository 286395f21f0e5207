"""What every recipe is made for: a scale, and a kind of learner."""

from __future__ import annotations

from typing import Literal

Scale = Literal["tiny", "paper"]
"""``tiny``: tuned for the embedded model. ``paper``: the paper's model and hyper-parameters, to the letter."""

LearnerKind = Literal["language_model", "tabular"]
"""What the learners are made of."""

ReciprocalIn = Literal["all", "counts"]
"""Which prompts a start is made reciprocal in: all of them, or those that show counts, which shapers read and naive learners do not."""
