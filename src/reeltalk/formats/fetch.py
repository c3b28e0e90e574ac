"""Bring a published data set here: licence shown and accepted, resumable, every file hashed, missing videos listed.

From a hub through huggingface_hub, whose own code downloads and resumes, or from a local folder. What was fetched
stands in `.fetched.json` beside it.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import FetchError, InputError, MissingExtraError, SettingError
from reeltalk.formats.registry import load_format
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, write_bytes
from reeltalk.store.documents import read_json, visible_files, write_json
from reeltalk.store.manifest import hash_file

RECORD: Final = ".fetched.json"


@dataclass(frozen=True)
class DataSet:
    """Where a data set is published, and under which terms."""

    name: str
    title: str
    repo: str | None
    """Identifier of the data set repository on the Hub, where its authors name one."""
    home: str
    licence: str


DATA_SETS: Final = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "vdact",
            "VDAct (AAAI 2025)",
            None,
            "https://github.com/aistairc/VDAct",
            "Apache-2.0 for what the repository holds. The videos are distributed apart, under terms of their own.",
        ),
        DataSet(
            "svbench",
            "SVBench (ICLR 2025)",
            "yzy666/SVBench",
            "https://github.com/sotayang/SVBench",
            "The repository states no licence for its annotations: ask the authors before you pass them on. The videos "
            "come from YT-Temporal-1B, YouCook2, MovieChat, Panda-70M, Ego4D and ActivityNet, each with its own terms.",
        ),
        DataSet(
            "mt-video-bench",
            "MT-Video-Bench (arXiv 2510.17722)",
            None,
            "https://github.com/NJU-LINK/MT-Video-Bench",
            "CC-BY-NC-SA-4.0, for research only, no commercial use. The videos belong to their authors; the data set's "
            "authors grant access to researchers who accept this.",
        ),
        DataSet(
            "dramaqa",
            "DramaQA (AAAI 2021)",
            None,
            "https://dramaqa.snu.ac.kr",
            "The data set is given out by its authors after a form has been signed; its code is MIT. "
            "The frames belong to the broadcaster.",
        ),
    )
}
"""The data sets by name."""


@dataclass
class FetchReport:
    """What was fetched."""

    into: Path
    fetched: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Videos that annotations name and that are not here, or hold no bytes."""
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
    """Bring a data set into a folder. Run again, it goes on where it stopped.

    Args:
        name: Key of `DATA_SETS`.
        into: Folder that receives it.
        source: A local folder to take it from, in place of a hub.
        repo: Identifier of the repository, where it differs from the one we know or we know none.
        endpoint: Address of the hub; huggingface_hub's default where None.
        revision: Branch, tag or commit.
        accept_licence: True, or a function that shows the terms and says whether they are accepted.
        progress: Called with a line for each file.

    Raises:
        SettingError: The name is unknown, or the terms were not accepted.
        FetchError: The data could not be brought here; says what to do.
        MissingExtraError: A hub is wanted and the `hub` extra is not installed.
        BenchmarkError: The disk is full or cannot be written.
    """
    if name not in DATA_SETS:
        raise SettingError(f"unknown data set '{name}'; known are {', '.join(DATA_SETS)}")
    data_set = DATA_SETS[name]
    terms = f"{data_set.title}\n{data_set.home}\n{data_set.licence}"
    record = _read_record(into)
    _accept(record, terms, accept_licence)
    report = FetchReport(into)
    if source is not None:
        _copy(source, into, report, progress)
        origin = str(source)
    else:
        identifier = repo or data_set.repo
        if identifier is None:
            raise FetchError(
                f"no hub repository of {data_set.title} is known to us; get it from {data_set.home} and pass "
                "the folder with --from, or name a repository with --repo OWNER/NAME"
            )
        origin = f"{identifier}@{_download(identifier, into, endpoint, revision, report, progress)}"
    report.missing = _missing_videos(name, into)
    files = {path: _entry(into / path) for path in sorted([*report.fetched, *report.kept])}
    report.size_bytes = sum(entry["size_bytes"] for entry in files.values())
    document = {
        "data_set": name,
        "source": origin,
        "terms_accepted": hashlib.sha256(terms.encode()).hexdigest(),
        "terms": terms,
        "files": files,
        "missing_videos": report.missing,
    }
    write_bytes(into / RECORD, write_json(document).encode())
    return report


