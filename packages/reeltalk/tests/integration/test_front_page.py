"""The front page of a report on one's own questions: the next step, the turns to look at, and no empty heading."""

import csv
import re
import shlex
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import av
import numpy as np
import pytest
from playwright.sync_api import Browser
from scripted_server import PREFLIGHTS, serve, words
from walk_report import walk

from reeltalk.analysis.comparison import CompareSettings, compare_models
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.next_steps import NextStep, next_steps
from reeltalk.analysis.standings import find_standings
from reeltalk.cli import run
from reeltalk.metrics.significance import power_of
from reeltalk.store.runs import Run

COLOURS: Final = {"red": (255, 0, 0), "green": (0, 130, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}
MODELS: Final = '''
import numpy as np

COLOURS = {colours}


def colour(frame):
    mean = np.asarray(frame[-6:, -6:]).reshape(-1, 3).mean(0)
    return min(COLOURS, key=lambda name: sum((mean - np.array(COLOURS[name])) ** 2))


class Looker:
    def answer(self, frames, history, question):
        return f"It is {{colour(frames[-1])}}."


class Squinter(Looker):
    """Takes green for blue."""

    def answer(self, frames, history, question):
        return super().answer(frames, history, question).replace("green", "blue")


class Dreamer(Looker):
    """Takes white and green for blue."""

    def answer(self, frames, history, question):
        return super().answer(frames, history, question).replace("green", "blue").replace("white", "blue")


class Black:
    def answer(self, frames, history, question):
        return "It is black."


class Unsure:
    def answer(self, frames, history, question):
        return "Hm, it could be A or B."


class Broken(Looker):
    def answer(self, frames, history, question):
        if colour(frames[-1]) == "green":
            raise ValueError("no green today")
        return super().answer(frames, history, question)
'''
HEAD: Final = ("video", "question", "answer", "dialogue", "type", "option_a", "option_b", "option_c", "correct")
LAST, FIRST, STORY = "What colour is it at the end?", "Which colour does it have at last?", "What happens, and why?"


def film(path: Path, colour: str) -> None:
    """A second of one colour."""
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=4)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        picture = np.full((48, 64, 3), COLOURS[colour], np.uint8)
        for _ in range(4):
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        output.mux(stream.encode(None))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Benchmarks of 12 and 3 videos with dialogues of two turns, of single questions, and with free answers."""
    folder = tmp_path_factory.mktemp("front")
    (folder / "models.py").write_text(MODELS.format(colours=COLOURS), encoding="utf-8")
    (folder / "videos").mkdir()
    names = [list(COLOURS)[number % len(COLOURS)] for number in range(12)]
    for number, name in enumerate(names):
        film(folder / "videos" / f"film-{number}.mp4", name)
    asked = [
        [(f"film-{n}.mp4", LAST, name, f"d{n}", "end", "", "", "", ""),
         (f"film-{n}.mp4", FIRST, "", f"d{n}", "choice", name, "green" if name == "blue" else "blue", "black", "A")]
        for n, name in enumerate(names)
    ]  # fmt: skip
    story = [(f"film-{n}.mp4", STORY, f"It is {name} because somebody painted it so a long time ago.", f"s{n}",
              "story", "", "", "", "") for n, name in enumerate(names)]  # fmt: skip
    tables = {
        "twelve": [row for rows in asked for row in rows],
        "three": [row for rows in asked[:3] for row in rows],
        "single": [(row[0], row[1], row[2], "", *row[4:]) for row in (rows[0] for rows in asked)],
        "free": [*(rows[0] for rows in asked), *story],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, rows in tables.items():
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream, lineterminator="\n").writerows([HEAD, *rows])
            assert run(["import", "qa", f"{name}.csv", name, "--videos", "videos"]) == 0
    return folder


Played = Callable[..., list[Path]]


@pytest.fixture
def played(place: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Runs of models on a benchmark, each made once. The working directory is their folder."""
    monkeypatch.chdir(place)

    def play(bench: str, *models: str, more: tuple[str, ...] = ()) -> list[Path]:
        paths = []
        for model in models:
            path = Path("runs") / f"{bench}-{model}{''.join(more)}"
            name = f"baseline:{model}" if model.islower() else f"python:models.py:{model}"
            if not path.is_dir():
                assert run(["evaluate", bench, "--model", name, "--out", str(path), *more]) in (0, 1)
            paths.append(path)
        return paths

    return play


def steps_of(bench: str, paths: list[Path], **more: Any) -> list[NextStep]:
    found = find_standings(build_leaderboard([Run.open(path) for path in paths]))
    turns = len({turn.item_id for turn in Run.open(paths[0]).answers()})
    return next_steps(found, bench=Path(bench), turns=turns, **more)


def do(command: str) -> int:
    """Run the command that a step gives."""
    program, *arguments = shlex.split(command)
    assert program == "reeltalk"
    return run(arguments)


def test_the_first_run_is_asked_for_a_baseline_and_then_for_a_second_model(played: Played) -> None:
    first, second = steps_of("twelve", played("twelve", "Looker"))
    assert (first.title, second.title) == ("Add a baseline that does not see the videos.", "Add a second model.")
    assert do(first.command) == 0
    steps = steps_of("twelve", [*played("twelve", "Looker"), Path("runs/blind")])
    assert [step.title for step in steps] == ["Add a second model.", "Publish the result."]


