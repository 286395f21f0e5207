"""Supervised fine-tuning from random weights: KL from a sparse target over the legal labels (ShapeLLM, appendix A.9)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from building import rate_factor
from torch.nn.functional import scaled_dot_product_attention
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.models.llama.modeling_llama import rotate_half

from coplay.rng import stream, stream_seed
from tiny.prompts import sample, text
from tiny.targets import PromptSpec, target
from tiny.tokenizer import BOS, END, EOS, PAD

POSITIONS = 512


@dataclass(frozen=True)
class Schedule:
    """How the model is trained."""

    steps: int = 3000
    """Optimiser steps."""
    batch: int = 256
    """Prompts a step, drawn fresh."""
    buckets: int = 16
    """Pieces of similar length a batch is cut into, to save padding."""
    rate: float = 5e-3
    """Peak learning rate of embeddings and norms (AdamW)."""
    matrix_rate: float = 0.012
    """Peak learning rate of the projections (Muon)."""
    warmup: int = 100
    """Steps over which the rates rise linearly; then they fall to zero along a cosine."""
    decay: float = 0.01
    """Weight decay of the projections."""
    ending: float = 0.05
    """Weight of the loss on what follows the label, the end of the turn."""


def new_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """A small Llama with random weights."""
    ids = tokenizer.convert_tokens_to_ids
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        initializer_range=0.05,
        pad_token_id=ids(PAD),
        bos_token_id=ids(BOS),
        eos_token_id=[ids(EOS), ids(END)],
    )
    torch.manual_seed(stream_seed(seed, "initial weights") % 2**31)
    return LlamaForCausalLM(config).float()


@dataclass(frozen=True)
class Batch:
    """Prompts with their targets, R rows of one bucket."""

    tokens_RL: torch.Tensor
    """Prompt, one legal label, padding. Padding follows, and attention is causal, so no mask is needed."""
    last_R: torch.Tensor
    """Position of the prompt's last token."""
    labels_RA: torch.Tensor
    """Token ids of the legal labels, padded with the first one."""
    target_RA: torch.Tensor
    """Their target probabilities, padded with 0."""