def _read_record(into: Path) -> dict[str, Any]:
    if not (into / RECORD).is_file():
        return {}
    record = read_json(into / RECORD)
    return record if isinstance(record, dict) else {}


def _accept(record: dict[str, Any], terms: str, accept: bool | Callable[[str], bool]) -> None:
    # Accepted once for this very text: a changed text is asked again.
    if record.get("terms_accepted") == hashlib.sha256(terms.encode()).hexdigest():
        return
    if not (accept if isinstance(accept, bool) else accept(terms)):
        shown = " ".join(terms.split())
        raise SettingError(f"the terms were not accepted ({shown}); pass --accept-licence if you accept them")


def _entry(path: Path) -> dict[str, Any]:
    sha256, size_bytes = hash_file(path)
    return {"sha256": sha256, "size_bytes": size_bytes}


def _copy(source: Path, into: Path, report: FetchReport, progress: Callable[[str], None]) -> None:
    if not source.is_dir():
        raise FetchError(f"{source} is not a folder; --from takes the folder that holds the data set")
    if into.resolve().is_relative_to(source.resolve()) or source.resolve().is_relative_to(into.resolve()):
        raise FetchError(f"{into} and {source} lie in one another; choose another folder")
    paths = visible_files(source)
    for number, path in enumerate(paths, start=1):
        name = path.relative_to(source).as_posix()
        target = into / name
        sha256, size_bytes = hash_file(path)
        if target.is_file() and target.stat().st_size == size_bytes and hash_file(target)[0] == sha256:
            report.kept.append(name)
            continue
        progress(f"{number} of {len(paths)}: {name}")
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.parent / f"{PARTIAL_PREFIX}{hashlib.sha256(name.encode()).hexdigest()[:12]}"
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
    """Download a repository's files; the commit they belong to."""
    # Read by huggingface_hub when it is imported; a data set is nobody's business but the user's.
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
            if not _stays_inside(item.path):
                raise FetchError(f"{repo} lists a file outside its folder: {item.path!r}; do not use this source")
            target = into / item.path
            if _is_whole(target, item):
                report.kept.append(item.path)
                continue
            progress(f"{number} of {len(files)}: {item.path}, {item.size / 1e6:,.1f} MB")
            with storage_errors(target):
                # A file that is here but wrong would be taken for whole by its recorded tag alone.
                force = target.is_file()
                hf_hub_download(
                    repo, item.path, repo_type="dataset", revision=commit, local_dir=into, endpoint=endpoint,
                    force_download=force,
                )  # fmt: skip
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
    except FetchError:
        raise
    except Exception as error:
        # The HTTP client's errors have no root of their own that is part of huggingface_hub's interface.
        if not _is_of_network(error):
            raise
        raise FetchError(
            f"cannot reach {endpoint or 'the hub'} ({type(error).__name__}); check the network or --endpoint, "
            "run again to go on, or pass a local folder with --from"
        ) from None
    return commit


def _is_of_network(error: Exception) -> bool:
    from huggingface_hub.errors import LocalEntryNotFoundError

    modules = {kind.__module__.split(".")[0] for kind in type(error).__mro__}
    transport = bool(modules & {"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3"})
    return transport or isinstance(error, LocalEntryNotFoundError | ConnectionError | TimeoutError)


def _stays_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/") and "\\" not in path


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


def _missing_videos(name: str, into: Path) -> list[str]:
    """Videos that the annotations name and the folder does not hold, by the name of their file without its ending."""
    try:
        content = load_format(name).read(into)
    except (InputError, MissingExtraError):
        # The annotations cannot be read as they lie here; an import will say why.
        return []
    present = {
        path.stem for path in into.rglob("*") if path.is_file() and path.stat().st_size > 0 and _is_video(path.name)
    }
    wanted: Iterable[str] = (Path(video.file or video.id).stem for video in content.videos)
    return sorted(set(wanted) - present)


def _is_video(name: str) -> bool:
    return re.search(r"\.(mp4|mkv|webm|mov|avi|m4v)$", name, re.IGNORECASE) is not None
