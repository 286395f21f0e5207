"""How long a trial of ShapeLLM takes at the paper's size: a published model's shapes with random weights, in bf16, on this machine's GPU.

    python benchmarks/gpu_trial.py --json benchmarks/results/gpu_trial.json
    python benchmarks/gpu_trial.py --shapes smollm2 --json benchmarks/results/gpu_trial_smollm2.json
    python benchmarks/gpu_trial.py --slot-by-slot --trials 1     # every slot in a pass of its own, as on a CPU
    python benchmarks/gpu_trial.py --reduced     # small shapes on the CPU: checks the script, measures nothing

Nothing is downloaded: the model is made here, from its published shapes. It is loaded, built and trained by coplay as any model is. Its
weights are random but for one thing: the action labels' embeddings are turned towards the state after a prompt, so that it answers
with a label as a real model does. A model whose every reply is illegal never sees a second prompt, and would be flattered.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ARMS = {"shaper": "shapellm/ipd", "baseline": "shapellm/ipd-baseline"}
"""Table 1's IPD row."""

PAPER_TRIALS = 250
"""Trials of each arm in the paper."""

GEMMA_2_2B = {
    "vocab_size": 256_000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "query_pre_attn_scalar": 256,
    "sliding_window": 4096,
}
"""google/gemma-2-2b's shapes; all else is Gemma2Config's default, which is Gemma 2's."""

SMOLLM2_135M = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}
"""HuggingFaceTB/SmolLM2-135M's shapes; all else is LlamaConfig's default."""

SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma-2-2b": ("gemma2", GEMMA_2_2B),
    "smollm2": ("llama", SMOLLM2_135M),
}
"""By the model's name: its architecture, as transformers calls it, and its shapes."""

REDUCED = {
    **GEMMA_2_2B,
    "vocab_size": 1024,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "query_pre_attn_scalar": 16,
}
"""With ``--reduced``."""

REDUCED_TRIAL = {"games": 2, "episodes": 2, "rounds": 4, "seeds": (0, 1)}
"""With ``--reduced``: a trial of seconds."""

PEAKS = {
    "B200": 2250e12,
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "RTX 4090": 165e12,
    "A10": 125e12,
    "L4": 121e12,
}
"""Dense bf16 FLOP/s that makers state, by what the device's name contains; the first that fits counts."""

REPLY_LOGIT = 25.0
"""Logit of a label before the cap of 30: far above a random vocabulary's, so that hardly a reply is illegal."""

TAGS = ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory() as scratch:
        family, shapes = SHAPES[options.shapes]
        shapes = REDUCED if options.reduced else shapes
        directory = write_model(Path(scratch) / "model", shapes, options.device, family=family)
        result = measured(directory, options)
    print(page(result))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reduced", action="store_true", help="small shapes on the CPU: checks the script")
    parser.add_argument("--trials", type=int, default=3, help="measured trials of each arm, after one to warm up")
    parser.add_argument("--shapes", choices=SHAPES, default="gemma-2-2b", help="of which model (default: gemma-2-2b)")
    parser.add_argument("--slot-by-slot", action="store_true", help="every slot in a pass of its own, as on a CPU")
    parser.add_argument("--unrecorded", action="store_true", help="without CUDA graphs")
    parser.add_argument("--arms", default=",".join(ARMS), help=f"which, of {','.join(ARMS)}")
    parser.add_argument("--four-bit", action="store_true", help="quantise the base model, as in the paper")
    parser.add_argument("--peak", type=float, metavar="FLOPS", help="the device's bf16 FLOP/s (default: by its name)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the measurements there")
    options = parser.parse_args(arguments)
    options.device = "cpu" if options.reduced else "cuda"
    options.arms = options.arms.split(",")
    if unknown := set(options.arms) - set(ARMS):
        parser.error(f"--arms: unknown {', '.join(sorted(unknown))}; known: {', '.join(ARMS)}")
    if options.trials < 1:
        parser.error("--trials must be at least 1")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no GPU was found; --reduced checks the script without one")
    return options


# ---------------------------------------------------------------------- the model


def write_model(path: Path, shapes: Mapping[str, Any], device: str, *, family: str = "gemma2") -> Path:
    """A random model with a tokenizer of its own, in a directory as any Hugging Face model is."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = new_tokenizer()
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            common = {"tie_word_embeddings": True, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
            config = AutoConfig.for_model(family, **shapes, **common)
            model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    finally:
        torch.set_default_dtype(before)
    teach_labels(model, tokenizer)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def messages() -> list[str]:
    """Prompts of the IPD of every kind, as Gemma reads them."""
    from coplay.games import make_game
    from coplay.games.memory import Observation
    from coplay.text.chat import gemma

    game: Any = make_game("ipd")
    states = game.own_states("row")
    seen = [Observation(), *(Observation(last=s) for s in states)]
    seen += [Observation(last=s, counts=(12, 3, 40, 25)) for s in states]
    return [gemma(game.prompt_parts("row", observation)) for observation in seen]


def new_tokenizer() -> Any:
    """Words of the prompts as single tokens, digits and capitals apart: about as many tokens a prompt as Gemma's tokenizer makes."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex("[A-Z0-9]"), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=list(TAGS), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(messages() * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        additional_special_tokens=list(TAGS[3:]),
        clean_up_tokenization_spaces=False,
    )


