"""Supervised fine-tuning from random weights on demonstrations: cross-entropy on the replies' tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from building import rate_factor
from tiny.tokenizer import BOS, END, EOS, PAD, TURN
from torch import Tensor
from transformers import Gemma2Config, Gemma2ForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.models.encoding import PromptEncoder
from coplay.models.loading import encode_all
from coplay.rng import stream_seed
from talk.demonstrations import Demonstration, demonstrations, other_matrix_games

POSITIONS = 512

Family = Literal["llama", "gemma2"]
"""Architectures to choose from."""

GAMES_A_STEP = {"ipd-ab": 4, "split-no-comm": 5, "trust-and-split": 5}
"""Games played for a step's demonstrations: about as many questions as a game is hard."""

OTHERS_A_STEP = 40
"""Questions of other matrix games."""

ROUNDS = 5
"""Of those games. The first round, which has no past, is one question in five."""


@dataclass(frozen=True)
class Schedule:
    """How the model is trained."""

    steps: int = 2500
    """Optimiser steps."""
    rate: float = 4e-3
    """Adam's peak rate."""
    warmup: int = 100
    """Steps over which it rises linearly; then it falls to zero along a cosine."""
    buckets: int = 6
    """Pieces of similar length a batch is cut into, to save padding."""


def new_model(tokenizer: PreTrainedTokenizerFast, family: Family, seed: int) -> Any:
    """A small model with random weights."""
    ids = tokenizer.convert_tokens_to_ids
    shape: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "head_dim": 16,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "initializer_range": 0.05,
        "pad_token_id": ids(PAD),
        "bos_token_id": ids(BOS),
        "eos_token_id": [ids(EOS), ids(END)],
    }
    torch.manual_seed(stream_seed(seed, "initial weights", family) % 2**31)
    if family == "gemma2":
        return Gemma2ForCausalLM(Gemma2Config(**shape, query_pre_attn_scalar=16, sliding_window=POSITIONS)).float()
    return LlamaForCausalLM(LlamaConfig(**shape)).float()


def batch_of(seed: int, step: int, *, reciprocity: float, early: bool = False) -> list[Demonstration]:
    """A step's demonstrations, of all games; see :data:`talk.demonstrations.EARLY`."""
    of_games = [
        one
        for game in GAMES_A_STEP
        for one in demonstrations(
            game,
            seed=seed,
            batch=step,
            games=GAMES_A_STEP[game],
            rounds=ROUNDS,
            reciprocity=reciprocity,
            early=early,
        )
    ]
    return of_games + other_matrix_games(seed=seed, batch=step, games=OTHERS_A_STEP)


def question_of(demonstration: Demonstration) -> str:
    """What a model reads, to the character: one turn of Gemma's chat."""
    (message,) = chat_messages(demonstration.game, demonstration.request, Memory.LAST_ROUND)
    return f"{BOS}{TURN}{message.role}\n{message.text}{END}\n{TURN}model\n"


@dataclass(frozen=True)
class Rows:
    """Questions with their answers as tokens."""

    prompts: list[tuple[int, ...]]
    """Token ids of the questions."""
    replies: list[tuple[int, ...]]
    """Token ids of the answers, the end of the turn included."""


def rows_of(batch: Sequence[Demonstration], encoder: PromptEncoder) -> Rows:
    """Encode demonstrations; the reply is encoded by itself, as a model says it."""
    end = encoder.tokenizer.convert_tokens_to_ids(END)
    prompts = encoder.encode([question_of(one) for one in batch])
    replies = encode_all(encoder.tokenizer, [one.reply for one in batch])
    return Rows(prompts, [(*reply, end) for reply in replies])


def reply_logprobs(model: Any, rows: Rows) -> tuple[Tensor, Tensor]:
    """Log-probability of every token of every reply, [N], and the row each belongs to."""
    whole = [(*prompt, *reply) for prompt, reply in zip(rows.prompts, rows.replies, strict=True)]
    width = max(map(len, whole))
    ids_RL = torch.tensor([[*row, *[0] * (width - len(row))] for row in whole])
    # causal attention never sees the padding at the right
    hidden_RLH = model.model(input_ids=ids_RL, use_cache=False).last_hidden_state
    at = [
        (row, len(prompt) - 1 + i, token)
        for row, (prompt, reply) in enumerate(zip(rows.prompts, rows.replies, strict=True))
        for i, token in enumerate(reply)
    ]
    rows_N, places_N, tokens_N = torch.tensor(at).unbind(1)
    logits_NV = model.lm_head(hidden_RLH[rows_N, places_N])
    cap = getattr(model.config, "final_logit_softcapping", None)
    if cap is not None:
        logits_NV = cap * torch.tanh(logits_NV / cap)
    return logits_NV.log_softmax(-1).gather(1, tokens_N[:, None])[:, 0], rows_N


def train(
    model: Any,
    tokenizer: Any,
    schedule: Schedule,
    batch: Callable[[int, bool], Sequence[Demonstration]],
    *,
    report_every: int = 100,
) -> Any:
    """Train on games played afresh for each step; the same arguments give the same weights on the same machine.

    Args:
        model: with random weights.
        tokenizer: its tokenizer.
        schedule: how long and how fast.
        batch: the demonstrations of a step, and whether it lies in the first half.
        report_every: steps between two lines of progress.
    """
    encoder = PromptEncoder(tokenizer)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    begin, running = time.perf_counter(), 0.0
    for step in range(schedule.steps):
        early = step < schedule.steps // 2
        rows = rows_of(batch(step, early), encoder)
        order = sorted(range(len(rows.prompts)), key=lambda row: len(rows.prompts[row]))
        size = -(-len(order) // schedule.buckets)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            logprobs_N, _ = reply_logprobs(
                model, Rows([rows.prompts[i] for i in part], [rows.replies[i] for i in part])
            )
            loss = -logprobs_N.sum() / len(order)
            loss.backward()
            running += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate * rate_factor(step, warmup=schedule.warmup, steps=schedule.steps)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if (step + 1) % report_every == 0:
            seconds = time.perf_counter() - begin
            print(f"step {step + 1:5d}  nats a reply {running / report_every:.4f}  {seconds:5.0f} s", flush=True)
            running = 0.0
    return model.eval()
