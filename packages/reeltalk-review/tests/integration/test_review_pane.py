"""The decision is in view: question, answer, evidence and buttons of every turn, without scrolling."""

from collections.abc import Iterator

import pytest
from decision_view import SIZES, views_of_places
from driven_screen import ready
from playwright.sync_api import Browser
from served_review import ACROSS, CHAIN, ServedReview, content, served

from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.store.content import Content

pytestmark = pytest.mark.browser

LONG = "dialogue-long"
SIXTY_WORDS = (
    " ".join(["While the milk warms up on the stove, what does the woman"] * 5) + " do with both of her hands?"
)


def filled() -> Content:
    """The usual benchmark, with a dialogue of long questions, many answers, options and much evidence."""
    found = content()
    long = [
        Turn(
            question=SIXTY_WORDS,
            references=tuple(f"{SIXTY_WORDS} She cuts bread, slice {n}." for n in range(1 + number % 3)),
            asked_at_s=30.0 + number / 10,
            evidence=tuple(Interval(start_s=8.0 + n, end_s=8.5 + n) for n in range(1 + number)),
            options=("She cuts bread.", "She pours the milk.", SIXTY_WORDS) if number % 2 else None,
            correct_option=0 if number % 2 else None,
            labels={"cogme.target": ("Object",), "vdact.question_type": ("D-OBJ",)},
        )
        for number in range(12)
    ]
    found.dialogues.append(Dialogue(id=LONG, video_id="kitchen", clip_ids=("scene-1", "scene-2"), turns=tuple(long)))
    return found


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    with served(tmp_path_factory.mktemp("review"), filled(), overlap=20) as found:
        yield found


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_question_answer_evidence_and_buttons_of_every_turn_are_in_view(
    review: ServedReview, browser: Browser, width: int, height: int, name: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    review.sign_in(context, name)
    page = context.new_page()
    unseen = []
    for target in (CHAIN, ACROSS, LONG):
        page.goto(review.work(name, target))
        ready(page)
        views = views_of_places(page)
        unseen += [(target, n + 1, part) for n, view in enumerate(views) for part, seen in view.items() if not seen]
    context.close()
    assert unseen == []
