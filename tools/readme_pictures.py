"""Makes the pictures of the README from real data: frames of a filmed video with its dialogue, and a leaderboard.

    python tools/readme_pictures.py                            films, evaluates and reports below build/readme first
    python tools/readme_pictures.py --site build/demo/site     takes the leaderboard from a report that is there

Writes `dialogue.png` and `leaderboard.png` to `docs/images`, each also as `…-dark.png`. Needs Chromium on the PATH and
the development tools. A second call reuses what was filmed and evaluated. The same sources and fonts give the same
pictures.
"""

import argparse
import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import cv2
import numpy as np
from PIL import Image
from walk_report import SCHEMES, find_chromium, open_browser

from reeltalk.evaluation.settings import FrameSettings, PlaySettings, RunConfig
from reeltalk.judge.settings import JudgeSettings
from reeltalk.pages.settings import ReportSettings
from reeltalk.progress import Progress
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.stages import report
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import MEDIA
from reeltalk.store.runs import Run
from reeltalk.store.tables import CHAINS, PATHS, VIDEOS
from reeltalk.video.encode import jpeg
from reeltalk.video.frames import frames_at
from reeltalk.video.picture import rgb
from reeltalk_build.stages import construct
from reeltalk_household.benchmarks.walkthrough import evaluate_or_resume
from reeltalk_household.stages import film
from reeltalk_household.world.settings import FilmSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Browser

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"
WIDTH_PX: Final = 1400
TALLEST_PX: Final = 900
"""Height at which a leaderboard is cut."""
MARGIN_PX: Final = 6
LARGEST_BYTES: Final = 250_000
EDGES_BGRA: Final = {"light": (222, 215, 208, 255), "dark": (77, 68, 61, 255)}
SHOWN_TURNS: Final = 4
LONGEST_QUESTION: Final = 75
"""Characters of a question in the picture."""
HOUSEHOLD: Final = FilmSettings(
    scenarios=24, houses=8, dev_houses=0, test_houses=5, width_px=640, fps=5, max_duration_s=90.0
)
"""The household of the tutorial, filmed larger."""
SEEN: Final = FrameSettings(policy="fps", fps=1.0, frames=300, longest_side_px=320)
MODELS: Final = ("baseline:blind", "baseline:history", "mini", "oracle")
JUDGING: Final = JudgeSettings(protocols=("typed",), metrics=("rouge_l",))

STYLE: Final = """
:root { --page: #f6f8fa; --card: #ffffff; --line: #d0d7de; --text: #1f2328; --soft: #59636e;
  --ask: #0b5cad; --right: #1a7f37; --wrong: #c0362c; }
[data-scheme=dark] { --page: #151b23; --card: #0d1117; --line: #3d444d; --text: #f0f6fc; --soft: #9198a1;
  --ask: #74b5ff; --right: #4ac26b; --wrong: #ff8a80; }
* { box-sizing: border-box; margin: 0; }
body { width: 1400px; font: 23px/1.32 system-ui, "Noto Sans", "DejaVu Sans", sans-serif; color: var(--text); }
main { background: var(--page); border: 2px solid var(--line); border-radius: 18px; padding: 26px;
  display: grid; grid-template-columns: repeat(4, 1fr); grid-template-rows: repeat(4, auto); gap: 0 18px; }
section { display: grid; grid-template-rows: subgrid; grid-row: span 4; background: var(--card);
  border: 1.5px solid var(--line); border-radius: 12px; overflow: hidden; }
figure { position: relative; }
img { display: block; width: 100%; aspect-ratio: 16 / 9; object-fit: cover; }
figcaption { position: absolute; right: 10px; bottom: 10px; padding: 1px 10px; border-radius: 7px;
  background: #000b; color: #fff; font-size: 19px; }
section > p { padding: 14px 18px; }
.question { color: var(--ask); font-weight: 600; }
.answer { border-top: 1.5px solid var(--line); }
small { display: block; font-size: 18px; color: var(--soft); }
b.right { color: var(--right); } b.wrong { color: var(--wrong); }
"""


@dataclass(frozen=True)
class Shown:
    """One turn of the picture."""

    question: str
    frame_jpeg: bytes
    frame_s: float
    answers: tuple[tuple[str, str, bool], ...]
    """Who answered, the answer, and whether it is right."""


