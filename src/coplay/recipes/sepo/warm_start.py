"""SEPO's warm start: how the adapter is trained on the demonstrations (section 3.5, Table 17)."""

from __future__ import annotations

from coplay.recipes.kinds import Scale
from coplay.recipes.sft import SftSettings
from coplay.runs.config import Adapter

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
"""Table 17."""

SETTINGS: dict[Scale, SftSettings] = {
    "tiny": SftSettings(
        learning_rate=3e-3, batch_size=32, microbatch_size=32, adapter=Adapter(rank=16, alpha=32.0, targets=TARGETS)
    ),
    "paper": SftSettings(adapter=Adapter(rank=32, alpha=64.0, targets=TARGETS)),
}
"""Epochs, rate, warm-up, batches and adapter of Table 17 at the paper's scale, whose limit of 512 tokens is for shorter prompts than ours; at ``tiny`` what was found on the embedded models."""
