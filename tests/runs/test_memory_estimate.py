"""What a run takes in memory, and what is said of it: fits, does not fit, what to change, what is refused."""

import json
from pathlib import Path

import pytest
from small_runs import small
from small_text_runs import small_text

from coplay.errors import UsageError
from coplay.recipes import make_config
from coplay.runs import memory
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build
from coplay.runs.lengths import TAGS, lengths_of
from coplay.runs.memory import Memory
from coplay.runs.memory_text import check_memory, memory_lines, refuse_too_large
from coplay.runs.memory_there import Device, device_there
from coplay.runs.pass_sizes import PassSizes

QWEN_7B = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "tie_word_embeddings": False,
}
SMALLER = {
    **QWEN_7B,
    "hidden_size": 448,
    "num_hidden_layers": 4,
    "num_attention_heads": 7,
    "num_key_value_heads": 1,
    "intermediate_size": 2368,
}


def config_only(path: Path, shapes: dict[str, object]) -> str:
    """A model directory that holds a config and nothing else."""
    path.mkdir()
    (path / "config.json").write_text(json.dumps(shapes), encoding="utf-8")
    return str(path)


def paper(model: str, *overrides: str) -> Config:
    return with_overrides(make_config("adalign/ipd-ab", scale="paper"), [f"model={model}", *overrides])


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Sets how much memory there is."""

    def set_to(gib: float) -> None:
        monkeypatch.setattr(memory, "device_there", lambda kind: Device("cpu", "this machine", int(gib * 2**30), 0))

    return set_to


@pytest.mark.parametrize("gib", [8, *(pytest.param(one, marks=pytest.mark.slow) for one in (6, 16))])
def test_what_is_said_fits(tmp_path: Path, has, gib: int) -> None:  # type: ignore[no-untyped-def]
    """What is advised for devices of several sizes is what then fits, and one reply more does not."""
    config = paper(config_only(tmp_path / "model", SMALLER))
    has(gib)
    lines = memory_lines(config)
    assert f"{gib}.0 GiB free" in lines[0] and "It fits." not in lines
    (advice,) = [line for line in lines if line.startswith("Set ")]
    for choice in advice.removeprefix("Set ").removesuffix(".").split(", or "):
        lead = advice.removeprefix("Set ").partition(" with ")[0] if " with " in advice else ""
        settings = [*lead.split(), *choice.rpartition(" with ")[2].split()]
        changed = with_overrides(config, [one.replace("seeds=0", "seeds=[0]") for one in settings])
        assert "It fits." in memory_lines(changed)
        (size,) = [one for one in settings if "microbatch_size" in one]
        key, _, number = size.partition("=")
        more = with_overrides(changed, [f"{key}={int(number) + 1 + int(number) // 4}"])
        assert int(number) == 64 or "It does not fit." in memory_lines(more)


def test_a_large_device_is_enough(tmp_path: Path, has) -> None:  # type: ignore[no-untyped-def]
    has(4096)
    lines = memory_lines(paper(config_only(tmp_path / "model", SMALLER), "rounds=2", "games=8", "group_size=2"))
    assert "4,096.0 GiB free" in lines[0] and "It fits." in lines


def test_what_cannot_fit_is_refused_with_numbers(tmp_path: Path, has) -> None:  # type: ignore[no-untyped-def]
    has(0.4)
    config = paper(config_only(tmp_path / "model", SMALLER))
    for refused in (memory_lines, check_memory, refuse_too_large):
        with pytest.raises(
            UsageError, match=r"does not fit: it takes .* GiB \(weights .* adapters .*\); this machine has 410 MiB free"
        ):
            refused(config)


def test_what_may_be_too_much_is_told_before_training(tmp_path: Path, has, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    config = paper(config_only(tmp_path / "model", SMALLER))
    has(8)
    check_memory(config)
    assert "This run may take" in capsys.readouterr().err
    has(4096)
    check_memory(config)
    assert capsys.readouterr().err == ""


def test_adapters_that_do_not_fit_are_refused_before_they_are_made(has) -> None:  # type: ignore[no-untyped-def]
    """Of an embedded model too, whose weights are nothing."""
    has(1)
    config = small("language_model", "adapter.rank=500", f"seeds={json.dumps(list(range(500)))}")
    with pytest.raises(UsageError, match="1,000 adapters with gradients and moments"):
        build(config)


@pytest.mark.parametrize("kind", ["two learners", "past selves"])
def test_bytes_that_stand_are_those_of_the_run(kind: str) -> None:
    """Adapters, and the moments that the run's optimisers hold: none for past selves."""
    more = ["past_selves.probability=0.5", "past_selves.pool_size=6"] if kind == "past selves" else []
    config = small_text("ipd-ab", *more) if kind == "past selves" else small("language_model")
    state, found = build(config), Memory(config)
    assert state.bank is not None
    assert found.adapters == sum(weight.nbytes for weight in state.bank.parameters())
    adams = [getattr(one, "policy_adam", None) or one.adam for one in state.learners.values()]  # type: ignore[attr-defined]
    assert found.moments == sum(adam.first_PD.nbytes + adam.second_PD.nbytes for adam in adams)


