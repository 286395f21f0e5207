"""Tiny random models of every causal language model class of Transformers for which a tiny config can be made.

Configs are made by shrinking a class's default: numbers by name, lists to the layers that are left. Weights are large, so that attention, positions and
windows show in the logits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

LAYERS = 4
"""Layers of a tiny model, so that every kind of layer is there."""

OF_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers")
"""What configs call the number of layers."""

SIZES: Mapping[str, object] = {
    **dict.fromkeys(
        ("hidden_size", "n_embd", "d_model", "dim", "word_embed_proj_dim", "embedding_size", "lru_width"), 32
    ),
    **dict.fromkeys(
        ("intermediate_size", "ffn_dim", "n_inner", "dense_ffn_hidden_size", "intermediate_size_mlp", "dff"), 40
    ),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_hidden_size", "shared_intermediate_size"), 40),
    **dict.fromkeys(OF_LAYERS, LAYERS),
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
    **dict.fromkeys(
        ("sliding_window", "sliding_window_size", "attention_chunk_size", "window_size", "attention_window"), 16
    ),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length"), 256),
    **dict.fromkeys(("chunk_size", "mamba_chunk_size", "linear_attn_chunk_size"), 16),
    **dict.fromkeys(("mamba_n_groups", "n_groups", "mamba_ngroups"), 1),
    "hidden_size_global": 32,
    "encoder_hash_byte_group_vocab": 500,
    "mamba_expand": 1,
    "hidden_size_per_layer_input": 8,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "index_topk": 24,
    **dict.fromkeys(("local_attention", "local_attention_window_len", "keep_window_size", "block_size"), 16),
    **dict.fromkeys(("index_block_size", "floor_scale", "log_scaling_n_floor", "rel_extent"), 16),
    **dict.fromkeys(("dim_ff", "dense_intermediate_size", "shared_experts_intermediate_size"), 40),
    **dict.fromkeys(("position_bias_num_buckets", "position_bias_max_distance"), 32),
    **dict.fromkeys(("max_seq_len", "n_ctx"), 256),
    "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 2,
    "swa_head_dim": 8,
    "first_k_dense_replace": 1,
    "original_max_position_embeddings": 64,
}
"""What numbers of a config become, by name."""

LATENT: Mapping[str, object] = {
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "head_dim", "v_head_dim"), 8),
    "qk_head_dim": 16,
    "num_key_value_heads": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
}
"""Heads of latent attention, whose rotary part is the head of the config."""

MAMBA = {"mamba_expand": 2, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_ssm": 64}
"""Heads of a state space that is twice as wide as the model."""

TWO_KINDS = {"layer_types": ["sliding_attention", "full_attention"] * 2}
"""Every other layer has a window."""

SHARED_KEYS = {**TWO_KINDS, "num_kv_shared_layers": 2, "global_head_dim": 16, "hidden_size_per_layer_input": 8}
"""The upper layers read the keys and values of the lower ones, and get embeddings of their own."""

LONG_ROPE = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "rope_theta": 1e4}
"""Rotary embeddings that are others in rows longer than the original ones."""

DECODER = {"is_decoder": True}
"""What makes an encoder causal."""

SPECIAL: Mapping[str, Mapping[str, object]] = {
    **dict.fromkeys(
        ("axk1", "axk2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "glm4_moe_lite", "youtu", "minicpm3"), LATENT
    ),
    **dict.fromkeys(
        ("bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert"),
        DECODER,
    ),
    **dict.fromkeys(
        ("rembert", "roberta", "roberta-prelayernorm", "roformer", "xlm-roberta", "xlm-roberta-xl"), DECODER
    ),
    "xmod": {**DECODER, "default_language": "en_XX"},
    "falcon_h1": MAMBA,
    "bamba": {**MAMBA, "attn_layer_indices": [1, 3]},
    "granitemoehybrid": {**MAMBA, "layer_types": ["mamba", "attention"] * 2},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "bailing_hybrid": {**LATENT, "num_expert_group": 2, "linear_num_heads": 4, "linear_head_dim": 8},
    "cohere_compass_text": {
        **TWO_KINDS,
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e4} for kind in ("sliding_attention", "full_attention")
        },
    },
    "deepseek_v2": {**LATENT, "num_experts_per_tok": 2, "topk_method": "greedy", "n_group": 1, "topk_group": 1},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 16, "num_experts_per_tok": 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "attention_layers": ["global", "local"] * 2},
    **{key: {"head_dim": 8} for key in ("ministral", "hunyuan_v1_dense", "hunyuan_v1_moe")},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "mamba2": {"num_heads": 8, "head_dim": 8, "expand": 2, "n_groups": 1},
    "laguna": {"num_attention_heads_per_layer": [4] * LAYERS},
    "kimi_linear": {**LATENT, "linear_num_heads": 4, "linear_head_dim": 8},
    "rwkv": {"attention_hidden_size": 32, "context_length": 256},
    "zaya": {"num_experts_per_tok": 1},
    "xlnet": {"d_head": 8},
    "reformer": {"is_decoder": True, "axial_pos_embds_dim": [16, 16], "axial_pos_shape": [16, 32]},
    "xlm": {"emb_dim": 32, "n_heads": 4, "causal": True},
    "zamba": {
        "attention_hidden_size": 64,
        "attention_head_dim": 16,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
    },
    "zamba2": {
        "attention_hidden_size": 64,
        "attention_head_dim": 16,
        "mamba_expand": 2,
        "mamba_headdim": 16,
        "n_mamba_heads": 4,
        "kv_channels": 8,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "hybrid_layer_ids": [1, 3],
    },
    "roc_bert": {
        **DECODER,
        "pronunciation_embed_dim": 8,
        "pronunciation_vocab_size": 9,
        "shape_embed_dim": 8,
        "shape_vocab_size": 9,
    },
    **{key: {"layer_types": ["conv", "full_attention"] * 2} for key in ("lfm2", "lfm2_moe")},
    "xlstm": {"embedding_dim": 32, "hidden_size": 32, "num_blocks": LAYERS},
    "gemma3n_text": {**SHARED_KEYS, "activation_sparsity_pattern": [0.5, 0.0] * 2, "laurel_rank": 8},
    **dict.fromkeys(("gemma4_text", "gemma4_unified_text"), SHARED_KEYS),
    "dots3_note_text": {
        **LATENT,
        "layer_types": ["indexed_attention", "sliding_attention"] * 2,
        "num_attention_heads": 4,
        "rope_parameters": None,
        **{f"swa_{key}": 4 for key in ("num_attention_heads", "num_key_value_heads")},
        **{f"swa_{key}": 8 for key in ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "v_head_dim")},
        "swa_head_dim": 16,
    },
    "qwen4_exp_text": {
        "hc_lowrank": 8,
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 16,
        "indexer_compress_ratio": 4,
    },
    "phi3": {"rope_parameters": LONG_ROPE},
    "gemma4_assistant": {
        "text_config": {
            "hidden_size_per_layer_input": 0,
            "vocab_size_per_layer_input": 0,
            "num_kv_shared_layers": LAYERS,
        }
    },
    "dots3_note_vision_encoder": {"adapter_in_dim": 32, "adapter_out_dim": 32},
    "dots3_note_audio_encoder": {"adapter_input_size": 32, "adapter_out_dim": 32},
    "longcat_flash": {**LATENT, "zero_expert_num": 2, "expert_ffn_hidden_size": 16, "num_layers": 2},
}
"""What single classes need besides, by the model type of the config or of one in it."""


STARTS: Mapping[str, Mapping[str, object]] = {
    "dbrx": {"attn_config": {"rope_theta": 1e4, "kv_n_heads": 2, "clip_qkv": 8.0}},
    "gemma4_assistant": {
        "text_config": {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    },
}
"""What classes need to make their default config."""


def shrunk(config: Mapping[str, Any], words: int) -> dict[str, Any]:
    """A default config, smaller."""
    layers = next((config[key] for key in OF_LAYERS if isinstance(config.get(key), int)), 0)
    kept = _layers_kept(config, layers)
    small: dict[str, Any] = {}
    for key, value in config.items():
        if key == "per_layer_config":  # by the numbers of layers that are no longer there; the class makes it anew
            continue
        if isinstance(value, Mapping) and key.endswith(("config", "rope_parameters")):
            small[key] = shrunk(value, words)
        elif isinstance(value, list) and layers and len(value) == layers:
            small[key] = [_smaller(key, value[layer], words) for layer in kept]
        else:
            small[key] = _smaller(key, value, words)
    return _merged(small, SPECIAL.get(str(config.get("model_type")), {}))


def _merged(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with changes; those of a config in it are merged as well."""
    deep = {key: _merged(settings[key], value) for key, value in changes.items() if key.endswith("config")}
    return {**settings, **changes, **deep}