def make_batches(
    specs: Sequence[PromptSpec], tokenizer: PreTrainedTokenizerFast, *, reciprocity: float, buckets: int
) -> list[Batch]:
    """Tokenise prompts and cut them into buckets of similar length."""
    encoded = [e.ids for e in tokenizer.backend_tokenizer.encode_batch_fast([text(s) for s in specs])]
    order = sorted(range(len(specs)), key=lambda i: len(encoded[i]))
    size = -(-len(order) // buckets)
    return [
        _batch([specs[i] for i in rows], [encoded[i] for i in rows], tokenizer, reciprocity)
        for rows in (order[k : k + size] for k in range(0, len(order), size))
    ]


def _batch(
    specs: Sequence[PromptSpec],
    encoded: Sequence[list[int]],
    tokenizer: PreTrainedTokenizerFast,
    reciprocity: float,
) -> Batch:
    width = max(len(s.labels) for s in specs)
    length = max(map(len, encoded)) + 1
    labels, targets, tokens = [], [], []
    for spec, prompt in zip(specs, encoded, strict=True):
        ids = tokenizer.convert_tokens_to_ids(list(spec.labels))
        probs = target(spec, reciprocity=reciprocity)
        labels.append(ids + ids[:1] * (width - len(ids)))
        targets.append([*probs, *[0.0] * (width - len(ids))])
        reply = ids[len(prompt) % len(ids)]
        tokens.append([*prompt, reply, *[tokenizer.pad_token_id] * (length - len(prompt) - 1)])
    return Batch(
        torch.tensor(tokens),
        torch.tensor([len(prompt) - 1 for prompt in encoded]),
        torch.tensor(labels),
        torch.tensor(targets),
    )


def log_probs(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """Log-probabilities of the token after the prompt, [R, V], by the model's own forward pass."""
    hidden_RLH = model.model(input_ids=batch.tokens_RL, use_cache=False).last_hidden_state
    rows = torch.arange(len(batch.last_R))
    return model.lm_head(hidden_RLH[rows, batch.last_R]).log_softmax(-1)


def hidden_at(model: LlamaForCausalLM, tokens_RL: torch.Tensor, positions_RK: torch.Tensor) -> torch.Tensor:
    """The model's final hidden states at K positions a row, [R, K, H].

    The same numbers as the model's own forward pass in two thirds of the time: in the last layer, other positions are only
    attended to, so they need keys and values but neither queries nor an MLP.
    """
    trunk, length = model.model, tokens_RL.shape[1]
    x_RLH = trunk.embed_tokens(tokens_RL)
    cos, sin = trunk.rotary_emb(x_RLH, position_ids=torch.arange(length)[None])
    for layer in trunk.layers[:-1]:
        x_RLH = layer(x_RLH, attention_mask=None, position_embeddings=(cos, sin))
    layer, rows = trunk.layers[-1], torch.arange(len(tokens_RL))[:, None]
    attention = layer.self_attn

    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)

    def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        return x * cos[:, None] + rotate_half(x) * sin[:, None]

    inputs_RLH = layer.input_layernorm(x_RLH)
    query = rotated(heads(attention.q_proj(inputs_RLH[rows, positions_RK])), cos[0][positions_RK], sin[0][positions_RK])
    key, value = rotated(heads(attention.k_proj(inputs_RLH)), cos, sin), heads(attention.v_proj(inputs_RLH))
    visible = (torch.arange(length) <= positions_RK[..., None])[:, None]
    attended = scaled_dot_product_attention(query, key, value, attn_mask=visible)
    x_RKH = x_RLH[rows, positions_RK] + attention.o_proj(attended.transpose(1, 2).flatten(2))
    return trunk.norm(x_RKH + layer.mlp(layer.post_attention_layernorm(x_RKH)))


def batch_loss(model: LlamaForCausalLM, batch: Batch, *, end: int, ending: float) -> torch.Tensor:
    """Sum over rows of KL(target || model) at the reply, plus the weighted loss of ending the turn after it."""
    hidden_RKH = hidden_at(model, batch.tokens_RL, torch.stack([batch.last_R, batch.last_R + 1], dim=1))
    reply_RV, after_RV = model.lm_head(hidden_RKH).log_softmax(-1).unbind(1)
    legal_RA = reply_RV.gather(1, batch.labels_RA)
    kl = (torch.xlogy(batch.target_RA, batch.target_RA) - batch.target_RA * legal_RA).sum()
    return kl - ending * after_RV[:, end].sum()


def train(
    tokenizer: PreTrainedTokenizerFast, schedule: Schedule, *, seed: int, reciprocity: float, report_every: int = 100
) -> LlamaForCausalLM:
    """Train a new model; the same arguments give the same weights on the same machine."""
    model = new_model(tokenizer, seed)
    end = tokenizer.convert_tokens_to_ids(END)
    optimizers = _optimizers(model, schedule)
    begin, running = time.perf_counter(), 0.0
    for step in range(schedule.steps):
        rng = stream(seed, "prompts", step)
        batches = make_batches(
            [sample(rng) for _ in range(schedule.batch)], tokenizer, reciprocity=reciprocity, buckets=schedule.buckets
        )
        for batch in batches:
            loss = batch_loss(model, batch, end=end, ending=schedule.ending) / schedule.batch
            loss.backward()
            running += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, peak in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = peak * rate_factor(step, warmup=schedule.warmup, steps=schedule.steps)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if (step + 1) % report_every == 0:
            seconds = time.perf_counter() - begin
            print(f"step {step + 1:5d}  loss {running / report_every:.4f}  {seconds:5.0f} s", flush=True)
            running = 0.0
    return model.eval()


def _optimizers(model: LlamaForCausalLM, schedule: Schedule) -> list[tuple[torch.optim.Optimizer, float]]:
    """Muon for the projections, AdamW for the rest, each with its peak rate."""
    projections = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    muon = torch.optim.Muon(
        projections, lr=schedule.matrix_rate, weight_decay=schedule.decay, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.AdamW(others, lr=schedule.rate, betas=(0.9, 0.98), weight_decay=0.0)
    return [(muon, schedule.matrix_rate), (adam, schedule.rate)]
