"""How long a run takes: what is measured, how it is scaled, and that nothing is kept."""

from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import small

from coplay.errors import UsageError
from coplay.experiments.hours import hours_text
from coplay.experiments.request import Request
from coplay.runs import hours
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.hours import Hours, hours_lines, load_note, measured_hours, words_of


def hours_of(config: Config, *trials: float, checkpoint: float = 0.0) -> Hours:
    return Hours(config, 5.0, trials, 1.0, checkpoint, 7.0, 1)


def test_the_run_is_its_trials_and_what_is_besides() -> None:
    config = with_overrides(small("tabular"), ["trials=100", "checkpoint_every=10"])
    found = hours_of(config, 2.0, 3.0, checkpoint=0.5)
    assert found.seconds() == (212 + 5, 312 + 5)
    assert found.seconds(first_trial=95) == (10 + 12 + 0.5, 15 + 12 + 0.5), "the rest of a run that is resumed"


def test_another_run_takes_as_much_longer_as_it_plays_more() -> None:
    config = with_overrides(small("tabular"), ["trials=100", "games=2", "eval_games=10"])
    other = with_overrides(config, ["games=6", "rounds=5", "eval_games=20"])
    found = hours_of(config, 2.0).alike(other)
    assert found.trials == (2.0 * 3 * 5 / config.rounds,)
    assert found.evaluation == 7.0 * 2 * 5 / config.rounds
    assert found.config is other


def test_trials_are_measured_as_the_run_trains_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(hours.time, "monotonic", lambda: float(next(clock)))
    config = small("tabular", "trials=20", "workers=1")
    found = measured_hours(config)
    assert found.trials == (1.0,) * hours.MEASURED and found.share == 1
    assert "3 trials" in hours_lines(found)[0]


def test_a_long_trial_is_measured_once_and_a_short_run_not_beyond_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hours, "LONG", 0.0)
    assert len(measured_hours(small("tabular", "trials=20", "workers=1")).trials) == 1
    monkeypatch.setattr(hours, "LONG", 1e9)
    assert len(measured_hours(small("tabular", "trials=1", "workers=1")).trials) == 1


@pytest.mark.parametrize("long", [0.0, 1e9])
def test_of_other_models_a_smaller_trial_is_measured_first(monkeypatch: pytest.MonkeyPatch, long: float) -> None:
    config = with_overrides(small("tabular"), ["trials=12", "episodes=4", "games=6", "group_size=2", "workers=1"])
    asked: list[Config] = []

    def measured(one: Config) -> Hours:
        asked.append(one)
        return hours_of(one, 2.0)

    monkeypatch.setattr(hours, "_measured", measured)
    monkeypatch.setattr(hours, "language_models", lambda config: ["row"])
    monkeypatch.setattr(hours, "EMBEDDED", ())
    monkeypatch.setattr(hours, "LONG", long)
    found = measured_hours(config)
    assert (asked[0].episodes, asked[0].games) == (1, 2)
    if long:
        assert asked[1] == config and found.trials == (2.0,) and found.share == 1
    else:
        assert len(asked) == 1 and found.trials == (2.0 * 4 * 3,) and found.share == pytest.approx(1 / 12)
        assert "0.083 of a trial, scaled" in hours_lines(found)[0]
    assert found.config == config


def test_endpoints_are_not_asked(tmp_path: Path) -> None:
    (tmp_path / "gpt.toml").write_text('model = "x"\nbase_url = "http://127.0.0.1:9/v1"\n', encoding="utf-8")
    config = with_overrides(small("tabular"), [f"seats.column={tmp_path / 'gpt.toml'}"])
    with pytest.raises(UsageError, match="would ask endpoints"):
        measured_hours(config.model_copy(update={"learners": {"row": config.learners["row"]}}))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.51, "0.51 s"), (12.4, "12 s"), (210, "3.5 minutes"), (4 * 3600, "4.0 hours")]
)
def test_words(seconds: float, words: str) -> None:
    assert words_of(seconds) == words


def test_a_busy_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (6.3, 0.0, 0.0))
    assert "load 6.3 on 2 cores" in load_note()
    monkeypatch.setattr("os.getloadavg", lambda: (1.0, 0.0, 0.0))
    assert load_note() == ""


def test_before_a_table_one_arm_of_each_kind_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("shapellm/table1", game="ipd")
    asked: list[Config] = []

    def measured(config: Config) -> Hours:
        asked.append(config)
        return hours_of(config, 60.0)

    monkeypatch.setattr("coplay.runs.hours.measured_hours", measured)
    text = hours_text(request, tmp_path / "out")
    assert f"for {len(request.arms)} arms that are left: {len(asked)} of them" in text
    assert 1 < len(asked) <= len(request.arms)
    minutes = sum(request.config(arm).trials for arm in request.arms)
    assert f"about {words_of(minutes * 60 + 12 * len(request.arms))}" in text
    assert hours_text(Request("shapellm/table1", game="ipd", learner="tabular"), tmp_path / "out") == (
        "Time: minutes at most; not measured."
    )


def test_few_rounds_of_a_model_that_is_not_embedded_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coplay.runs.hours.measured_hours", lambda config: hours_of(config, 60.0))
    few = Request("shapellm/table1", game="ipd", seeds=(0,), trials=2)
    assert hours_text(few, tmp_path / "out") == "Time: minutes at most; not measured."
    assert "measured, the others" in hours_text(replace(few, model="models/larger"), tmp_path / "out")