def quiet(what: str, done: int, total: int, share: float | None = None) -> None:
    """Shows no progress."""


def make_runs(work: Path, progress: Progress) -> tuple[Benchmark, dict[str, Run]]:
    """Film the household, write chains about it, and let baselines and reeltalk-mini answer them."""
    folder = work / "household"
    film(into=folder, settings=HOUSEHOLD, progress=progress)
    construct(Benchmark.open(folder), progress=progress)
    benchmark = Benchmark.open(folder)
    play = PlaySettings(mode="streaming", frames=SEEN)
    runs = {}
    for model in MODELS:
        name = model.removeprefix("baseline:")
        config = RunConfig(model=model, play=play, judging=JUDGING)
        runs[name] = evaluate_or_resume(benchmark, work / "runs" / name, config, progress=progress)
    return benchmark, runs


def choose_turns(benchmark: Benchmark, runs: dict[str, Run]) -> list[Shown]:
    """Turns in a row of the most ordinary dialogue: its share of right answers is nearest to that of all turns.

    The first question stands alone, and each of the others refers to an earlier turn. Of two equally ordinary dialogues
    the one is taken whose frames lie further apart.
    """
    names = {"mini": "reeltalk-mini", "blind": "baseline that does not see"}
    answered = {name: {(row.unit_id, row.turn_index): row for row in runs[name].answers()} for name in names}
    right = {
        name: {(row.unit_id, row.turn_index): row.value == 1.0 for row in runs[name].judged("typed")} for name in names
    }
    overall = sum(right["mini"].values()) / len(right["mini"])
    chains: dict[str, QAChain] = {chain.id: chain for chain in benchmark.read(CHAINS)}
    found: list[tuple[float, float, str, int]] = []
    windows: dict[tuple[str, int], list[Turn]] = {}
    videos: dict[str, str] = {}
    for path in benchmark.read(PATHS):
        videos[path.id] = path.video_id
        turns = [step.turn or chains[step.ref.unit_id].turns[step.ref.turn_index] for step in path.steps]
        for first in range(len(turns) - SHOWN_TURNS + 1):
            shown = turns[first : first + SHOWN_TURNS]
            refers = ["REF" in turn.labels.get("vdact.question_type", ()) for turn in shown]
            is_played = all((path.id, first + number) in right["mini"] for number in range(SHOWN_TURNS))
            is_short = all(len(turn.question) <= LONGEST_QUESTION for turn in shown)
            if is_played and is_short and refers == [False, *[True] * (SHOWN_TURNS - 1)]:
                share = sum(right["mini"][path.id, first + number] for number in range(SHOWN_TURNS)) / SHOWN_TURNS
                apart_s = min(later - earlier for earlier, later in pairwise(sorted(map(middle_of, shown))))
                found.append((abs(share - overall), -apart_s, path.id, first))
                windows[path.id, first] = shown
    if not found:
        raise SystemExit("no dialogue fits the picture: film more scenarios")
    _, _, chosen, first = min(found)
    video = next(video for video in benchmark.read(VIDEOS) if video.id == videos[chosen])
    cards = []
    for number, turn in enumerate(windows[chosen, first], start=first):
        at = next(iter(frames_at(benchmark.path / MEDIA / str(video.sha256), [middle_of(turn)])))
        answers = tuple(
            (title, answered[name][chosen, number].text, right[name][chosen, number]) for name, title in names.items()
        )
        question = answered["mini"][chosen, number].question
        cards.append(Shown(question, jpeg(rgb(at.picture), quality=92), at.pts_s, answers))
    return cards


def middle_of(turn: Turn) -> float:
    """The middle of the part of the video that shows the answer, in seconds."""
    if not turn.evidence:
        return turn.asked_at_s or 0.0
    return round((turn.evidence[-1].start_s + turn.evidence[-1].end_s) / 2, 3)


