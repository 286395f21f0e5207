"""One architecture, tiny and random: made, admitted, compared with Transformers and PEFT, and trained for a trial of a game of one token and of one in text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_architectures import write_tiny

if TYPE_CHECKING:
    from coplay.models.bank import AdapterBank
    from coplay.models.scoring import Prompt

TRAINS, NAMED, REFUSED, UNMADE, INTERNAL = "trains", "targets to name", "refused", "no tiny config", "internal error"
"""What is found of an architecture; the last is a fault of coplay's."""

VERDICTS = (TRAINS, NAMED, REFUSED, UNMADE, INTERNAL)
"""All of these."""

DEFAULT = ("q_proj", "v_proj")
"""The targets of adapters that recipes have."""

_ATTENTION = re.compile(r"query|qkv|q_?proj|v_?proj|c_attn|wq|wv|att|in_proj|^q|^v|value|kv", re.IGNORECASE)
"""Names of layers that are adapted where the default ones are not there."""

SINGLY = 4
"""How many layers' names are tried alone, where all of them together are refused."""

LENGTHS = (7, 21, 40, 90)
"""Tokens of rows that are compared: within and beyond the windows and chunks of tiny configs (16) and the original positions (64)."""

CLOSE = 5e-3
"""By how much log-probabilities may differ."""

TRIAL = ("rounds=2", "episodes=1", "games=2", "eval_games=2", "trials=1", "threads=1", "seeds=[0]", "chat=template")
"""What makes a run small."""


@dataclass(frozen=True)
class Row:
    """What was found of an architecture."""

    model_type: str
    """As a config calls it."""
    architecture: str
    """The class of Transformers."""
    verdict: str
    """One of the five above."""
    engine: str = ""
    """The engine that agrees with Transformers."""
    targets: str = ""
    """The layers that were adapted and trained."""
    note: str = ""
    """Why it is refused, or why faster engines are not used."""
    still: str = ""
    """Adapters that did not move in a trial."""
    default: str = ""
    """Why the default targets are refused, where others are not."""
    seconds: float = 0.0
    """Processor time that it took."""


def examine(model_type: str, architecture: str, scratch: Path) -> Row:
    """Make, admit, adapt, train and compare one architecture, in this process.

    Args:
        model_type: as a config calls it.
        architecture: its class.
        scratch: a directory for its files.

    Raises:
        AssertionError: if coplay and Transformers differ after training, or no adapter has moved.
    """
    from coplay.errors import CoplayError

    directory = scratch / "model"
    try:
        model = write_tiny(model_type, architecture, directory)
    except Exception as error:  # of any kind: classes check their configs each in its own way
        return Row(model_type, architecture, UNMADE, note=line_of(error))
    refusals = []
    for targets in _candidates(model):
        try:
            engine, note, still = _trained(directory, targets)
        except CoplayError as error:
            refusals.append(line_of(error).replace(str(directory), "DIR"))
        else:
            verdict = TRAINS if targets == DEFAULT else NAMED
            return Row(model_type, architecture, verdict, engine, ", ".join(targets), note, still, "; ".join(refusals))
    return Row(model_type, architecture, REFUSED, note=refusals[0])


def line_of(error: BaseException) -> str:
    """An error in a line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _candidates(model: Any) -> list[tuple[str, ...]]:
    """Targets to try in this order: the default ones, those of attention that Transformers' own gradients reach in every layer, all that they reach, one each."""
    from coplay.models.adapter_targets import ModelLayers

    layers = ModelLayers(model)
    weights: dict[str, list[Any]] = {}
    for name in layers.linear:
        if name.startswith(layers.text) and name != layers.head:
            weights.setdefault(name.rpartition(".")[2], []).append(model.get_submodule(name).weight)
    reached = sorted(name for name, each in weights.items() if _reached(model, each))
    of_attention = [name for name in reached or sorted(weights) if _ATTENTION.search(name)]
    default = [DEFAULT] if set(DEFAULT) <= weights.keys() else []
    singly = [(name,) for name in reached[:SINGLY]]
    found = dict.fromkeys([*default, tuple(of_attention), tuple(reached), *singly])
    return [targets for targets in found if targets] or [DEFAULT]


def _reached(model: Any, weights: Sequence[Any]) -> bool:
    """Whether the gradient of a token's log-probability reaches all of these weights."""
    import torch

    from coplay.models.final_hidden import ordinary_tokens

    try:
        logits_V = model(input_ids=torch.tensor([ordinary_tokens(model, 24)]), use_cache=False).logits[0, -1]
        found = torch.autograd.grad(logits_V.log_softmax(-1)[0], weights, allow_unused=True)
    except Exception:  # of any kind: models that cannot be run on text
        return False
    return all(gradient is not None and bool(gradient.any()) for gradient in found)


