"""Fetch a published data set: show its licence, resume, hash every file, list missing videos.

The source is a hub, through huggingface_hub, or a local folder. `.fetched.json` in the folder lists the fetched files.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reeltalk.errors import BenchmarkError, FetchError, InputError, MissingExtraError, SettingError
from reeltalk.formats import load_format
from reeltalk.formats.folder import VIDEO_SUFFIXES
from reeltalk.schema.texts import path_problem, twins
from reeltalk.store.archives import is_archive_name
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, write_bytes
from reeltalk.store.documents import read_json, write_json
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import hash_file

RECORD: Final = ".fetched.json"


@dataclass(frozen=True)
class DataSet:
    """A published data set: its address and its terms."""

    name: str
    title: str
    repo: str | None
    """Identifier of the data set repository on the Hub; None if the authors give none."""
    home: str
    licence: str
    expected: tuple[str, ...]
    """Patterns that match files of every release, at any depth."""


DATA_SETS: Final = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "vdact",
            "VDAct (AAAI 2025)",
            None,
            "https://github.com/aistairc/VDAct",
            "Apache-2.0 for what the repository holds. The videos are distributed apart, at "
            "https://kgrc4si.home.kg/Movie/, under terms of their own.",
            ("dialogue.json", "*_ids.txt"),
        ),
        DataSet(
            "svbench",
            "SVBench (ICLR 2025)",
            "yzy666/SVBench",
            "https://github.com/sotayang/SVBench",
            "Apache-2.0 says the data set's page on the Hub. The videos come from YT-Temporal-1B, YouCook2, MovieChat, "
            "Panda-70M, Ego4D and ActivityNet, each with its own terms.",
            ("Meta_*/*.csv", "Dialogue_*/*.json", "Con_*/*.json", "Path/*.json", "Streaming_*/*.json"),
        ),
        DataSet(
            "mt-video-bench",
            "MT-Video-Bench (arXiv 2510.17722)",
            "NJU-LINK/MT-Video-Bench",
            "https://github.com/NJU-LINK/MT-Video-Bench",
            "CC-BY-NC-SA-4.0, for research only, no commercial use (the page on the Hub is marked CC-BY-NC-ND-4.0 too: "
            "ask the authors before you pass on anything derived). Access is given on request. The videos belong to "
            "their authors.",
            ("*.json",),
        ),
        DataSet(
            "dramaqa",
            "DramaQA (AAAI 2021)",
            None,
            "https://dramaqa.snu.ac.kr",
            "The data set is given out by its authors after a signed agreement, and not to be shared with others; its "
            "code is MIT. The frames belong to the broadcaster.",
            ("AnotherMissOhQA_*.json",),
        ),
    )
}
"""The data sets by name."""


@dataclass
class FetchReport:
    """The result of a fetch."""

    into: Path
    fetched: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Videos that annotations name and that are missing or empty."""
    notes: list[str] = field(default_factory=list)
    """Other remarks for the user: missing parts of the release, archives to unpack."""
    size_bytes: int = 0

    def lines(self, *, shown: int = 10) -> Iterator[str]:
        """The report as lines of text, with at most `shown` of the missing videos."""
        yield (
            f"{len(self.fetched):,} files fetched, {len(self.kept):,} were here already, "
            f"{self.size_bytes / 1e6:,.1f} MB in {self.into}"
        )
        if self.missing:
            yield f"{len(self.missing):,} videos are named but not here:"
            yield from (f"  {name}" for name in self.missing[:shown])
            if len(self.missing) > shown:
                yield f"  … and {len(self.missing) - shown:,} more, all listed in {self.into / RECORD}"
        yield from (f"note: {note}" for note in self.notes)


