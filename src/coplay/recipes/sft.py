"""Settings of supervised fine-tuning on demonstrations."""

from __future__ import annotations

from pydantic import Field, field_validator

from coplay.learners.settings import StrictModel
from coplay.runs.config import Adapter


class SftSettings(StrictModel):
    """How an adapter is trained on demonstrations. Dropout is 0 everywhere in coplay."""

    epochs: int = Field(3, ge=1, le=10**6)
    """Passes over the examples."""
    learning_rate: float = Field(2e-5, gt=0, le=1)
    """AdamW's learning rate at its peak; after the warm-up it falls to 0 along half a cosine."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """The share of the optimiser steps in which the learning rate rises, in a straight line."""
    batch_size: int = Field(8, ge=1, le=10**6)
    """Examples in an optimiser step."""
    microbatch_size: int = Field(2, ge=1, le=10**6)
    """Examples that go through the model at a time; gradients add up, so this only trades memory for speed."""
    weight_decay: float = Field(0.0, ge=0, le=1)
    """AdamW's; without it AdamW is Adam."""
    max_grad_norm: float = Field(1.0, gt=0)
    """Largest norm of the gradient in an optimiser step; larger ones are scaled down."""
    max_length: int | None = Field(None, ge=2)
    """The most tokens of an example, prompt and reply; longer ones are refused. None for the model's context."""
    adapter: Adapter = Adapter()
    """The adapter's shape. It must be that of the runs that start from it."""

    @field_validator("adapter")
    @classmethod
    def _from_nothing(cls, adapter: Adapter) -> Adapter:
        if adapter.init_adapter is not None:
            raise ValueError("fine-tuning starts from the model as it is; leave out init_adapter")
        return adapter