def _layers_kept(config: Mapping[str, Any], layers: int) -> list[int]:
    """The layers that stay, in order: each kind of layer that the config's lists name at least once, as far as there is room."""
    lists = [value for value in config.values() if isinstance(value, list) and layers and len(value) == layers]
    kinds = [tuple(str(one[layer]) for one in lists) for layer in range(layers)]
    firsts = [layer for layer, kind in enumerate(kinds) if kind not in kinds[:layer]]
    others = [layer for layer in range(layers) if layer not in firsts]
    return sorted((firsts + others)[:LAYERS])


def _smaller(key: str, value: object, words: int) -> object:
    """One number of a config."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return words if key in ("vocab_size", "vocab_size_per_layer_input") else SIZES.get(key, value)


def tiny_config(model_type: str, words: int) -> Any:
    """The tiny config of a model type; raises whatever its class raises if there is none."""
    from transformers import CONFIG_MAPPING

    cls = CONFIG_MAPPING[model_type]
    return cls(**shrunk(cls(**STARTS.get(model_type, {})).to_dict(), words))


TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@lru_cache(maxsize=1)
def tiny_tokenizer() -> Any:
    """Byte-level, trained on prompts of the dilemma, so that these are short; capitals are tokens of their own."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    from coplay.games import make_game
    from coplay.games.catalogue import matrix_game
    from coplay.games.choice_prompts import write_prompt
    from coplay.games.memory import Observation

    tags = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = Tokenizer(models.BPE())
    capitals = pre_tokenizers.Split(Regex("[A-Z0-9]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([capitals, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=tags, initial_alphabet=alphabet, show_progress=False)
    prompts = [write_prompt(matrix_game("ipd"), "row", Observation()).text, make_game("ipd-ab").rules("alice")]
    tokenizer.train_from_iterator(prompts * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


def tiny_model(model_type: str, architecture: str, words: int) -> Any:
    """A random model of a type; raises whatever its class raises if there is none."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = tiny_config(model_type, words)
    cls = getattr(transformers, architecture)
    try:
        model = transformers.AutoModelForCausalLM.from_config(config)
    except (ValueError, AttributeError):
        if cls.config_class.model_type == model_type:
            raise
        model = cls(tiny_config(cls.config_class.model_type, words))
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25)
    return model


def write_tiny(model_type: str, architecture: str, directory: Path) -> Any:
    """A random model of a type with the tokenizer, in a directory; returns the model."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(model_type, architecture, len(tokenizer))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return model