def fetch(
    name: str,
    *,
    into: Path,
    source: Path | None = None,
    repo: str | None = None,
    endpoint: str | None = None,
    revision: str | None = None,
    accept_licence: bool | Callable[[str], bool] = False,
    progress: Callable[[str], None] = lambda _: None,
) -> FetchReport:
    """Fetch a data set into a folder. A second call continues where the first one stopped.

    Args:
        name: Key of `DATA_SETS`.
        into: Folder that receives it.
        source: A local folder to take it from, in place of a hub.
        repo: Identifier of the repository; by default the one of the data set.
        endpoint: Address of the hub; huggingface_hub's default if None.
        revision: Branch, tag or commit.
        accept_licence: True, or a function that gets the terms and returns True if they are accepted.
        progress: Called with a line for each file.

    Raises:
        SettingError: The name is unknown, or the terms were not accepted.
        FetchError: The data could not be fetched here; says what to do.
        MissingExtraError: A hub is wanted and the `hub` extra is not installed.
        BenchmarkError: The disk is full or cannot be written.
    """
    if name not in DATA_SETS:
        raise SettingError(f"unknown data set '{name}'; known are {', '.join(DATA_SETS)}")
    data_set = DATA_SETS[name]
    identifier = repo or data_set.repo
    if source is None and identifier is None:
        raise FetchError(
            f"no hub repository of {data_set.title} is known to us; get it from {data_set.home} and pass "
            "the folder with --from, or name a repository with --repo OWNER/NAME"
        )
    terms = f"{data_set.title}\n{data_set.home}\n{data_set.licence}"
    record = _read_record(into)
    _accept(record, terms, accept_licence)
    if source is not None:
        if not source.is_dir():
            raise FetchError(f"{source} is not a folder; --from takes the folder that holds the data set")
        if into.resolve().is_relative_to(source.resolve()) or source.resolve().is_relative_to(into.resolve()):
            raise FetchError(f"{into} and {source} lie in one another; choose another folder")
    # Recorded before the first byte arrives, so that a run that stops half-way does not ask again.
    accepted = {"data_set": name, "terms_accepted": _hash_of(terms), "terms": terms}
    write_bytes(into / RECORD, write_json({**record, **accepted}).encode())
    report = FetchReport(into)
    if source is not None:
        _copy(source, into, report, progress)
        origin = str(source)
    else:
        origin = f"{identifier}@{_download(str(identifier), into, endpoint, revision, report, progress)}"
    _look_for_what_is_missing(data_set, into, report)
    hashed = {path: hash_file(into / path) for path in sorted([*report.fetched, *report.kept])}
    report.size_bytes = sum(size_bytes for _, size_bytes in hashed.values())
    document = {
        **accepted,
        "source": origin,
        **({"endpoint": endpoint} if endpoint and source is None else {}),
        "files": {path: {"sha256": sha256, "size_bytes": size} for path, (sha256, size) in hashed.items()},
        "missing_videos": report.missing,
        "notes": report.notes,
    }
    write_bytes(into / RECORD, write_json(document).encode())
    return report


def _read_record(into: Path) -> dict[str, Any]:
    if not (into / RECORD).is_file():
        return {}
    record = read_json(into / RECORD)
    if not isinstance(record, dict):
        raise FetchError(f"{into / RECORD} is not a record of a fetch; remove it and run the command again")
    return record


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _accept(record: dict[str, Any], terms: str, accept: bool | Callable[[str], bool]) -> None:
    # The terms were accepted with exactly this text. A changed text must be accepted again.
    if record.get("terms_accepted") == _hash_of(terms):
        return
    if not (accept if isinstance(accept, bool) else accept(terms)):
        shown = " ".join(terms.split())
        raise SettingError(f"the terms were not accepted ({shown}); pass --accept-licence if you accept them")


def _copy(source: Path, into: Path, report: FetchReport, progress: Callable[[str], None]) -> None:
    paths = visible_files(source)
    for number, path in enumerate(paths, start=1):
        name = path.relative_to(source).as_posix()
        target = into / name
        try:
            sha256, size_bytes = hash_file(path)
        except OSError as error:
            raise FetchError(f"cannot read {path}: {error.strerror}; check the folder given with --from") from None
        if target.is_file() and target.stat().st_size == size_bytes and hash_file(target)[0] == sha256:
            report.kept.append(name)
            continue
        progress(f"{number} of {len(paths)}: {name}")
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.parent / f"{PARTIAL_PREFIX}{_hash_of(name)[:12]}"
            try:
                shutil.copyfile(path, partial)
                if hash_file(partial)[0] != sha256:
                    raise FetchError(f"{path} changed while it was copied; run the command again")
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
        report.fetched.append(name)