def test_a_decided_result_is_published_and_the_command_does_it(played: Played) -> None:
    (step,) = steps_of("twelve", played("twelve", "Looker", "Black", "blind"))
    assert step.title == "Publish the result."
    assert step.evidence.startswith("Looker is the best model: ")
    assert do(step.command.replace("--figures pdf ", "")) == 0
    assert Path("paper/index.html").is_file()


def test_only_baselines_ask_for_a_model(played: Played) -> None:
    assert [step.title for step in steps_of("twelve", played("twelve", "blind"))] == ["Evaluate a model."]


def test_free_answers_ask_for_a_judge_and_its_scores_for_people(played: Played) -> None:
    paths = played("free", "Looker", "Black", "blind")
    first = steps_of("free", paths)[0]
    assert first.title == "Let a model judge the free answers."
    assert "tells right from wrong on 50 % of the due turns" in first.evidence

    def judge(body: dict[str, Any]) -> str:
        told = words(body["messages"][-1])
        if any(text in told for text in PREFLIGHTS):
            return '{"ready": true}' if "JSON" in told else "ready"
        right = "It is black." not in told.split("Candidate")[-1]
        return f'{{"score": {90 if right else 10}, "reason": "compared"}}'

    with serve(judge) as server:
        command = first.command.replace("NAME", f"scripted --judge-base-url {server.base_url}")
        if not Path("judged").is_dir():
            assert do(command) in (0, 1)
    judged = sorted(path.parent for path in Path("judged").glob("**/run.json"))
    assert {model.info.model: model.role for model in build_leaderboard([Run.open(p) for p in judged]).models} == {
        "Looker": "model", "Black": "model", "blind": "baseline", "empty": "floor",
    }  # fmt: skip
    rate = next(step for step in steps_of("free", judged, judge="scripted") if "people" in step.title)
    assert rate.title == "Let people rate 40 answers."
    assert do(rate.command) == 0
    with Path("ratings.csv").open(encoding="utf-8") as sheet:
        assert len(list(csv.DictReader(sheet))) == 40
    assert not any("people" in step.title for step in steps_of("free", judged, judge="scripted", rated=True))


def test_answers_that_no_rule_reads_are_to_be_read(played: Played) -> None:
    first = steps_of("twelve", played("twelve", "Looker", "Unsure", "blind"))[0]
    assert first.title == "Read the answers that no rule could read."
    assert first.evidence.startswith("12 of 12 answers of Unsure count as wrong")
    assert first.command == "reeltalk judge runs/twelve-Unsure --protocols llm-acc --judge NAME --out judged"


def test_failed_answers_come_first_and_are_asked_again(played: Played) -> None:
    first = steps_of("twelve", played("twelve", "Broken", "Unsure"))[0]
    assert first.title == "Ask again what failed."
    assert first.evidence.startswith("6 of 24 due turns of Broken have no answer")
    assert do(first.command) == 1, "it fails again"


def test_few_videos_ask_for_as_many_as_an_interval_takes(played: Played) -> None:
    first = steps_of("three", played("three", "Looker", "blind"))[0]
    assert first.title == "Add questions about 7 more videos."
    assert first.evidence.startswith("These turns are about 3.")


def test_two_models_that_are_not_told_apart_ask_for_the_videos_that_it_takes(played: Played) -> None:
    paths = played("twelve", "Squinter", "Dreamer", "blind")
    first = steps_of("twelve", paths)[0]
    more = int(re.fullmatch(r"Add questions about (\d+) more videos\.", first.title)[1])  # type: ignore[index]
    board = build_leaderboard([Run.open(path) for path in paths])
    row = compare_models(board, CompareSettings(metrics=("correct",)), models=[0, 1]).rows[0]
    error, df, difference = row.standard_error, row.df, row.difference
    assert error is not None
    assert df is not None
    assert difference is not None
    assert row.confidence is not None
    alpha = 1 - row.confidence

    def power(videos: int) -> float:
        # An independent account: the clustered variance of a mean is that of one video over their number.
        return power_of(difference, error * (12 / videos) ** 0.5, df * (videos - 1) / 11, alpha=alpha)

    assert power(12) < 0.8

    assert power(12 + more) >= 0.8 > power(12 + more - 1)
    assert "on 12 videos. The interval is clustered by video" in first.evidence
    assert do(first.command) == 0


def test_other_frames_ask_for_the_same(played: Played) -> None:
    paths = [*played("twelve", "Looker", "blind"), *played("twelve", "Black", more=("--frames", "2"))]
    first = steps_of("twelve", paths)[0]
    assert first.title == "Evaluate Black with --frames 16."
    assert first.evidence == "Looker was shown 16 frames, Black 2 frames."