def _trained(directory: Path, targets: Sequence[str]) -> tuple[str, str, str]:
    """Train a trial of each game, and compare what was learnt in the text game.

    Returns:
        The engine, why faster ones are not used, and which adapters did not move in the first game.
    """
    from coplay.models.admission_record import Admission, admission_key
    from coplay.models.loading import load_model

    adapters = (f"model={directory}", f"adapter.targets={json.dumps(list(targets))}", "adapter.rank=2")
    bank = _trial("shapellm/ipd", *adapters, "row.ppo.learning_rate=0.01")
    still = [name for name, (_, B) in bank.weights.items() if not bool(B.any())]
    in_text = (
        "rounds=1",
        "learner.replies=text",
        "learner.max_tokens=3",
        "group_size=2",
        "learner.group.learning_rate=0.01",
    )
    bank = _trial("adalign/ipd-ab-grpo", *adapters, *in_text)
    _compare(directory, bank)
    known = Admission.kept(admission_key(load_model(str(directory)), bank))
    assert known is not None, "the admission was not kept"
    reasons = [f"{one.engine}: {one.reason}" for one in known.trials if not one.agrees]
    return str(known.engine), "; ".join(reasons), ", ".join(still)


def _trial(recipe: str, *settings: str) -> AdapterBank:
    """Run one trial of a recipe's game; returns the adapters, which have moved."""
    from coplay.recipes import make_config
    from coplay.runs.config_input import with_overrides
    from coplay.runs.factory import build

    options = {"learner": "language_model"} if recipe.startswith("shapellm") else {}
    state = build(with_overrides(make_config(recipe, **options), [*TRIAL, *settings]))
    state.run_trial(0)
    assert state.bank is not None
    assert any(bool(B.any()) for _, B in state.bank.weights.values()), f"{recipe}: no adapter has moved"
    return state.bank


def _compare(directory: Path, trained: AdapterBank) -> None:
    """Compare a trained adapter with the model and the exported adapter as Transformers and PEFT read them: rows together, sampled and scored again."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    from coplay.files.writing import write_file
    from coplay.models.adapter_config import adapter_form
    from coplay.models.admission import admitted_scorer
    from coplay.models.bank import REFERENCE, AdapterBank
    from coplay.models.conversations import generator_of
    from coplay.models.final_hidden import ordinary_tokens
    from coplay.models.loading import load_model

    adapter = directory.parent / "adapter"
    for name, content in trained.peft_files(0, base_model=str(directory)).items():
        write_file(adapter, name, content)
    loaded = load_model(str(directory))
    bank = AdapterBank(loaded.model, trained.slots[:1], **adapter_form(adapter))
    bank.import_peft(0, adapter)
    scorer = admitted_scorer(loaded, bank)
    base = AutoModelForCausalLM.from_pretrained(directory).eval()
    plain = PeftModel.from_pretrained(base, str(adapter)).eval()

    @torch.no_grad()
    def alone(slot: int, row: Prompt) -> torch.Tensor:
        ids = torch.tensor([row])
        if slot == REFERENCE:
            with plain.disable_adapter():
                return torch.log_softmax(plain(input_ids=ids, use_cache=False).logits[0, -1].float(), -1)
        return torch.log_softmax(plain(input_ids=ids, use_cache=False).logits[0, -1].float(), -1)

    whole = ordinary_tokens(loaded.model, max(LENGTHS), seed=11)
    rows = [whole[:length] for length in LENGTHS]
    pairs = [(slot, row) for slot in (0, REFERENCE) for row in rows]
    scores_RV = torch.log_softmax(scorer.score(*map(list, zip(*pairs, strict=True))).logits_RV, -1)
    for (slot, row), got_V in zip(pairs, scores_RV, strict=True):
        off = float((got_V - alone(slot, row)).abs().max())
        assert off <= CLOSE, f"log-probabilities behind {len(row)} tokens, slot {slot}, are off by {off:.3g}"
    generator, prompts = generator_of(scorer, stop=()), [row[:-2] for row in rows]
    draws_RL = torch.rand(len(rows), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    for prompt, reply in zip(prompts, generator.generate([0] * len(rows), prompts, draws_RL), strict=True):
        for place, (token, logprob) in enumerate(zip(reply.tokens, reply.logprobs, strict=True)):
            off = abs(logprob - float(alone(0, (*prompt, *reply.tokens[:place]))[token]))
            assert off <= CLOSE, f"token {place} sampled behind {len(prompt)} tokens is off by {off:.3g}"
