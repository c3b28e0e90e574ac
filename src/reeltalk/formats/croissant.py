"""Describe a data set repository in Croissant 1.1 (MLCommons), so that tools find and read its tables."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from reeltalk.formats.parquet import pyarrow_modules
from reeltalk.store.manifest import hash_file

CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.1"
CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "arrayShape": "cr:arrayShape",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


ENCODINGS: Final = {
    ".parquet": "application/x-parquet",
    ".nq": "application/n-quads",
    ".jsonl": "application/jsonlines",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mp4": "video/mp4",
}


def croissant(folder: Path, *, name: str, licences: Counter[str]) -> dict[str, Any]:
    """The description of a repository: each of its files with its hash, each table with its columns.

    A column of records is described by their plain members; what lies deeper has no form in Croissant.

    Args:
        folder: The repository, its files written.
        name: The data set's name.
        licences: How many videos have each licence.
    """
    distribution, record_sets = [], []
    paths = [path for part in ("data", "graphs", "videos") for path in sorted((folder / part).glob("*"))]
    for path in paths:
        sha256, size_bytes = hash_file(path)
        relative = path.relative_to(folder).as_posix()
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": relative,
                "name": relative,
                "contentUrl": relative,
                "contentSize": f"{size_bytes} B",
                "encodingFormat": ENCODINGS.get(path.suffix.lower(), "application/octet-stream"),
                "sha256": sha256,
            }
        )
        if path.suffix == ".parquet":
            record_sets.append(_record_set(path, relative))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": name,
        "description": "Multi-turn dialogue about video, in the tables of reeltalk.",
        "license": sorted(licences) or ["not stated"],
        "url": "./",
        "version": "1.0.0",
        "distribution": distribution,
        "recordSet": record_sets,
    }


def _record_set(path: Path, file: str) -> dict[str, Any]:
    _, parquet = pyarrow_modules()
    table = path.stem
    fields = []
    for column in parquet.read_schema(path):
        field = _field(f"{table}/{column.name}", column.type, file, column.name)
        if field is not None:
            fields.append(field)
    record_set: dict[str, Any] = {"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields}
    if any(field["@id"] == f"{table}/id" for field in fields):
        record_set["key"] = {"@id": f"{table}/id"}
    return record_set


def _field(identifier: str, kind: Any, file: str, column: str, json_path: str | None = None) -> dict[str, Any] | None:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    field: dict[str, Any] = {"@type": "cr:Field", "@id": identifier, "name": identifier}
    source: dict[str, Any] = {"fileObject": {"@id": file}, "extract": {"column": column}}
    if json_path is not None:
        source["transform"] = {"jsonPath": json_path}
    plain = _plain_type(kind)
    if plain is not None:
        return field | {"dataType": plain, "source": source}
    if json_path is not None:
        return None
    inside = kind.value_type if types.is_list(kind) else kind
    if types.is_list(kind) and _plain_type(inside) is not None:
        return field | {"dataType": _plain_type(inside), "isArray": True, "arrayShape": "-1", "source": source}
    if not types.is_struct(inside):
        return None
    start = "$[*]." if types.is_list(kind) else "$."
    members = [_field(f"{identifier}/{part.name}", part.type, file, column, f"{start}{part.name}") for part in inside]
    members = [member for member in members if member is not None]
    if not members:
        return None
    return field | ({"repeated": True} if types.is_list(kind) else {}) | {"subField": members}


def _plain_type(kind: Any) -> str | None:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    if types.is_string(kind):
        return "sc:Text"
    if types.is_boolean(kind):
        return "sc:Boolean"
    if types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if types.is_floating(kind) else None