def teach_labels(model: Any, tokenizer: Any) -> None:
    """Turn the labels' embeddings towards the state after a prompt, so that they are the likely replies; twice, as they are read too."""
    import torch

    prompts = [tokenizer.encode(text, add_special_tokens=False) for text in messages()]
    labels = tokenizer.convert_tokens_to_ids(["C", "D"])
    table = model.get_input_embeddings().weight
    with torch.no_grad():
        own = table[labels].clone()
        for _ in range(2):
            states = [
                model.model(input_ids=torch.tensor([ids], device=table.device)).last_hidden_state for ids in prompts
            ]
            mean = torch.stack([state[0, -1].float() for state in states]).mean(0)
            table[labels] = own + (REPLY_LOGIT * mean / mean.dot(mean)).to(table.dtype)


# ---------------------------------------------------------------------- the measurement


def measured(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Every arm's time, memory and arithmetic."""
    import torch

    from coplay.models.loading import encode, load_tokenizer
    from coplay.runs.environment import environment

    tokenizer = load_tokenizer(str(directory))
    result: dict[str, Any] = {
        "version": 1,
        "reduced": options.reduced,
        "shapes": options.shapes,
        "slot_by_slot": options.slot_by_slot,
        "unrecorded": options.unrecorded,
        "four_bit": options.four_bit,
        "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
        "environment": {key: environment()[key] for key in ("python", "platform", "packages")},
        "prompt_tokens": sorted(len(encode(tokenizer, text)) for text in messages()),
        "trials": options.trials,
    }
    peak = options.peak or next((value for name, value in PEAKS.items() if name in result["device"]), None)
    result["arms"] = {arm: measured_arm(directory, arm, peak, options) for arm in options.arms}
    result["peak_flops"] = peak
    seconds = sum(arm["seconds"] for arm in result["arms"].values())
    result["row_hours"] = None if options.reduced or len(options.arms) < 2 else seconds * PAPER_TRIALS / 3600
    return result


def measured_arm(directory: Path, arm: str, peak: float | None, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds a trial, peak memory, and how much arithmetic that is."""
    import torch
    from pass_counts import counting, flops

    from coplay.models.packed_grid import PackedGrid
    from coplay.recipes import make_config
    from coplay.runs.factory import build

    changes = {"model": str(directory), "four_bit": options.four_bit, "seeds": tuple(range(5)), "workers": 1}
    changes |= {"threads": 1, **REDUCED_TRIAL} if options.reduced else {}
    config = make_config(ARMS[arm], scale="paper").model_copy(update=changes)
    state = build(config)
    scorer = next(iter(state.learners.values())).policy.scorer  # of both learners
    scorer.shares_passes = not options.slot_by_slot
    if options.unrecorded and scorer.packed is not None:
        scorer.decoder = PackedGrid(scorer.packed.decoder)
    cuda = options.device == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    state.run_trial(0)
    print(f"{arm}: warming up took {time.perf_counter() - begin:.2f} s", file=sys.stderr, flush=True)
    times, illegal = [], 0.0
    for trial in range(1, options.trials + 1):
        begin = time.perf_counter()
        with counting(scorer) as counts:
            lines = state.run_trial(trial).lines
        if cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
        print(f"{arm}: trial {trial} took {times[-1]:.2f} s", file=sys.stderr, flush=True)
        illegal = sum(line["illegal/row"] + line["illegal/column"] for line in lines.values()) / (2 * len(lines))
    memory = torch.cuda.max_memory_allocated() if cuda else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _, shapes = SHAPES[options.shapes]
    operations = None if options.slot_by_slot else flops(counts, REDUCED if options.reduced else shapes)
    seconds = median(times)
    return {
        "seconds": seconds,
        "all_seconds": times,
        "peak_memory_bytes": memory,
        "counts": {f"{what}{', learning' * learns}": number for (what, learns), number in sorted(counts.items())},
        "flops": operations,
        "achieved_flops": None if operations is None else operations / seconds,
        "share_of_peak": None if operations is None or peak is None else operations / seconds / peak,
        "illegal": illegal,
        "seeds": len(config.seeds),
        "games": config.games,
        "episodes": config.episodes,
        "rounds": config.rounds,
    }


def page(result: dict[str, Any]) -> str:
    """The measurements as Markdown."""
    tokens = result["prompt_tokens"]
    kind = f"{result['shapes']}'s shapes, random weights"
    kind = "reduced shapes: a check, not a measurement" if result["reduced"] else kind
    kind += ", slot by slot" if result["slot_by_slot"] else ", without graphs" if result["unrecorded"] else ""
    kind += ", 4 bits" if result["four_bit"] else ""
    lines = [
        f"{result['device']}, {kind}; prompts of {tokens[0]} to {tokens[-1]} tokens; median of {result['trials']} trials.",
        "",
        "| arm | seconds a trial | peak memory | arithmetic a trial | FLOP/s | share of the peak | illegal |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, arm in result["arms"].items():
        counted, share = arm["flops"] is not None, arm["share_of_peak"]
        arithmetic = (
            f"{arm['flops'] / 1e12:.3g} TFLOP | {arm['achieved_flops'] / 1e12:.3g} T" if counted else "not counted | "
        )
        peak = "" if not counted else "not known: give --peak" if share is None else f"{share:.1%}"
        memory = f"{arm['peak_memory_bytes'] / 2**30:.1f} GiB"
        lines.append(f"| {name} | {arm['seconds']:.2f} | {memory} | {arithmetic} | {peak} | {arm['illegal']:.1%} |")
    if result["row_hours"] is not None:
        lines += [
            "",
            f"Table 1's IPD row, both arms, five seeds together, {PAPER_TRIALS} trials each, without the evaluation:"
            f" {result['row_hours']:.1f} hours.",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
