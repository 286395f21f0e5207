"""Tiny random checkpoints of the architectures people use, written to disk as any Hugging Face model is.

Their weights are large (initializer range 0.4), so that adapters can move the logits, and their caps small, so that forgetting one shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from coplay.files.writing import write_file
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import write_prompt
from coplay.games.memory import Observation
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import encode, load_model
from coplay.models.scoring import Prompt, Scorer
from coplay.text.chat import gemma, llama

RANK, ALPHA = 2, 32.0

LLAMA_TAGS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
TAGS = {
    "gemma2": ("<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>"),
    "llama": (*LLAMA_TAGS, "<|end_of_text|>"),
    "llama_grouped": (*LLAMA_TAGS, "<|end_of_text|>"),
    "qwen2": ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    "qwen3": ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
}
"""The special tokens of each family."""

FAMILIES = tuple(TAGS)

QWEN_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

GEMMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<start_of_turn>' + message['role'].replace('assistant', 'model') + '\\n' + message['content'] + '<end_of_turn>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)

LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] + '<|eot_id|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
)

TEMPLATES = {
    "gemma2": GEMMA_TEMPLATE,
    "llama": LLAMA_TEMPLATE,
    "llama_grouped": LLAMA_TEMPLATE,
    "qwen2": QWEN_TEMPLATE,
    "qwen3": QWEN_TEMPLATE,
}
"""The chat template of each."""

_SIZE = {
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "initializer_range": 0.4,
}


def model_config(family: str, vocabulary: int, **changes: Any) -> Any:
    """A small config of the family, with its peculiarities turned up."""
    size = {**_SIZE, "vocab_size": vocabulary, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    if family == "gemma2":
        peculiar = {"query_pre_attn_scalar": 8, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
        return Gemma2Config(**{**size, **peculiar, "sliding_window": 4096, **changes})
    if family == "llama":
        return LlamaConfig(**{**size, "num_key_value_heads": 4, **changes})
    if family == "llama_grouped":  # as Llama 3.2: grouped heads, scaled rotary embedding, tied embeddings
        rope = {
            "rope_type": "llama3",
            "rope_theta": 500.0,
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
        peculiar = {"tie_word_embeddings": True, "rope_parameters": rope, "attention_bias": True}
        return LlamaConfig(**{**size, **peculiar, **changes})
    if family == "qwen2":
        return Qwen2Config(**{**size, **changes})
    return Qwen3Config(**{**size, **changes})


def small_tokenizer(family: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE with a few merges; capitals and digits stay apart."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex("[A-Z0-9]"), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    message = write_prompt(matrix_game("ipd"), "row", Observation())
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=list(TAGS[family]),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([message.text] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=TAGS[family][0],
        eos_token=TAGS[family][1],
        pad_token=TAGS[family][0],
        extra_special_tokens=list(TAGS[family]),
        chat_template=TEMPLATES[family],
        clean_up_tokenization_spaces=False,
    )


def write_checkpoint(path: Path, family: str, **changes: Any) -> Path:
    """A random model of the family with its tokenizer, in a directory."""
    torch.manual_seed(FAMILIES.index(family))
    tokenizer = small_tokenizer(family)
    model = AutoModelForCausalLM.from_config(model_config(family, len(tokenizer), **changes))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):  # initialised to zero, which would hide a bias that is forgotten
                parameter.normal_()
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@dataclass
class Bench:
    """A loaded checkpoint whose layers a bank has wrapped."""

    path: Path
    loaded: Any
    bank: AdapterBank
    scorer: Scorer

    @property
    def model(self) -> Any:
        return self.loaded.model


def make_bench(path: Path, *, slots: int = 3, seed: int = 0) -> Bench:
    """Load a checkpoint and give it ``slots`` adapters, none of which is still zero."""
    loaded = load_model(str(path), device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", i) for i in range(slots)], rank=RANK, alpha=ALPHA)
    shake(bank, seed=seed)
    return Bench(path, loaded, bank, Scorer(loaded.model, bank))


@torch.no_grad()
def shake(bank: AdapterBank, *, slots: Sequence[int] | None = None, seed: int = 0) -> None:
    """Give slots random B, large enough to matter."""
    chosen = list(range(len(bank.slots))) if slots is None else list(slots)
    generator = torch.Generator().manual_seed(seed)
    for _, b in bank.weights.values():
        b[chosen] = torch.randn(b[chosen].shape, generator=generator) * 0.02
    bank.bump_version(chosen)


def slot_states(bank: AdapterBank) -> list[dict[str, torch.Tensor]]:
    """Copies of every slot's weights."""
    return [bank.slot_state(slot) for slot in range(len(bank.slots))]


def same_state(a: Mapping[str, torch.Tensor], b: Mapping[str, torch.Tensor]) -> bool:
    """Whether two states have the same names and, to the bit, the same values."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def plain_logits(model: Any, bank: AdapterBank, slot: int, prompt: Prompt) -> torch.Tensor:
    """What the model itself says after one prompt, alone, without cache or padding."""
    with bank.route([slot]):
        logits: torch.Tensor = model(input_ids=torch.tensor([prompt]), use_cache=False).logits[0, -1].float()
    return logits


def game_prompts(loaded: Any, family: str) -> list[Prompt]:
    """Real prompts: a shared prefix, different ends."""
    game = matrix_game("ipd")
    render = {"gemma2": gemma, "llama": llama, "llama_grouped": llama}.get(family, lambda message: message.text)
    observations = [Observation(), *(Observation(last=state) for state in game.own_states("row"))]
    observations.append(Observation(last=game.own_states("row")[1], counts=(3, 0, 12, 4)))
    return [encode(loaded.tokenizer, render(write_prompt(game, "row", o))) for o in observations]


def base_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of everything frozen in the model."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def export_adapter(bank: AdapterBank, slot: int, directory: Path, *, base_model: str = "x") -> None:
    """Write a slot in PEFT's format."""
    for name, content in bank.peft_files(slot, base_model=base_model).items():
        write_file(directory, name, content)
