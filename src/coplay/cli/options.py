"""From command-line options to a config, shared by the verbs that take a recipe."""

from __future__ import annotations

import argparse
import json

from coplay.config import Config
from coplay.config_input import overridden
from coplay.errors import UsageError
from coplay.recipes import LearnerKind, make_config


def config_from(options: argparse.Namespace) -> Config:
    """The recipe's config with ``--seeds``, ``--model`` and the overrides applied."""
    learner: LearnerKind = options.learner or "language_model"
    config = make_config(options.recipe, scale=options.scale or "tiny", learner=learner)
    overrides = list(options.overrides)
    if options.seeds is not None:
        overrides.append(f"seeds={json.dumps(seed_list(options.seeds))}")
    if options.model is not None:
        refuse_model_of_tables(learner)
        overrides.append(f"model={json.dumps(options.model)}")
    return overridden(config, overrides)


def refuse_model_of_tables(learner: str) -> None:
    """Tabular learners have no model that ``--model`` could name."""
    if learner == "tabular":
        raise UsageError("--model: tabular learners have none; leave out --model or --learner tabular")


def seed_list(text: str) -> list[int]:
    """``"0,1,2"`` as numbers; raises UsageError."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds takes whole numbers separated by commas, e.g. 0,1,2; got {text!r}") from None