def _download(
    repo: str,
    into: Path,
    endpoint: str | None,
    revision: str | None,
    report: FetchReport,
    progress: Callable[[str], None],
) -> str:
    """Download a repository's files, and return their commit."""
    # huggingface_hub reads these when it is imported. Telemetry would report the data set that you fetch.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    try:
        from huggingface_hub import HfApi, hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
        from huggingface_hub.hf_api import RepoFile
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        raise MissingExtraError("fetching from a hub", extra="hub") from None
    disable_progress_bars()
    api = HfApi(endpoint=endpoint)
    try:
        commit = api.dataset_info(repo, revision=revision).sha or "unknown"
        tree = api.list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
        files = sorted((item for item in tree if isinstance(item, RepoFile)), key=lambda item: item.path)
        for number, item in enumerate(files, start=1):
            if problem := path_problem(item.path):
                raise FetchError(f"{repo} lists {problem}: {item.path!r}; do not use this source")
            if item.path == RECORD or item.path.split("/")[0] == ".cache":
                # Ours and the library's own files.
                report.notes.append(f"{item.path} of the repository was left out: its name is taken here")
                continue
            target = into / item.path
            if _is_whole(target, item):
                report.kept.append(item.path)
                continue
            progress(f"{number} of {len(files)}: {item.path}, {item.size / 1e6:,.1f} MB")
            with storage_errors(target):
                # The recorded tag alone would accept a damaged file as complete.
                force = target.is_file()
                try:
                    hf_hub_download(
                        repo, item.path, repo_type="dataset", revision=commit, local_dir=into, endpoint=endpoint,
                        force_download=force,
                    )  # fmt: skip
                except OSError as error:
                    if error.errno is None and type(error) is OSError:
                        # The library's own check of the size; errors of the system have a number.
                        raise FetchError(f"{item.path} arrived cut off or too long; run again") from None
                    raise
            if not _is_whole(target, item):
                target.unlink(missing_ok=True)
                raise FetchError(f"{item.path} arrived damaged: its hash is not the one the hub states; run again")
            report.fetched.append(item.path)
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        advice = {
            401: "sign in with 'hf auth login', or ask for access on the data set's page",
            403: "ask for access on the data set's page, then sign in with 'hf auth login'",
            404: "check --repo and --revision",
        }.get(status, "try again later; what is here already is kept")
        raise FetchError(f"the hub answered {status} for {repo}: {advice}") from None
    except HFValidationError as error:
        raise FetchError(f"{repo!r} is no repository identifier: {str(error).splitlines()[0]}") from None
    except (FetchError, BenchmarkError):
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The reply is not from a hub: a page of a proxy, a sign-in page, another service.
        raise FetchError(
            f"{endpoint or 'the hub'} did not answer like a hub ({type(error).__name__}); check --endpoint, "
            "and whether a proxy or a sign-in page answers instead"
        ) from None
    except Exception as error:
        # huggingface_hub's interface has no base class of the HTTP client's errors.
        if not _is_of_network(error):
            raise
        raise FetchError(
            f"cannot reach {endpoint or 'the hub'} ({type(error).__name__}); check the network or --endpoint, "
            "run again to continue, or pass a local folder with --from"
        ) from None
    return commit


def _is_of_network(error: Exception) -> bool:
    from huggingface_hub.errors import LocalEntryNotFoundError

    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    transport = bool(modules & {"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3"})
    return transport or isinstance(error, LocalEntryNotFoundError | ConnectionError | TimeoutError)


def _is_whole(path: Path, item: Any) -> bool:
    """True if the file has the size and hash that the hub states: SHA-256 for large files, git's SHA-1 for others."""
    if not path.is_file() or path.stat().st_size != item.size:
        return False
    if item.lfs is not None:
        return bool(hash_file(path)[0] == item.lfs.sha256)
    digest = hashlib.sha1(f"blob {item.size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return bool(digest.hexdigest() == item.blob_id)


def _look_for_what_is_missing(data_set: DataSet, into: Path, report: FetchReport) -> None:
    names = [path.relative_to(into).as_posix() for path in visible_files(into)]
    absent = [pattern for pattern in data_set.expected if not any(PurePosixPath(name).match(pattern) for name in names)]
    if absent:
        report.notes.append(f"a release of {data_set.title} also has {', '.join(absent)}; none of these is here")
    archives = [name for name in names if is_archive_name(name)]
    if archives:
        report.notes.append(
            f"{len(archives):,} archives or parts of them are not unpacked, {archives[0]} first; videos may be inside"
        )
    for one, other, *_ in twins(names):
        report.notes.append(f"{one} and {other} differ only in case or in invisible characters: rename one of them")
    try:
        content = load_format(data_set.name).read(into)
    except (InputError, MissingExtraError) as error:
        report.notes.append(f"which videos are missing is not known, for the annotations cannot be read: {error}")
        return
    report.missing = missing_videos((video.file or video.id for video in content.videos), into)


def missing_videos(expected: Iterable[str], folder: Path) -> list[str]:
    """The videos that are missing in a folder, or empty there.

    Args:
        expected: Names or paths of videos. Only the name without suffix is compared.
        folder: The folder to search, at any depth.
    """
    present = {path.stem for path in visible_files(folder) if _is_video(path.name) and path.stat().st_size > 0}
    named = [PurePosixPath(name.replace("\\", "/")).name for name in expected]
    return sorted({PurePosixPath(name).stem if _is_video(name) else name for name in named} - present)


def _is_video(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in VIDEO_SUFFIXES