def test_prompts_are_as_long_as_the_longest_in_play() -> None:
    config = small_text("ipd-ab", "learner.memory=chat", "learner.max_tokens=6", "rounds=5")
    state = build(config)
    longest = 0
    policy = state.learners["learner"].policy  # type: ignore[attr-defined]
    prepare = policy.prepare

    def watched(requests):  # type: ignore[no-untyped-def]
        nonlocal longest
        asked = prepare(requests)
        longest = max(longest, *map(len, asked.prompts))
        return asked

    policy.prepare = watched
    state.run_trial(0)
    own = lengths_of(config)["learner"]
    messages = 2 * config.rounds
    assert longest <= own.prompt <= longest + messages * (TAGS + 6)
    assert own.reply == 6 and own.shared < own.prompt


def test_without_a_tokenizer_a_token_is_three_letters(tmp_path: Path) -> None:
    config = paper(config_only(tmp_path / "model", SMALLER), "rounds=2")
    own = lengths_of(config)["learner"]
    assert own.prompt > 400  # one earlier reply, as long as it may be
    assert lengths_of(paper(config.model, "rounds=3"))["learner"].prompt > own.prompt + 400


def test_no_more_go_through_at_a_time_than_there_are() -> None:
    row = next(one for one in PassSizes(small("language_model")).learners if one.name == "row")
    assert row.size <= row.most <= row.config.ppo.minibatch


def test_a_run_of_tables_has_nothing_to_say() -> None:
    assert memory_lines(small("tabular")) == []


def test_this_machine_has_memory() -> None:
    here = device_there("cpu")
    assert 2**28 < here.free < 2**62 and 0 < here.libraries < here.free


@pytest.mark.slow
def test_qwen_7b_on_a_gpu_of_80_gib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's settings do not fit; what does is said. 155 adapters are 46.6 GiB, activations some 9 MB a token."""
    monkeypatch.setattr("coplay.models.outline.device_of_models", lambda: "cuda")
    monkeypatch.setattr(memory, "device_there", lambda kind: Device("cuda", "GPU", 80 * 2**30, 0))
    config = paper(config_only(tmp_path / "model", QWEN_7B))
    lines = memory_lines(config)
    text = "\n".join(lines)
    assert "14.2 GiB  7,615,616,512 parameters in bfloat16" in text
    assert "46.6 GiB  155 of 80,740,352 weights" in text
    assert "It does not fit." in lines and "gradient_checkpointing=true" in lines[-2]
    passes = Memory(config).passes
    (learner,) = passes.learners
    one, two = (passes.training(learner, size, recomputes=False) for size in (1, 2))
    of_token = (two - one) / (learner.lengths.prompt + learner.lengths.reply - learner.lengths.shared)
    assert 8e6 < of_token < 10e6
