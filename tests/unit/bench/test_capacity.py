"""The capacity plan's arithmetic, against numbers that were worked out by hand or measured elsewhere."""

import json
import math
from pathlib import Path

import pytest
from capacity_page import SVBENCH, app, capacity_page, main
from capacity_plan import CapacitySettings, Measured, capacity, figures, measured, prefill_tokens, shown
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reeltalk.cli import run
from reeltalk.errors import InputError

ROOT = Path(__file__).parents[3]
KNOWN = measured()


def values(settings: CapacitySettings, known: Measured = KNOWN) -> dict[str, float]:
    return {
        f"{section.title}: {line.what}": line.value for section in capacity(settings, known) for line in section.lines
    }


def test_tokens_at_svbenchs_size_are_those_that_were_counted() -> None:
    # 230, 54 and 7 million tokens for 1,719 chains about 200 videos of 120 frames, counted before reeltalk was written.
    millions = [SVBENCH.videos * way / 1e6 for way in prefill_tokens(SVBENCH)]
    assert all(math.isclose(found, told, rel_tol=0.1) for found, told in zip(millions, (230, 54, 7), strict=True))


def test_one_turn_is_read_once_however_it_is_asked() -> None:
    settings = CapacitySettings(turns=1, turns_a_dialogue=1, frames=10, frame_tokens=100, system_tokens=7)
    assert prefill_tokens(settings) == pytest.approx((1027, 1027, 1027))


def test_cores_and_storage_follow_from_hours() -> None:
    known = KNOWN.model_copy(
        update={"core_s_an_hour_720p": 180.0, "hash_mb_a_core_s": 500.0, "clips_over_original": 0.9}
    )
    found = values(CapacitySettings(videos=3000, minutes=20, mbit_s=4, kept=0.5), known)
    assert found["Cores: video"] == 1000
    assert found["Cores: decode and measure 720p, once"] == 50
    assert found["Storage: originals, all"] == pytest.approx(1.8)
    assert found["Storage: clips cut without loss"] == pytest.approx(0.81)
    assert found["Cores: hash every file"] == pytest.approx(1.0)


def test_a_report_costs_what_the_answers_in_it_cost() -> None:
    # Reports were measured with two models.
    one, two = (values(CapacitySettings(videos=10, turns=100, models=models)) for models in (1, 2))
    assert two["Tables and database: reports"] == pytest.approx(
        two["Tables and database: turns"] * KNOWN.report_kb_a_turn / 1e6
    )
    assert two["Tables and database: reports"] == pytest.approx(2 * one["Tables and database: reports"])


def test_people_and_money() -> None:
    settings = CapacitySettings(videos=100, kept=0.6, turns=10, double=0.5, turns_a_person_hour=30, person_hour=20)
    found = values(settings)
    assert found["People: reviewing every turn"] == pytest.approx(30)
    assert found["Money: people"] == pytest.approx(600)


@given(
    st.integers(1, 10**7),
    st.floats(0.1, 300),
    st.floats(0, 1),
    st.floats(1, 20),
    st.integers(0, 500),
    st.integers(0, 9),
)
def test_more_reuse_never_reads_more_and_nothing_is_negative(
    videos: int, minutes: float, kept: float, turns_a_dialogue: float, frames: int, models: int
) -> None:
    settings = CapacitySettings(
        videos=videos, minutes=minutes, kept=kept, turns_a_dialogue=turns_a_dialogue, turns=20, frames=frames,
        frame_tokens=256, models=models,
    )  # fmt: skip
    anew, prefix, once = prefill_tokens(settings)
    assert once <= prefix * (1 + 1e-9)
    # A prefix that is shorter than a block saves nothing.
    assert prefix <= anew + 16 * 20
    assert all(value >= 0 and math.isfinite(value) for value in values(settings).values())


def test_every_figure_has_a_source_and_those_of_suites_are_what_they_stated() -> None:
    book = json.loads((ROOT / "docs" / "reference" / "performance.json").read_text())
    stated = {
        measure["feeds"]: (suite["name"], measure["value"])
        for suite in book["suites"]
        for measure in suite.get("measures", ())
        if measure["feeds"]
    }
    assert set(stated) <= set(Measured.model_fields) == set(figures())
    for name, figure in figures().items():
        assert figure.source
        if name in stated and figure.machine:
            suite, value = stated[name]
            assert figure.source.startswith(f"bench/{suite}.py: ")
            assert math.isclose(figure.value, value, rel_tol=1e-3), name


def test_the_page_for_ones_own_numbers_has_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    app(["--videos", "1000"], result_action="return_value")
    printed = capsys.readouterr().out
    for name, value in values(CapacitySettings(videos=1000)).items():
        assert f"| {name.partition(': ')[2]} | {shown(value)} |" in printed
    assert "| video | 33.33 | hours |" in printed


def test_settings_and_figures_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="kept"):
        CapacitySettings(kept=2)
    file = tmp_path / "mine.json"
    own = {name: figure.model_dump() for name, figure in figures().items()}
    file.write_text(json.dumps(own | {"sheet_kb": own["sheet_kb"] | {"value": -1}}))
    with pytest.raises(InputError, match="sheet_kb"):
        figures(file)
    del own["sheet_kb"]
    file.write_text(json.dumps(own))
    with pytest.raises(InputError, match="sheet_kb"):
        capacity_page(measurements=file)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--videos", "-3"], "--videos '-3': input should be greater than or equal to 1"),
        (["--kept", "most"], "--kept 'most': input should be a valid number"),
        (["--height", "480"], "--height '480': input should be 720 or 1080"),
        (["--vidoes", "5"], "--videos"),
        (["--measured", "absent.json"], "no such file (absent.json)"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_removed_command_names_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "capacity", "--videos", "1000"]) == 2
    assert "docs/concepts/capacity.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.000123, "0.000123"),
        (33.333, "33.33"),
        (1234.5, "1,234"),
        (33333.3, "33,333"),
        (285_412_500, "285,400,000"),
    ],
)
def test_numbers_are_shown_with_four_digits_that_count(value: float, text: str) -> None:
    assert shown(value) == text
