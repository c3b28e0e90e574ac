"""Files at addresses such as `s3://bucket/raw/`: find, list, read in parts and write them, through fsspec.

This is the only module that imports fsspec. Its drivers find credentials in the same places as the store's own tools,
in the environment or in files. An address with credentials is refused, since addresses are recorded.
"""

import contextlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from reeltalk.errors import MissingExtraError, RemoteError, SettingError
from reeltalk.store.atomic import PARTIAL_PREFIX

BLOCK_BYTES: Final = 8 << 20
"""Bytes of one request."""
LISTING_S: Final = 300.0
"""Longest time for listing a folder, as a bound on endless listings."""
CONNECT_S: Final = 30.0
SILENCE_S: Final = 60.0
"""Longest time in which a web server may send nothing."""
MOST_FILES: Final = 1_000_000
DEEPEST_PAGE: Final = 4
"""Deepest folders on a web server, where a folder is a page of links."""

SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
SECRET: Final = re.compile(r"(?i)sig|token|secret|passw|credential|key|auth(?!or)|signed")
WRAPPERS: Final = frozenset(
    "async_wrapper asyncwrapper blockcache cached dask data dir filecache generic jlab jupyter libarchive pyscript "
    "reference simplecache tar zip".split()
)
"""Names of fsspec's drivers that wrap other stores."""
PACKAGES: Final = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"} | {
    "abfss": "adlfs", "http": "aiohttp requests", "https": "aiohttp requests", "oss": "ossfs", "oci": "ocifs",
    "sftp": "paramiko", "ssh": "paramiko", "smb": "smbprotocol", "webdav": "webdav4", "hf": "huggingface_hub",
}  # fmt: skip
"""Package to install for an address, by its scheme."""
WEB: Final = frozenset({"http", "https"})
WHOLE_OR_ABSENT: Final = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci", "tos"})
"""Stores in which an object appears only once it has all arrived."""


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address."""

    path: str
    """The driver's name of the file."""
    name: str
    """Relative to the address that was listed, with forward slashes."""
    size_bytes: int | None
    """Size in bytes; None if the server does not give it."""
    version: str | None
    """An entity tag, checksum or time that changes with the content; None if the server gives none."""


def is_address(text: str) -> bool:
    """True for `s3://…` and the like, false for the path of a file."""
    return SCHEME.match(text) is not None


def redact(address: str) -> str:
    """An address, or a text with addresses, without user, password and query, which may be secret."""
    without_user = re.sub(r"(https?://)[^/@\s]*@|(://)[^/@\s]*:[^/@\s]*@", r"\1\2", address)
    return re.sub(r"\?[^\s'\"]*", "", without_user)


def check_remote_address(address: str) -> str:
    """Return the address if it may be used and recorded.

    Raises:
        SettingError: It holds credentials, is no address, or joins several.
    """
    scheme = SCHEME.match(address)
    if scheme is None:
        raise SettingError(f"{redact(address)!r} is no address; give one such as s3://bucket/folder")
    if "::" in address or scheme[1].lower() in WRAPPERS:
        raise SettingError(f"{redact(address)}: give the address of the store itself, without '::' and without caches")
    if not address.isprintable() or any(part in (".", "..") for part in address.split("/")):
        raise SettingError(f"{redact(address)!r} holds '..' or characters that no address has")
    try:
        parts = urlsplit(address)
        user, password = parts.username, parts.password
    except ValueError as error:
        raise SettingError(f"the address {redact(address)} is not valid: {error}") from None
    secret = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if SECRET.search(name)]
    if password is not None or secret or (user is not None and scheme[1].lower() in ("http", "https")):
        raise SettingError(
            f"the address {redact(address)} holds credentials, which would be recorded; leave them out, and give them "
            "to the driver as its store's own tools take them (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://)"
        )
    return address


def give_up() -> None:
    """Cancel the running requests of all threads, so that none waits for a silent server."""
    from asyncio import all_tasks

    from fsspec.asyn import loop

    if loop[0] is not None and loop[0].is_running():
        loop[0].call_soon_threadsafe(lambda: [task.cancel() for task in all_tasks()])