def dialogue_page(shown: Sequence[Shown], scheme: str) -> str:
    """The picture of a dialogue as HTML."""
    cards = []
    for one in shown:
        image = base64.b64encode(one.frame_jpeg).decode()
        answers = "".join(
            f'<p class="answer"><small>{escape(who)}</small>{escape(text)}&nbsp;'
            f'<b class="{"right" if is_right else "wrong"}">{"✓" if is_right else "✗"}</b></p>'
            for who, text, is_right in one.answers
        )
        cards.append(
            f'<section><figure><img src="data:image/jpeg;base64,{image}"><figcaption>{clock(one.frame_s)}</figcaption>'
            f'</figure><p class="question">{escape(one.question)}</p>{answers}</section>'
        )
    return f'<!doctype html><html data-scheme="{scheme}"><style>{STYLE}</style><main>{"".join(cards)}</main></html>'


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def photograph(
    browser: "Browser",
    target: Path,
    scheme: Literal["light", "dark"],
    *,
    html: str | None = None,
    page: Path | None = None,
    height_px: int | None = None,
) -> None:
    """Write a picture of some HTML, or of a page down to the end of its first table."""
    tab = browser.new_page(viewport={"width": WIDTH_PX, "height": TALLEST_PX}, color_scheme=scheme)
    if html is not None:
        tab.set_content(html)
        shot = tab.locator("main").screenshot(omit_background=True)
    else:
        assert page is not None
        tab.goto(page.resolve().as_uri())
        tab.wait_for_timeout(500)
        table = tab.locator("table").first
        box = table.bounding_box() if table.count() else None
        height = height_px or min(TALLEST_PX, int(box["y"] + box["height"]) + MARGIN_PX if box else TALLEST_PX)
        shot = tab.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH_PX, "height": height})
    tab.close()
    pixels = cv2.imdecode(np.frombuffer(shot, np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    if page is not None:
        pixels = cv2.copyMakeBorder(pixels[2:-2, 2:-2], 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=EDGES_BGRA[scheme])
    packed = with_palette(pixels)
    if len(packed) > LARGEST_BYTES:
        raise SystemExit(f"{target}: {len(packed):,} bytes are more than {LARGEST_BYTES:,}")
    target.write_bytes(packed)
    print(f"{target.relative_to(ROOT) if target.is_relative_to(ROOT) else target}: {len(packed):,} bytes")


def with_palette(pixels: "NDArray[np.uint8]") -> bytes:
    """A PNG of 256 colours: the wallpaper of a filmed room takes a third of the bytes.

    Args:
        pixels: Height × width × 3 (BGR) or 4 (BGRA), uint8.
    """
    order = cv2.COLOR_BGRA2RGBA if pixels.shape[2] == 4 else cv2.COLOR_BGR2RGB
    picture = Image.fromarray(cv2.cvtColor(pixels, order))
    packed = BytesIO()
    picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()


def find_leaderboard(site: Path) -> Path:
    """The page of a site that holds the scores: of the demo, the one of its first mode."""
    return next((page for page in (site / "dialogue" / "index.html", site / "index.html") if page.is_file()), site)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes all pictures; prints their paths and sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, help="a report that is there; without it one is made")
    parser.add_argument("--page", help="page of the site that is photographed, such as dialogue/index.html")
    parser.add_argument("--height", type=int, help="height of the leaderboard in pixels")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "readme", help="folder of films and runs")
    parser.add_argument("--out", type=Path, default=IMAGES, help="folder of the pictures")
    given = parser.parse_args(arguments)
    chromium = find_chromium()
    if chromium is None:
        print("Chromium was not found; install it, or put it on the PATH", file=sys.stderr)
        return 1
    benchmark, runs = make_runs(given.work, quiet)
    shown = choose_turns(benchmark, runs)
    site = given.site
    if site is None:
        site = given.work / "site"
        report(
            *(run.path for run in runs.values()),
            out=site,
            benchmark=benchmark,
            settings=ReportSettings(),
            overwrite=True,
        )
    page = site / given.page if given.page else find_leaderboard(site)
    if not page.is_file():
        print(f"{page}: there is no such page; name one with --page", file=sys.stderr)
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    with open_browser(chromium) as browser:
        for scheme in SCHEMES:
            suffix = "" if scheme == "light" else f"-{scheme}"
            photograph(browser, given.out / f"dialogue{suffix}.png", scheme, html=dialogue_page(shown, scheme))
            photograph(browser, given.out / f"leaderboard{suffix}.png", scheme, page=page, height_px=given.height)
    return 0


if __name__ == "__main__":
    sys.exit(main())
