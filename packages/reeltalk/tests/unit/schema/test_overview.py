"""Results print as one screen and are small escaped tables in notebooks, whatever texts they hold."""

from hypothesis import given
from hypothesis import strategies as st

from reeltalk.schema.outcomes import Rejected, StageReport
from reeltalk.schema.overview import MOST_LINES, WIDTH, Overview

TEXT = st.text(max_size=300)


@given(TEXT, st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=40), st.lists(TEXT, max_size=20))
def test_an_overview_is_one_screen(title: str, rows: list[tuple[str, ...]], notes: list[str]) -> None:
    shown = Overview(title, ("name", "n", "why"), tuple(rows), tuple(notes)).text().splitlines()
    assert len(shown) <= MOST_LINES
    assert max(map(len, shown)) <= WIDTH


def test_text_of_others_is_escaped_and_cannot_reverse_a_line() -> None:
    hostile = "<script>alert(1)</script>\u202eevil"
    overview = Overview(hostile, (hostile,), ((hostile,),), (hostile,))
    assert "<script" not in overview.html()
    assert overview.html().count("&lt;script&gt;") == 4
    assert "\u202e" not in overview.html() + overview.text()


def test_what_is_left_out_is_counted() -> None:
    rows = tuple((str(n), "x") for n in range(40))
    text = Overview("many", ("n", "x"), rows, tuple(map(str, range(12)))).text()
    assert "… and 25 more rows" in text
    assert "… and 25 more rows" in Overview("many", ("n", "x"), rows).html()
    assert "… and 4 more" in Overview("notes", notes=tuple(map(str, range(12)))).text()


def test_a_long_reason_goes_on_below_its_column() -> None:
    reason = "it lasts 5.3 s, shorter than 60 s = --min-duration-s and than 25 s = --min-shots 5 × --min-mean-shot-s 5"
    report = StageReport(
        stage="curate",
        counts={"videos": 0, "rejected": 1},
        rejected=(Rejected(table="videos", record_id="bikes", reason=reason),),
        warnings=("nothing was accepted",),
    )
    assert str(report).splitlines() == [
        "curate: 0 videos; 1 rejected",
        "rejected  reason",
        "bikes     it lasts 5.3 s, shorter than 60 s = --min-duration-s and than 25 s = --min-shots 5 ×",
        "          --min-mean-shot-s 5",
        "warning: nothing was accepted",
    ]
    assert repr(report) == "<StageReport: curate: 0 videos; 1 rejected>"
    assert report == StageReport.model_validate(report.model_dump())