class Remote:
    """The folder, or the one file, at an address.

    Args:
        address: An address such as `s3://bucket/raw/`. No request is sent yet.

    Raises:
        SettingError: The address cannot be used.
        MissingExtraError: The package for its scheme is not installed.
    """

    def __init__(self, address: str) -> None:
        import fsspec

        self.address = check_remote_address(address)
        self.scheme = address.partition("://")[0].lower()
        try:
            # A cached listing would hide changes.
            options = _patience() if self.scheme in WEB else {}
            self._files, root = fsspec.core.url_to_fs(address, use_listings_cache=False, **options)
        except ImportError:
            extra = "s3" if PACKAGES.get(self.scheme) == "s3fs" else None
            package = PACKAGES.get(self.scheme, f"that reads {self.scheme}:// with fsspec")
            raise MissingExtraError(f"{self.scheme}://", extra=extra, package=package) from None
        except ValueError as error:
            raise SettingError(f"{redact(address)} cannot be used: {redact(str(error))}") from None
        self.root = str(root).rstrip("/")

    def look(self, name: str = "") -> RemoteFile | None:
        """Facts about a file below the address, or at the address itself; None if it is not a file.

        Raises:
            RemoteError: The store cannot be reached or refuses.
        """
        below = quote(name) if self.scheme in WEB else name
        path = f"{self.root}/{below}" if name else self.root
        return self._look(path, name or path.rsplit("/", 1)[-1])

    def again(self, file: RemoteFile) -> RemoteFile | None:
        """Current facts about a file; None if it no longer exists.

        Raises:
            RemoteError: The store cannot be reached or refuses.
        """
        return self._look(file.path, file.name)

    def _look(self, path: str, name: str) -> RemoteFile | None:
        try:
            with self._driver("looking at", path):
                entry = self._files.info(path)
        except _AbsentError:
            return None
        return None if entry.get("type") == "directory" else self._file(entry, path, name)

    def files(self) -> tuple[list[RemoteFile], dict[str, str]]:
        """All files below the address, in order, and the names of refused files with the reason.

        Hidden files, and files in hidden folders, are left out.

        Raises:
            RemoteError: The store cannot be reached or refuses, there is no such folder, or it holds too much.
        """
        with self._driver("listing", self.root):
            entries = self._find()
        if len(entries) > MOST_FILES:
            raise RemoteError(f"{redact(self.address)} holds more than {MOST_FILES:,} files; name a folder of it")
        if not entries:
            raise RemoteError(f"{redact(self.address)} holds no files; check the address")
        found, refused = [], {}
        for path, entry in entries.items():
            name = path.removeprefix(f"{self.root}/")
            name = unquote(name) if self.scheme in WEB else name
            if name.endswith("/") and not entry.get("size"):
                continue  # the marker of an empty folder that consoles create
            reason = _reason_against(path, name, entry)
            if reason is not None:
                refused[name] = reason
            elif not any(part.startswith(".") for part in name.split("/")):
                found.append(self._file(entry, path, name))
        # As paths are ordered: folder by folder.
        return sorted(found, key=lambda file: file.name.split("/")), dict(sorted(refused.items()))

    def blocks(self, file: RemoteFile, start: int) -> Iterator[bytes]:
        """The bytes of a file from `start` on, in blocks.

        Raises:
            RemoteError: It cannot be read, or changed since it was looked at.
        """
        with contextlib.ExitStack() as closing:
            with self._driver("reading", file.path):
                stream = closing.enter_context(self._open(file, start))
            while True:
                with self._driver("reading", file.path):
                    block = stream.read(BLOCK_BYTES)
                if not block:
                    return
                yield block

    def put(self, source: Path, name: str) -> None:
        """Write a file below the address, whole or not at all.

        Raises:
            RemoteError: The store cannot be reached, refuses, or takes no files.
        """
        target = f"{self.root}/{name}"
        folder = target.rpartition("/")[0]
        with self._driver("writing", target):
            if self.scheme in WEB:
                raise NotImplementedError
            if self.scheme in WHOLE_OR_ABSENT:
                self._files.put_file(str(source), target)
                return
            self._files.makedirs(folder, exist_ok=True)
            # With a name of its own, since another process may write the same file.
            partial = f"{folder}/{PARTIAL_PREFIX}{secrets.token_hex(6)}"
            try:
                self._files.put_file(str(source), partial)
                self._files.mv(partial, target)
            except BaseException:
                with contextlib.suppress(Exception):
                    self._files.rm_file(partial)
                raise

    def _open(self, file: RemoteFile, start: int) -> Any:
        """A stream of a file's bytes from `start` on."""
        if self.scheme not in WEB:
            stream = self._files.open(file.path, "rb", block_size=BLOCK_BYTES, cache_type="none")
            stream.seek(start)
            return stream
        # Read one response: for parts, fsspec keeps everything that a server sends, even more than was requested.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        stream = self._files.open(file.path, "rb", block_size=0, size=1, headers=headers)
        # A server without support for parts sends the whole file: skip the bytes that are here already.
        skip = start if stream.r.status != 206 else 0
        while skip and (dropped := len(stream.read(min(BLOCK_BYTES, skip)))):
            skip -= dropped
        return stream

    def _find(self) -> dict[str, dict[str, Any]]:
        from fsspec.asyn import AsyncFileSystem, sync

        options: dict[str, Any] = {"detail": True}
        if self.scheme in WEB:
            options["maxdepth"] = DEEPEST_PAGE
        if isinstance(self._files, AsyncFileSystem):
            root = f"{self.root}/" if self.scheme in WEB else self.root
            found = sync(self._files.loop, self._files._find, root, timeout=LISTING_S, **options)
        else:
            found = self._files.find(self.root, **options)
        return dict(found)

    def _file(self, entry: dict[str, Any], path: str, name: str) -> RemoteFile:
        size = entry.get("size")
        version = next(
            (str(entry[field]) for field in ("ETag", "etag", "md5Hash", "mtime", "created", "Last-Modified",
             "LastModified", "last_modified") if entry.get(field) is not None), None
        )  # fmt: skip
        return RemoteFile(path, name, size if isinstance(size, int) and size >= 0 else None, version)

    @contextlib.contextmanager
    def _driver(self, doing: str, path: str) -> Iterator[None]:
        """Turn any exception of a driver into an error that names the address and no secret."""
        where = redact(self.address if path == self.root else path)
        try:
            yield
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            cause = error.__cause__
            # The driver of web servers raises this error for every failure.
            if self.scheme in WEB and cause is not None and getattr(cause, "status", None) not in (404, 410):
                raise RemoteError(f"{doing} {where} failed: {_error_text(cause)}", passing=True) from None
            raise _AbsentError(f"{doing} {where}: there is no such file, folder or bucket; check the address") from None
        except PermissionError as error:
            said = _error_text(error)
            raise RemoteError(
                f"{doing} {where}: the store refuses ({said}); check the credentials it is given"
            ) from None
        except NotImplementedError:
            raise RemoteError(f"{doing} {where}: {self.scheme}:// addresses are only read") from None
        except MemoryError:
            raise
        except Exception as error:
            if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"):
                raise RemoteError(f"{doing} {where}: no credentials were found ({_error_text(error)})") from None
            raise RemoteError(f"{doing} {where} failed: {_error_text(error)}", passing=True) from None


class _AbsentError(RemoteError):
    """The file does not exist."""


def _reason_against(path: str, name: str, entry: dict[str, Any]) -> str | None:
    if name == path or name.startswith("/"):
        return "it lies outside the folder that was listed"
    if not {"", ".", ".."}.isdisjoint(name.split("/")):
        return "its name holds an empty part, '.' or '..'"
    if "\0" in name:
        return "its name holds characters that no file's name can"
    if entry.get("islink") or entry.get("type") == "link":
        return "it is a link, which may lead anywhere; give the file itself"
    return None if entry.get("type", "file") == "file" else "it is no regular file"


def _patience() -> dict[str, Any]:
    """Timeouts that let a large file take hours, as long as bytes arrive."""
    import aiohttp

    return {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=None, connect=CONNECT_S, sock_read=SILENCE_S)}}


def _error_text(error: BaseException) -> str:
    return " ".join(redact(str(error)).split())[:200] or type(error).__name__
