"""The smallest share of illegal replies that any last hidden state of a model can have: what no adapter below the head can improve on.

    python scripts/least_illegal.py tiny tiny-second --labels C,D

Adapters change the state that enters a model's last norm, and neither the norm nor the head behind it. This looks for the state, by
gradients from a few starts, whose reply is a label as often as can be: wherever it likes, and where both labels are to be equally likely.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

STARTS, STEPS, RATE = 3, 1500, 0.05
EQUAL_WEIGHT = 10.0
"""Of the squared distance of a label's share from one half, where both are to be equally likely."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", help="names of `coplay models`, directories or Hub ids")
    parser.add_argument("--labels", default="C,D", help="the two labels")
    options = parser.parse_args(arguments)
    print("| model | least illegal | with both labels equally likely |\n|---|---|---|")
    for model in options.models:
        free, equal = least_illegal(model, options.labels.split(","))
        print(f"| {model} | {free:.2%} | {equal:.2%} |")
    return 0


def least_illegal(model: str, labels: Sequence[str]) -> tuple[float, float]:
    """The smallest shares found: by any state, and by those with both labels equally likely."""
    from coplay.models.admission import base_scorer
    from coplay.models.labels import reply_tokens
    from coplay.models.loading import load_model

    loaded = load_model(model, device="cpu")
    tokens, scorer = list(reply_tokens(loaded.tokenizer, "", labels)), base_scorer(loaded)

    def label_logprobs(state_H: Tensor) -> Tensor:
        return scorer.logits(loaded.model.get_decoder().norm(state_H[None]))[0].log_softmax(-1)[tokens]

    free, equal = (least(label_logprobs, loaded.model.config.hidden_size, equal=equal) for equal in (False, True))
    return free, equal


def least(label_logprobs: Callable[[Tensor], Tensor], width: int, *, equal: bool) -> float:
    """The smallest share of the words that are no labels, over states of that width."""
    import torch

    found = []
    for start in range(STARTS):
        generator = torch.Generator().manual_seed(start)
        state_H = torch.randn(width, generator=generator).requires_grad_()
        adam = torch.optim.Adam([state_H], lr=RATE)
        for _ in range(STEPS):
            own = label_logprobs(state_H)
            legal = torch.logsumexp(own, 0)
            loss = -legal + EQUAL_WEIGHT * equal * ((own[0] - legal).exp() - 0.5).square()
            adam.zero_grad()
            loss.backward()
            adam.step()
        found.append(1.0 - float(legal.detach().exp()))
    return min(found)


if __name__ == "__main__":
    raise SystemExit(main())
