"""What SVBench's official streaming evaluation reads: chains and links, with times as the source spells them.

Its script joins the two by whether their start times are equal, so that it matters how each file writes them.
"""

from dataclasses import dataclass, field
from typing import Final

from reeltalk.formats.svbench_documents import START, Documents, slots
from reeltalk.formats.svbench_layout import FORMAT, language_of
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content

PER_PAIR: Final = 2
"""Chains that a record of links names."""


@dataclass
class JoinInput:
    """Of one video in one language."""

    video_id: str
    language: str
    chain_ids: list[str | None] = field(default_factory=list)
    """In order; None where the source has an empty entry."""
    chains: list[dict[str, Json]] = field(default_factory=list)
    """For each of them its start time, as the file of chains spells it."""
    links: list[dict[str, Json]] = field(default_factory=list)
    """Records of links: the start time of the earlier chain, as the file of links spells it, and question indices."""


def join_inputs(content: Content) -> list[JoinInput]:
    """What the script reads, of each video and language that has chains.

    A benchmark that did not come from SVBench's files is read as we would write it.

    Args:
        content: The benchmark.
    """
    files = content.source_files_of(FORMAT)
    documents = Documents(content, files)
    found: dict[tuple[str, str], JoinInput] = {}
    for chain in content.chains:
        own = (str(chain.video_id), language_of(chain))
        found.setdefault(own, JoinInput(*own))
    listed: set[str] = set()
    linked: set[tuple[str, str]] = set()
    for file in files:
        key = (str(file.extra.get("video")), str(file.extra.get("language")))
        if file.kind == "dialogue" and key in found:
            _add_chains(found[key], documents, file)
            listed.update(file.records)
        elif file.kind == "con" and key in found:
            _add_links(found[key], documents, file)
            linked.update(zip(file.records[::PER_PAIR], file.records[1::PER_PAIR], strict=False))
    for chain in content.chains:
        if chain.id not in listed:
            into = found[chain.video_id, language_of(chain)]
            into.chain_ids.append(chain.id)
            into.chains.append({START: _plain_start(documents, chain.id)})
    for before, after in documents.linkages:
        source = documents.chains.get(before)
        if (before, after) not in linked and source is not None and after in documents.chains:
            entry = _link(documents, before, after, _plain_start(documents, before))
            found[source.video_id, language_of(source)].links.append(entry)
    return list(found.values())


def _add_chains(into: JoinInput, documents: Documents, file: SourceFile) -> None:
    rows = documents.document(file)
    for chain_id, row in zip(slots(file.records, file.extra.get("empty", ())), rows, strict=True):
        into.chain_ids.append(chain_id)
        into.chains.append({START: row[START]} if chain_id and START in row else {})


def _add_links(into: JoinInput, documents: Documents, file: SourceFile) -> None:
    pairs = zip(file.records[::PER_PAIR], file.records[1::PER_PAIR], strict=True)
    for row in documents.document(file):
        if row and row["chain_1"]:
            into.links.append(_link(documents, *next(pairs), row["chain_1"].get(START)))


def _link(documents: Documents, before: str, after: str, start: Json) -> dict[str, Json]:
    linkages = documents.linkages[before, after]
    relationship: dict[str, Json] = {
        "chainBefore": [linkage.source.turn_index for linkage in linkages],
        "chainAfter": [linkage.target.turn_index for linkage in linkages],
    }
    return {"chain_1": {START: start}, "relationship": relationship}


def _plain_start(documents: Documents, chain_id: str) -> Json:
    clip = documents.clips.get(documents.chains[chain_id].clip_id)  # type: ignore[arg-type]
    return clip.interval.start_s if clip is not None and clip.interval is not None else None