def test_other_turns_are_told_by_their_number(played: Played) -> None:
    paths = [*played("twelve", "Looker", "blind"), *played("twelve", "Black", more=("--limit", "6"))]
    board = build_leaderboard([Run.open(path) for path in paths])
    (one,) = board.differences("correct")
    assert one.what == "Looker and blind were scored on 24 turns, Black on 12 turns"
    assert "evaluate Black on the same turns: without --limit" in one.equal
    assert board.differing("correct") == "questions"


def test_a_model_that_is_not_above_the_blind_is_to_be_asked_without_pictures(played: Played) -> None:
    steps = steps_of("twelve", played("twelve", "Black", "blind"))
    look = next(step for step in steps if step.title == "Find out what Black sees.")
    assert "--model python:models.py:Black --controls none,black" in look.command
    assert do(look.command) == 0


SIX: Final = ("Looker", "Squinter", "Dreamer", "Black", "Unsure", "Broken")


@pytest.fixture
def sites(played: Played, place: Path) -> dict[int, Path]:
    """Reports on one model (with one question a dialogue), two and six."""
    wanted = {1: ("single", ("Squinter",)), 2: ("three", ("Looker", "Black", "blind")), 6: ("twelve", (*SIX, "blind"))}
    for count, (bench, models) in wanted.items():
        if not (place / f"site-{count}").is_dir():
            paths = map(str, played(bench, *models))
            assert run(["report", *paths, "--bench", bench, "--media", "cut", "--out", f"site-{count}"]) == 0
    return {count: place / f"site-{count}" for count in wanted}


class Headings(HTMLParser):
    """Headings of a page in order, each with whether something stands below it before the next of its level."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[list[Any]] = []
        self.title = ""
        self.inside = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if re.fullmatch("h[1-6]", tag):
            # A heading of a lower level counts by what stands below it.
            self.found.append([int(tag[1]), "", False])
        elif tag in ("img", "svg", "video", "input", "select"):
            self._fill()
        self.inside = tag if re.fullmatch("h[1-6]|title|script|style", tag) else self.inside

    def handle_endtag(self, tag: str) -> None:
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data: str) -> None:
        if self.inside == "title":
            self.title += data
        elif self.inside.startswith("h"):
            self.found[-1][1] += data
        elif data.strip() and not self.inside:
            self._fill()

    def _fill(self) -> None:
        level = 7
        for heading in reversed(self.found):
            if heading[0] < level:
                heading[2], level = True, heading[0]

    def empty(self) -> Iterator[str]:
        for _, text, filled in self.found:
            if not filled or not text.strip():
                yield text


def test_no_heading_is_empty_and_no_title_repeats_its_only_question(sites: dict[int, Path]) -> None:
    faults = []
    for count, site in sites.items():
        for page in sorted(site.rglob("*.html")):
            read = Headings(page)
            name = f"{count}: {page.relative_to(site)}"
            faults += [f"{name}: nothing below {text!r}" for text in read.empty()]
            asked = [text.strip() for _, text, _ in read.found if text.strip() in (LAST, FIRST, STORY)]
            others = [read.title, *(text for _, text, _ in read.found if text.strip() not in asked)]
            if len(asked) == 1:
                faults += [f"{name}: {text!r} repeats its question" for text in others if asked[0] in text]
    assert faults == []


def test_the_walk_sees_empty_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>t</title><h1>a</h1><h2>b</h2><h2>c</h2><p>text</p><h3>d</h3><script>x</script>")
    assert list(Headings(page).empty()) == ["b", "d"]


def test_the_page_shows_turns_with_frames_answers_and_what_was_read(sites: dict[int, Path]) -> None:
    page = (sites[6] / "index.html").read_text(encoding="utf-8")
    look = page[page.index('id="look"') :]
    assert "Look at these five turns" in look
    assert look.count('alt="Frame at') >= 5
    assert all((sites[6] / file).is_file() for file in re.findall(r'src="(media/[^"]+)"', look))
    links = re.findall(r'href="(dialogues/[^"#]+)#([^"]+)"', look)
    assert len(links) == 5
    assert all(f'id="{anchor}"' in (sites[6] / file).read_text(encoding="utf-8") for file, anchor in links)
    assert "names several options" in look
    assert "read as option A: " in look
    assert "An answer could not be read. " in look
    assert {"#show=unread", "#show=split"} <= set(re.findall(r'href="turns.html(#[^"]+)"', look))


def test_few_turns_are_counted_from_the_first_run_on(sites: dict[int, Path]) -> None:
    one = (sites[1] / "index.html").read_text(encoding="utf-8")
    assert re.search(r"Squinter</strong> is wrong on <a [^>]+>3 of 12 turns</a>", one)
    two = (sites[2] / "index.html").read_text(encoding="utf-8")
    assert "Looker</strong> is wrong on none of 6 turns" in two
    assert re.search(r"<span class=\"figures-of\">\d of 3 right</span>", two)
    assert "What to do next" in two


@pytest.mark.browser
def test_the_front_page_is_fit_for_all(sites: dict[int, Path], browser: Browser, full: bool) -> None:
    # That of six models has all that the others have.
    for site in sites.values() if full else [sites[6]]:
        problems = walk(site, [site / "index.html"], browser, views=((1400, "light"), (390, "dark")))
        assert [str(problem) for problem in problems] == []
