"""A small data set of demonstrations, and settings that learn it in seconds."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from coplay.experiments.demonstrate import demonstrate
from coplay.games.memory import Memory
from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.sft import SftSettings
from coplay.runs.config import Adapter

torch.set_num_threads(1)
PLAN = Demonstrations("ipd-ab", {"tit_for_tat": 1.0}, ("random:0.5",), episodes=10, rounds=6)
QUICK = SftSettings(
    epochs=3,
    learning_rate=5e-3,
    microbatch_size=8,
    adapter=Adapter(rank=4, targets=("q_proj", "k_proj", "v_proj", "o_proj")),
)
LINE = '{"messages": [{"role": "user", "content": "Reply."}, {"role": "assistant", "content": "<A>"}]}\n'


def demonstrated(out: Path) -> Path:
    """Tit for tat against a random player, as conversations."""
    demonstrate([PLAN], out, seed=0, memory=Memory.CHAT)
    return out


def written(directory: Path, train: str = LINE, valid: str = LINE) -> Path:
    """A data set of one's own."""
    directory.mkdir()
    (directory / "train.jsonl").write_text(train, encoding="utf-8")
    (directory / "valid.jsonl").write_text(valid, encoding="utf-8")
    return directory
