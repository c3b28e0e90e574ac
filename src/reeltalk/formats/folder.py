"""A folder of videos with `metadata.jsonl`, `metadata.csv` or `metadata.parquet`, as Hugging Face's VideoFolder has it.

Each row names a file by `file_name`, relative to its metadata file. Files are hashed and copied, never decoded here.
"""

from reeltalk.formats.folder_layout import FORMAT
from reeltalk.formats.folder_read import read
from reeltalk.formats.folder_write import write

__all__ = ["FORMAT", "read", "write"]
