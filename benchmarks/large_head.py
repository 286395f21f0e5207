"""Log-probabilities of a reply under a head of 262,144 words, with gradients: peak memory and time, chunk by chunk and all at once.

    python benchmarks/large_head.py

Each way runs in a process of its own, on random hidden states and a random frozen head in single precision. Memory is what a process needs at most
beyond what it had before the first pass. 512 tokens take up to 5 GiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

WAYS = {
    "at once": "logits of all tokens, autograd",
    "checkpointed": "64 tokens at a time, torch.utils.checkpoint",
    "coplay": "64 tokens at a time, coplay.models.large_head",
}


def main() -> None:
    options = _arguments()
    if options.way:
        print(json.dumps(measured(options)))
        return
    print(
        f"{options.tokens} tokens, {options.words:,} words, hidden width {options.width}, {options.threads} thread(s)\n"
    )
    print("| way | peak memory | seconds | largest difference of a gradient |\n|---|---|---|---|")
    for way, what in WAYS.items():
        command = [sys.executable, __file__, *sys.argv[1:], "--way", way]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(f"| {what} | {found['MiB']:,.0f} MiB | {found['seconds']:.2f} | {found['difference']:.1e} |", flush=True)


def measured(options: argparse.Namespace) -> dict[str, float]:
    """Peak memory, the median time of a forward and backward pass, and how far its gradient is from that of a few tokens done exactly."""
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    head = torch.nn.Linear(options.width, options.words, bias=False).requires_grad_(False)
    hidden_NH = torch.randn(options.tokens, options.width)
    tokens_N = torch.randint(options.words, (options.tokens,))
    compute = _way(options.way, head)
    before, seconds = _peak(), []
    for _ in range(options.repeat):
        leaf, start = hidden_NH.clone().requires_grad_(), time.perf_counter()
        logprobs_N, entropies_N = compute(leaf, tokens_N)
        (logprobs_N.sum() + 0.1 * entropies_N.sum()).backward()
        seconds.append(time.perf_counter() - start)
    memory = _peak() - before
    few = hidden_NH[:8].double().requires_grad_()
    logprobs_NV = torch.log_softmax(few @ head.weight.double().T / 0.8, -1)
    entropy = -(logprobs_NV.exp() * logprobs_NV).sum()
    (logprobs_NV.gather(1, tokens_N[:8, None]).sum() + 0.1 * entropy).backward()
    assert leaf.grad is not None and few.grad is not None
    difference = float((leaf.grad[:8] - few.grad).abs().max())
    return {"MiB": memory, "seconds": statistics.median(seconds), "difference": difference}


def _way(name: str, head: object) -> Callable[..., tuple[object, object]]:
    import torch
    from torch.utils.checkpoint import checkpoint

    from coplay.models.large_head import Reading, token_scores

    def at_once(hidden, tokens):  # type: ignore[no-untyped-def]
        logprobs = torch.log_softmax(head(hidden).float() / 0.8, -1)  # type: ignore[operator]
        return logprobs.gather(1, tokens[:, None])[:, 0], -(logprobs.exp() * logprobs).sum(-1)

    def checkpointed(hidden, tokens):  # type: ignore[no-untyped-def]
        parts = zip(hidden.split(64), tokens.split(64), strict=True)
        found = [checkpoint(at_once, *part, use_reentrant=False) for part in parts]
        return tuple(torch.cat(part) for part in zip(*found, strict=True))

    ours = Reading(0.8, None, 64)
    ways = {"at once": at_once, "checkpointed": checkpointed, "coplay": lambda h, t: token_scores(h, head, t, ours)}  # type: ignore[arg-type]
    return ways[name]


def _peak() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _arguments() -> argparse.Namespace:
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--tokens", type=int, default=512, help="tokens of the reply (default: 512)")
    found.add_argument("--words", type=int, default=262_144, help="words of the vocabulary (default: 262,144)")
    found.add_argument("--width", type=int, default=256, help="hidden width (default: 256)")
    found.add_argument("--threads", type=int, default=1, help="CPU threads (default: 1)")
    found.add_argument("--repeat", type=int, default=3, help="passes, of which the median counts (default: 3)")
    found.add_argument("--way", choices=list(WAYS), help=argparse.SUPPRESS)
    return found.parse_args()


if __name__ == "__main__":
    main()
