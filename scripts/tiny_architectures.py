"""Tiny random models of every causal language model class of Transformers for which a tiny config can be made.

Configs are made by shrinking a class's default: numbers by name, lists to the layers that are left. Weights are large, so that attention, positions and
windows show in the logits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

LAYERS = 4
"""Layers of a tiny model, so that every kind of layer is there."""

SIZES: Mapping[str, object] = {
    **dict.fromkeys(
        ("hidden_size", "n_embd", "d_model", "dim", "word_embed_proj_dim", "embedding_size", "lru_width"), 32
    ),
    **dict.fromkeys(
        ("intermediate_size", "ffn_dim", "n_inner", "dense_ffn_hidden_size", "intermediate_size_mlp", "dff"), 40
    ),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "shared_intermediate_size"), 40),
    **dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers"), LAYERS
    ),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "linear_num_value_heads", "mamba_n_heads", "mamba_num_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "linear_num_key_heads", "num_global_key_value_heads"), 2),
    **dict.fromkeys(("head_dim", "linear_key_head_dim", "linear_value_head_dim", "v_head_dim", "global_head_dim"), 8),
    **dict.fromkeys(("kv_lora_rank", "state_size", "mamba_d_state", "ssm_state_size", "index_head_dim"), 8),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "rotary_dim", "dim_head"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "q_lora_rank", "time_step_rank"), 16),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "mamba_d_ssm", "mamba_dt_rank", "o_lora_rank"), 16),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "moe_k", "num_experts_per_token", "top_k_experts"), 2),
    **dict.fromkeys(("n_group", "topk_group", "n_shared_experts", "num_shared_experts", "moe_num_shared_experts"), 1),
    **dict.fromkeys(("sliding_window", "attention_chunk_size", "window_size", "attention_window"), 16),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length"), 256),
    **dict.fromkeys(("mamba_n_groups", "n_groups", "mamba_ngroups"), 1),
    "mamba_expand": 1,
    "hidden_size_per_layer_input": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "index_topk": 512,
    "first_k_dense_replace": 1,
}
"""What numbers of a config become, by name."""

OF_LAYERS = re.compile(
    r"(layer_types|block_types?|layers_block_type|mlp_layer_types|layer_type_list|is_moe|no_rope_layers)$"
)
"""Lists with an item a layer."""

LATENT: Mapping[str, object] = {
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "head_dim", "v_head_dim"), 8),
    "qk_head_dim": 16,
    "num_key_value_heads": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
}
"""Heads of latent attention, whose rotary part is the head of the config."""

MAMBA = {"mamba_expand": 2, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_ssm": 64}
"""Heads of a state space that is twice as wide as the model."""

SPECIAL: Mapping[str, Mapping[str, object]] = {
    **dict.fromkeys(
        ("axk1", "axk2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "glm4_moe_lite", "youtu", "minicpm3"), LATENT
    ),
    **dict.fromkeys(("bamba", "falcon_h1", "granitemoehybrid"), MAMBA),
    "deepseek_v2": {**LATENT, "num_experts_per_tok": 2, "topk_method": "greedy", "n_group": 1, "topk_group": 1},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 16, "num_experts_per_tok": 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "attention_layers": ["global", "local"] * 2},
    **{key: {"head_dim": 8} for key in ("ministral", "hunyuan_v1_dense", "hunyuan_v1_moe")},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "mamba2": {"num_heads": 8, "head_dim": 8, "expand": 2, "n_groups": 1},
    "laguna": {"num_attention_heads_per_layer": [4] * LAYERS},
    "zaya": {"num_experts_per_tok": 1},
    "xlnet": {"d_head": 8},
    "reformer": {"is_decoder": True, "axial_pos_embds_dim": [16, 16], "axial_pos_shape": [16, 16]},
    "xlm": {"emb_dim": 32, "n_heads": 4},
    "zamba": {"attention_hidden_size": 64, "attention_head_dim": 16, "attn_layer_period": 2, "attn_layer_offset": 1},
    "zamba2": {
        "attention_hidden_size": 64,
        "attention_head_dim": 16,
        "mamba_headdim": 16,
        "n_mamba_heads": 4,
        "kv_channels": 8,
    },
    "roc_bert": {
        "pronunciation_embed_dim": 8,
        "pronunciation_vocab_size": 9,
        "shape_embed_dim": 8,
        "shape_vocab_size": 9,
    },
    **{key: {"layer_types": ["conv", "full_attention"] * 2} for key in ("lfm2", "lfm2_moe")},
    "xlstm": {"embedding_dim": 32, "hidden_size": 32, "num_blocks": LAYERS},
    **{
        key: {"intermediate_size": [40] * LAYERS, "activation_sparsity_pattern": [0.0] * LAYERS}
        for key in ("gemma3n_text",)
    },
    **{key: {"per_layer_config": None} for key in ("gemma4_text", "gemma4_unified_text", "dots3_note_text")},
    "longcat_flash": {**LATENT, "zero_expert_num": 2, "expert_ffn_hidden_size": 16, "num_layers": 2},
}
"""What single classes need besides."""


def shrunk(config: Mapping[str, Any], words: int) -> dict[str, Any]:
    """A default config, smaller."""
    small: dict[str, Any] = {}
    for key, value in config.items():
        if key == "per_layer_config":  # by the numbers of layers that are no longer there
            small[key] = None
        elif isinstance(value, Mapping) and re.search("config$", key):
            small[key] = shrunk(value, words)
        elif isinstance(value, list) and OF_LAYERS.search(key) and value:
            small[key] = _kinds(value)
        elif key in ("vocab_size", "vocab_size_per_layer_input") and isinstance(value, int):
            small[key] = words
        elif key in SIZES and isinstance(value, int) and not isinstance(value, bool):
            small[key] = SIZES[key]
        else:
            small[key] = value
    return small


def _kinds(layers: list[Any]) -> list[Any]:
    """As many layers as there are left, each kind in turn."""
    kinds = [one for i, one in enumerate(layers) if one not in layers[:i]]
    return (kinds * LAYERS)[:LAYERS]


def tiny_config(model_type: str, words: int) -> Any:
    """The tiny config of a model type; raises whatever its class raises if there is none."""
    from transformers import CONFIG_MAPPING

    cls = CONFIG_MAPPING[model_type]
    default = shrunk(cls().to_dict(), words)
    for key, value in SPECIAL.get(model_type, {}).items():
        default[key] = value
    return cls(**{key: value for key, value in default.items() if value is not DROPPED})


DROPPED = object()
"""A setting that is left to the class."""


TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@lru_cache(maxsize=1)
def tiny_tokenizer() -> Any:
    """Byte-level, trained on one prompt of the dilemma; capitals are tokens of their own."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from coplay.games.catalogue import matrix_game
    from coplay.games.choice_prompts import write_prompt
    from coplay.games.memory import Observation

    tags = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = Tokenizer(models.BPE())
    capitals = pre_tokenizers.Split(Regex("[A-Z0-9]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([capitals, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=tags, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([write_prompt(matrix_game("ipd"), "row", Observation()).text] * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


def write_tiny(model_type: str, directory: Path, tokenizer: Any) -> Any:
    """A random model of a type with its tokenizer, in a directory; returns the model."""
    import torch
    from transformers import AutoModelForCausalLM

    config = tiny_config(model_type, len(tokenizer))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return model
