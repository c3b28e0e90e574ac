"""What SVBench's official streaming evaluation judges: linked questions of a video at once, joined by their times."""

from pathlib import Path

from reeltalk.formats import svbench
from reeltalk.formats.svbench_documents import join_inputs
from reeltalk.judge.judge import Background, JoinedChains, LinkedTurns, group_units
from reeltalk.judge.svbench_official import joined_units, streaming_slots
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.store.content import Content


def joined(content: Content) -> list[JoinedChains]:
    return [
        JoinedChains(
            f"{read.video_id}/{read.language}",
            read.video_id,
            tuple(read.chain_ids),
            tuple(map(tuple, streaming_slots(read.chains, read.links))),
        )
        for read in join_inputs(content)
    ]


def answered(content: Content, video: str = "kitchen_01", language: str = "en") -> list[AnsweredTurn]:
    return [
        AnsweredTurn(
            model="m",
            item_id=f"{chain.id}/{index}",
            video_id=video,
            unit_id=chain.id,
            turn_index=index,
            question=turn.question,
            references=turn.references,
            text="An answer.",
            unit="chain",
        )
        for chain in content.chains
        if chain.id.startswith(f"{video}/{language}/")
        for index, turn in enumerate(chain.turns)
    ]


def test_times_are_read_as_each_file_spells_them(samples: Path) -> None:
    content = svbench.read(samples / "svbench")
    kitchen = next(read for read in join_inputs(content) if (read.video_id, read.language) == ("kitchen_01", "en"))
    assert kitchen.chain_ids == ["kitchen_01/en/0", None, "kitchen_01/en/2", "kitchen_01/en/3"]
    assert [chain.get("qac_timestamps_start") for chain in kitchen.chains] == [
        *("00:00:00.000000", None, "00:00:12.500000", "00:00:30.040000")
    ]
    assert [link["chain_1"]["qac_timestamps_start"] for link in kitchen.links] == ["00:00:00.000000", "00:00:12.500000"]
    assert kitchen.links[0]["relationship"] == {"chainBefore": [0, 0, 2], "chainAfter": [0, 0, 1]}


def test_an_empty_entry_takes_the_place_of_the_chain_that_is_linked(samples: Path) -> None:
    """The script puts the later questions into the slot of the next entry, whatever that is."""
    content = svbench.read(samples / "svbench")
    kitchen = next(found for found in joined(content) if found.id == "kitchen_01/en")
    assert [[(questions.chain, questions.questions) for questions in slot] for slot in kitchen.slots] == [
        [(0, (0, 0, 2))],
        [(1, (0, 0, 1))],
        [(2, (0,))],
        [(3, (1,))],
    ]


def test_a_unit_holds_the_linked_questions_with_their_relations(samples: Path) -> None:
    content = svbench.read(samples / "svbench")
    background = Background(content, joined(content))
    (unit,) = joined_units(group_units(answered(content), background), background)
    assert (unit.kind, unit.official, unit.id) == ("dialogue", True, "kitchen_01/en")
    # Of the empty entry there are no answers.
    assert [(turn.unit_id[-1], turn.turn_index) for turn in unit.turns] == [
        *(("0", 0), ("0", 0), ("0", 2), ("2", 0), ("3", 1))
    ]
    assert unit.linked == (LinkedTurns(3, 4, "Mood"),)


def test_a_video_without_an_answer_has_no_unit(samples: Path) -> None:
    content = svbench.read(samples / "svbench")
    background = Background(content, joined(content))
    failed = [turn.model_copy(update={"state": AnswerState.FAILED}) for turn in answered(content)]
    assert joined_units(group_units(failed, background), background) == []
    assert joined_units(group_units(answered(content), None), Background(content)) == []


def test_a_benchmark_of_our_own_is_joined_as_we_would_write_it(samples: Path) -> None:
    content = svbench.read(samples / "svbench")
    content.source_files.clear()
    street = next(found for found in joined(content) if found.id == "street_02/en")
    assert [[(questions.chain, questions.questions) for questions in slot] for slot in street.slots[:2]] == [
        [(0, (1,))],
        [(1, (0,))],
    ]
