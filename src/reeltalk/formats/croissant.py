"""Describe a data set repository in Croissant 1.1 (MLCommons), so that tools find and read its tables."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from reeltalk.store.manifest import hash_file

CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.1"
TYPES: Final = {
    "string": "sc:Text",
    "list": "sc:Text",
    "int64": "sc:Integer",
    "double": "sc:Float",
    "float64": "sc:Float",
    "bool": "sc:Boolean",
}

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


def croissant(folder: Path, *, name: str, licences: Counter[str], columns: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The description of a repository's Parquet tables.

    Args:
        folder: The repository, its tables written.
        name: The data set's name.
        licences: How many videos have each licence.
        columns: For each table its flat columns and their Arrow types; `list` for lists of text.
    """
    distribution, record_sets = [], []
    for table, types in columns.items():
        path = folder / "data" / f"{table}.parquet"
        sha256, size_bytes = hash_file(path)
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": f"{table}-file",
                "name": f"{table}-file",
                "contentUrl": f"data/{table}.parquet",
                "contentSize": f"{size_bytes} B",
                "encodingFormat": "application/x-parquet",
                "sha256": sha256,
            }
        )
        record_sets.append(
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": table,
                "field": [_field(table, column, kind) for column, kind in types.items()],
            }
        )
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


def _field(table: str, column: str, kind: str) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": f"{table}/{column}",
        "dataType": TYPES.get(kind, "sc:Text"),
        "source": {"fileObject": {"@id": f"{table}-file"}, "extract": {"column": column}},
    }
    if kind == "list":
        field |= {"isArray": True, "arrayShape": "-1"}
    return field
