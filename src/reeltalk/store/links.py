"""A report of link rot: the web addresses of videos' sources that no longer answer.

Each address gets one HEAD request, or a request for its first byte if the server refuses HEAD; no content is stored.
The report is next to the manifest, and releases include it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import SettingError
from reeltalk.progress import Progress, unseen
from reeltalk.schema.media import Video
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk.store.manifest import LINK_ROT
from reeltalk.store.remote import check_remote_address, redact

AT_ONCE: Final = 16
AT_ONE_HOST: Final = 2
ANSWER_S: Final = 20.0
"""Longest time that one address may take, redirects included."""
MOST_REDIRECTS: Final = 5

Outcome = Literal["answers", "gone", "refused", "failing", "unreachable", "not asked"]


class SourceLink(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    videos: tuple[str, ...]
    outcome: Outcome
    status: int | None = None
    """HTTP status, if the server answered."""
    detail: str = ""


class LinkReport(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["reeltalk.link-rot"] = "reeltalk.link-rot"
    asked_at: datetime
    links: tuple[SourceLink, ...]

    @property
    def rotten(self) -> list[SourceLink]:
        """Addresses that do not answer."""
        return [link for link in self.links if link.outcome not in ("answers", "not asked")]


def ask_links(
    videos: Iterable[Video],
    *,
    answer_s: float = ANSWER_S,
    progress: Progress = unseen,
) -> LinkReport:
    """Send a request to every web address that is the source of a video.

    Args:
        videos: The videos.
        answer_s: Longest time for one address.
        progress: Receives the number of finished requests.
    """
    by_address: defaultdict[str, list[str]] = defaultdict(list)
    for video in videos:
        if video.source is not None and video.source.startswith(("http://", "https://")):
            by_address[video.source].append(str(video.id))
    links = asyncio.run(_ask_all(dict(sorted(by_address.items())), answer_s, progress))
    return LinkReport(asked_at=datetime.now(UTC).replace(microsecond=0), links=tuple(links))


def write_links(folder: Path, report: LinkReport) -> Path:
    """Write the report next to a benchmark's manifest, whole or not at all.

    Raises:
        BenchmarkError: It cannot be written.
    """
    write_bytes(folder / LINK_ROT, write_json(report.model_dump(mode="json")).encode())
    return folder / LINK_ROT


def read_links(folder: Path) -> LinkReport | None:
    """The report next to a benchmark's manifest; None if there is none.

    Raises:
        InputError: It is damaged.
    """
    path = folder / LINK_ROT
    return parse(LinkReport, read_document(folder, LINK_ROT), file=path) if path.is_file() else None


async def _ask_all(by_address: dict[str, list[str]], answer_s: float, progress: Progress) -> list[SourceLink]:
    import httpx

    everywhere = asyncio.Semaphore(AT_ONCE)
    hosts: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONE_HOST))
    done = 0
    headers = {"User-Agent": "reeltalk (looks whether a source still answers)", "Accept-Encoding": "identity"}

    async def ask(client: Any, address: str) -> SourceLink:
        nonlocal done
        videos = tuple(by_address[address])
        try:
            host = urlsplit(check_remote_address(address)).netloc
        except (SettingError, ValueError):
            done += 1
            return SourceLink(
                address=redact(address), videos=videos, outcome="not asked", detail="it may hold credentials"
            )
        async with hosts[host], everywhere:
            outcome, status, detail = await _ask(client, address, answer_s)
        done += 1
        progress("asking sources", done, len(by_address), done / len(by_address))
        return SourceLink(address=address, videos=videos, outcome=outcome, status=status, detail=detail)

    options: dict[str, Any] = {"follow_redirects": True, "max_redirects": MOST_REDIRECTS, "headers": headers}
    async with httpx.AsyncClient(timeout=answer_s, **options) as client:
        return list(await asyncio.gather(*(ask(client, address) for address in by_address)))


async def _ask(client: Any, address: str, answer_s: float) -> tuple[Outcome, int | None, str]:
    import httpx

    try:
        # httpx limits the time of each step only. This limits a server that sends single bytes slowly.
        async with asyncio.timeout(answer_s):
            status = (await client.head(address)).status_code
            if status in (400, 403, 404, 405, 501):
                async with client.stream("GET", address, headers={"Range": "bytes=0-0"}) as reply:
                    status = reply.status_code
    except TimeoutError:
        return "unreachable", None, f"no answer within {answer_s:g} s"
    except httpx.TooManyRedirects:
        return "failing", None, f"more than {MOST_REDIRECTS} redirects"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        return "unreachable", None, redact(f"{type(error).__name__}: {error}")[:200]
    return _outcome(status), status, ""


def _outcome(status: int) -> Outcome:
    if status < 400 or status == 416:
        return "answers"
    if status in (404, 410):
        return "gone"
    return "refused" if status in (401, 402, 403, 407, 429, 451) else "failing"
