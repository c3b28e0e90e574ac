"""The network of reeltalk-mini, with weights as they are drawn: what holds whatever it was trained on."""

from collections.abc import Iterator

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from reeltalk_household.mini.mini_input import PAD, PEOPLE, MiniShape
from reeltalk_household.training.network import Decoder, Mini, rotate, turns

SHAPE = MiniShape(
    height_px=36, width_px=52, channels=(4, 6, 8, 10), glimpses=3, glimpse_width=5, frame_tokens=2, vision_width=12,
    clock_waves=4, width=24, layers=3, heads=2, hidden=20, vocabulary=40,
)  # fmt: skip
TOKENS = 17


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    torch.manual_seed(3)
    with torch.no_grad():
        yield


@pytest.fixture
def mini() -> Mini:
    made: Mini = Mini(SHAPE).eval()
    # As drawn, layers change little, and what mixes up tokens would hide behind the sum that goes past them.
    for weights in made.decoder.blocks.parameters():
        weights.mul_(8.0 if weights.dim() > 1 else 1.0)
    return made


@pytest.fixture
def tokens() -> Tensor:
    return torch.randn(1, TOKENS, SHAPE.width, generator=torch.Generator().manual_seed(4))


def rotated(heads: Tensor, positions: Tensor) -> Tensor:
    """Heads (B, H, T, E) turned by their positions."""
    return rotate(heads, turns(positions, heads.shape[-1]))


def stepped(
    decoder: Decoder, tokens: Tensor, sizes: list[int], first: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """All logits, readiness, keys and values, where tokens come in some at a time, at positions from `first` on."""
    past_k = past_v = torch.zeros(SHAPE.layers, SHAPE.heads, 0, SHAPE.head_width)
    positions = torch.zeros(1, 0, dtype=torch.long)
    logits, ready = [], []
    for part in tokens.split(sizes, dim=1):
        start = positions.shape[1] + first
        at = torch.arange(start, start + part.shape[1])[None]
        told, speaks, k, v = decoder.step(part, at, past_k, past_v, positions)
        logits.append(told)
        ready.append(speaks)
        past_k, past_v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
        positions = torch.cat([positions, at], dim=1)
    return torch.cat(logits, dim=1), torch.cat(ready, dim=1), past_k, past_v


@pytest.mark.parametrize("sizes", [[TOKENS], [1] * TOKENS, [5, 1, 7, 4]])
def test_tokens_that_come_bit_by_bit_are_read_as_all_at_once(mini: Mini, tokens: Tensor, sizes: list[int]) -> None:
    whole, whole_ready = mini.decoder(tokens)
    logits, ready, _, _ = stepped(mini.decoder, tokens, sizes)
    torch.testing.assert_close(logits, whole, atol=1e-5, rtol=0)
    torch.testing.assert_close(ready, whole_ready, atol=1e-5, rtol=0)


def test_where_positions_begin_does_not_matter(mini: Mini, tokens: Tensor) -> None:
    at_zero, _, keys, _ = stepped(mini.decoder, tokens, [5, 12])
    later, _, later_keys, _ = stepped(mini.decoder, tokens, [5, 12], first=100)
    torch.testing.assert_close(later, at_zero, atol=2e-4, rtol=0)
    torch.testing.assert_close(later_keys, keys, atol=2e-4, rtol=0)


@pytest.mark.parametrize("changed", [1, 8, TOKENS - 1])
def test_a_later_token_changes_nothing_before_it(mini: Mini, tokens: Tensor, changed: int) -> None:
    other = tokens.clone()
    other[:, changed] += 1.0
    before, before_ready = mini.decoder(tokens)
    after, after_ready = mini.decoder(other)
    torch.testing.assert_close(after[:, :changed], before[:, :changed], atol=0, rtol=0)
    torch.testing.assert_close(after_ready[:, :changed], before_ready[:, :changed], atol=0, rtol=0)
    assert (after[:, changed:] - before[:, changed:]).abs().amax(dim=(0, 2)).min() > 1e-4


def test_a_later_frame_changes_no_word_before_it(mini: Mini) -> None:
    frames = torch.rand(3, 6, SHAPE.height_px, SHAPE.width_px)
    word = mini.decoder.words(torch.tensor([[3, 9, 4]]))

    def told(seen: Tensor) -> Tensor:
        visual = mini.projector(mini.encoder(seen), torch.arange(3.0)).flatten(0, 1)[None]
        # Two frames, a question, the last frame.
        logits: Tensor = mini.decoder(torch.cat([visual[:, :4], word, visual[:, 4:]], dim=1))[0]
        return logits

    changed = frames.clone()
    changed[2] = 1.0 - changed[2]
    torch.testing.assert_close(told(changed)[:, :7], told(frames)[:, :7])
    assert (told(changed)[:, 7:] - told(frames)[:, 7:]).abs().max() > 1e-4


def test_frames_are_encoded_each_for_itself(mini: Mini) -> None:
    frames = torch.rand(4, 6, SHAPE.height_px, SHAPE.width_px)
    seen = mini.encoder(frames)
    torch.testing.assert_close(seen[2:3], mini.encoder(frames[2:3]), atol=1e-5, rtol=0)
    times = torch.tensor([0.0, 1.0, 2.0, 3600.0])
    torch.testing.assert_close(mini.projector(seen, times)[3:], mini.projector(seen[3:], times[3:]))


def test_the_clock_tells_moments_apart(mini: Mini) -> None:
    seen = torch.zeros(4, SHAPE.frame_tokens, SHAPE.vision_width)
    told = mini.projector(seen, torch.tensor([0.0, 1.0, 2.0, 30.0])).flatten(1)
    assert torch.cdist(told, told).add(torch.eye(4)).min() > 1e-3


def test_rotating_keeps_norms_and_turns_nothing_at_zero() -> None:
    heads = torch.randn(2, 3, 7, 8)
    turned = rotated(heads, torch.tensor([[0, 1, 2, 50, 400, 3000, 60_000]]))
    torch.testing.assert_close(turned.norm(dim=-1), heads.norm(dim=-1), atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(turned[:, :, 0], heads[:, :, 0])
    assert (turned[:, :, 1:] - heads[:, :, 1:]).abs().amax(dim=-1).min() > 1e-3


@pytest.mark.parametrize(("here", "there"), [((9, 4), (109, 104)), ((1000, 0), (1500, 500)), ((3, 3), (0, 0))])
def test_products_of_rotated_heads_know_differences_of_positions_alone(
    here: tuple[int, int], there: tuple[int, int]
) -> None:
    query, key = torch.randn(2, 1, 4, 1, 8).double()

    def product(positions: tuple[int, int]) -> Tensor:
        first, second = (torch.tensor([[position]]) for position in positions)
        return (rotated(query, first) * rotated(key, second)).sum(dim=-1)

    torch.testing.assert_close(product(here), product(there), atol=1e-3, rtol=0)
    assert (product(here) - product((there[0] + 2, there[1]))).abs().max() > 1e-3


def test_each_sequence_is_turned_by_its_own_positions() -> None:
    heads = torch.randn(2, 3, 4, 8)
    positions = torch.tensor([[0, 1, 2, 3], [5, 6, 9, 11]])
    turned = rotated(heads, positions)
    torch.testing.assert_close(turned[1:], rotated(heads[1:], positions[1:]))
    torch.testing.assert_close(turned[:1], rotated(heads[:1], positions[:1]))


def test_a_memory_that_dropped_tokens_counts_anew_as_if_these_had_never_been_counted(
    mini: Mini, tokens: Tensor
) -> None:
    """Keys are kept before they are turned: after a cut only their new positions decide, in their old order."""
    _, _, keys, values = stepped(mini.decoder, tokens[:, :-1], [TOKENS - 1])
    kept = torch.tensor([0, 1, 2, 9, 10, 11, 15])
    cut_k, cut_v = keys[:, :, kept], values[:, :, kept]
    counted = torch.arange(len(kept))[None]
    last = tokens[:, -1:]
    anew, _, own, _ = mini.decoder.step(last, torch.tensor([[len(kept)]]), cut_k, cut_v, counted)
    # The same memory a hundred positions further on: differences are equal, so is all that is told.
    shifted, *_ = mini.decoder.step(last, torch.tensor([[len(kept) + 100]]), cut_k, cut_v, counted + 100)
    torch.testing.assert_close(shifted, anew, atol=2e-4, rtol=0)
    # Where the cut leaves a gap in positions, something else is told; and so it is in another order.
    gap, *_ = mini.decoder.step(last, torch.tensor([[TOKENS - 1]]), cut_k, cut_v, kept[None])
    assert (gap - anew).abs().max() > 1e-4
    turned, *_ = mini.decoder.step(last, torch.tensor([[len(kept)]]), cut_k, cut_v, counted.flip(1))
    assert (turned - anew).abs().max() > 1e-4
    assert own.shape == (SHAPE.layers, SHAPE.heads, 1, SHAPE.head_width)


@pytest.mark.parametrize("frames", [1, 3])
def test_shapes_and_types_are_as_they_are_said_to_be(mini: Mini, frames: int) -> None:
    seen = mini.encoder(torch.rand(frames, 6, SHAPE.height_px, SHAPE.width_px))
    assert seen.shape == (frames, SHAPE.frame_tokens, SHAPE.vision_width)
    visual = mini.projector(seen, torch.arange(float(frames)))
    assert visual.shape == (frames, SHAPE.frame_tokens, SHAPE.width)
    logits, ready = mini.decoder(torch.randn(2, 5, SHAPE.width))
    assert logits.shape == (2, 5, SHAPE.vocabulary)
    assert ready.shape == (2, 5)
    assert {found.dtype for found in (seen, visual, logits, ready)} == {torch.float32}


@pytest.mark.parametrize(("height_px", "width_px"), [(180, 320), (32, 40), (33, 47)])
def test_pictures_need_not_be_a_multiple_of_anything(height_px: int, width_px: int) -> None:
    shape = SHAPE.model_copy(update={"height_px": height_px, "width_px": width_px})
    seen = Mini(shape).eval().encoder(torch.rand(1, 6, height_px, width_px))
    assert seen.shape == (1, SHAPE.frame_tokens, SHAPE.vision_width)


def test_half_precision_stays_what_it_is(tokens: Tensor) -> None:
    decoder = Decoder(SHAPE).to(torch.bfloat16)
    logits, ready = decoder(tokens.to(torch.bfloat16))
    assert logits.dtype == ready.dtype == torch.bfloat16
    assert logits.isfinite().all()


def test_what_a_word_costs_reaches_the_eye_and_every_layer(mini: Mini) -> None:
    mini.train()
    frames = torch.rand(3, 6, SHAPE.height_px, SHAPE.width_px)
    with torch.enable_grad():
        people = torch.tensor([[3], [9], [-1]])
        visual = mini.projector(mini.encoder.glimpse(frames, people).tokens, torch.arange(3.0)).flatten(0, 1)[None]
        words = mini.decoder.words(torch.tensor([[3, 7, 8, 4]]))
        logits, ready = mini.decoder(torch.cat([visual, words], dim=1))
        (torch.nn.functional.cross_entropy(logits[:, -1], torch.tensor([11])) + ready.square().mean()).backward()
    untouched = {
        name for name, weights in mini.named_parameters() if not (weights.grad is not None and weights.grad.any())
    }
    # Moving all scores of an attention alike moves none of its weights.
    assert {name for name in untouched if not name.startswith(OF_WHO)} <= {"encoder.attend.bias", "encoder.key.bias"}


OF_WHO = ("encoder.letters.", "encoder.looks.", "encoder.centre.")
"""Layers that tell who is who, and where."""


def test_people_are_found_from_left_to_right_and_nobody_where_nothing_is(mini: Mini) -> None:
    shape = SHAPE.model_copy(update={"frame_tokens": 4})
    encoder, wide = Mini(shape).encoder, shape.cells_wide
    heat = torch.full((3, shape.cells_high * wide), -5.0)
    heat[0, 2 * wide + 5], heat[0, 2 * wide + 4], heat[0, 3 * wide + 1] = 2.0, 1.0, 0.5
    heat[1, [0, 2, 4, 6]] = torch.tensor([4.0, 1.0, 3.0, 2.5])
    found = encoder._found(heat)
    # What is near a higher place is the same person, and there are no more than three.
    assert found.tolist() == [[3 * wide + 1, 2 * wide + 5, -1], [0, 4, -1], [-1, -1, -1]]


def test_how_far_a_cell_is_from_a_person_decides_and_not_where_the_person_is(mini: Mini) -> None:
    torch.nn.init.normal_(mini.encoder.away)
    wide, high = SHAPE.cells_wide, SHAPE.cells_high
    people = torch.tensor([[1 * wide + 2], [2 * wide + 3]])
    told = mini.encoder._by_distance(people).view(2, -1, high, wide)
    assert torch.equal(told[0, :, :-1, :-1], told[1, :, 1:, 1:])
    assert told[0].flatten(1).unique(dim=1).shape[1] == high * wide


def test_a_token_of_nobody_shows_nothing_of_the_frame(mini: Mini) -> None:
    torch.nn.init.zeros_(mini.encoder.mix[1].weight)
    frames = torch.rand(2, 6, SHAPE.height_px, SHAPE.width_px)
    nobody = mini.encoder.glimpse(frames, torch.tensor([[-1], [-1]])).tokens
    somebody = mini.encoder.glimpse(frames, torch.tensor([[4], [4]])).tokens
    assert torch.equal(nobody[0, 1], nobody[1, 1])
    assert (somebody[0, 1] - somebody[1, 1]).abs().max() > 1e-5


def test_marks_of_people_are_added_to_their_tokens_alone(mini: Mini) -> None:
    visual = torch.randn(2, 3, SHAPE.width)
    marks = torch.tensor([[PAD, PEOPLE[1], PAD], [PAD, PAD, PEOPLE[0]]])
    found = mini.decoder.marked(visual, marks) - visual
    torch.testing.assert_close(found[0, 1], mini.decoder.words.weight[PEOPLE[1]])
    torch.testing.assert_close(found[1, 2], mini.decoder.words.weight[PEOPLE[0]])
    assert not found[marks == PAD].any()


def test_squares_are_cut_around_cells_and_inside_the_picture(mini: Mini) -> None:
    frames = torch.arange(2.0 * 6 * 36 * 52).view(2, 6, 36, 52)
    wide = SHAPE.cells_wide
    cells = torch.tensor([[0, wide - 1], [2 * wide + 3, wide * SHAPE.cells_high - 1]])
    found = mini.encoder._cut(frames, cells, 16, 24).view(2, 2, 6, 16, 24)
    assert torch.equal(found[0, 0], frames[0, :, :16, :24])
    assert torch.equal(found[0, 1], frames[0, :, :16, 28:])
    assert torch.equal(found[1, 0], frames[1, :, 12:28, 16:40])
    assert torch.equal(found[1, 1], frames[1, :, 20:, 28:])


def test_words_are_told_by_the_table_that_reads_them(mini: Mini, tokens: Tensor) -> None:
    before, _ = mini.decoder(tokens)
    mini.decoder.words.weight[5] *= 2.0
    after, _ = mini.decoder(tokens)
    torch.testing.assert_close(after[..., 5], 2.0 * before[..., 5])
    torch.testing.assert_close(after[..., :5], before[..., :5])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"width": 25, "heads": 2}, "width 25 does not give 2 heads of an even width"),
        ({"width": 18, "heads": 6}, "width 18 does not give 6 heads of an even width"),
        ({"frame_tokens": 1}, "greater than or equal to 2"),
        ({"glimpses": 0}, "greater than or equal to 1"),
        ({"close_px": 20}, "multiple of 8"),
        ({"channels": (4, 4)}, "Field required"),
        ({"depth": 3}, "Extra inputs are not permitted"),
    ],
)
def test_a_shape_that_makes_no_network_is_refused(sizes: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        MiniShape.model_validate(sizes)


def test_the_shape_that_is_shipped_makes_a_network_of_a_few_million() -> None:
    with torch.device("meta"):
        made = Mini(MiniShape())
    assert 1e6 < sum(weights.numel() for weights in made.parameters()) < 8e6
