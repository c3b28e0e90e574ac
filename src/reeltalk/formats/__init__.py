"""Published layouts in and out, one module each: `read(source) -> Content`, `write(content, folder) -> list[str]`.

Decoding videos and asking models are left to other packages; `store` checks and saves what is read. Begin with
`layout`, which most layouts of JSON documents build on, and with `mvbench`, a layout in one file; `registry` finds a
layout by its name.
"""

FORMATS: dict[str, str] = {
    "vdact": "VDAct: dialogues, released model outputs, activity graphs (AAAI 2025)",
    "svbench": "SVBench release: Meta, Dialogue, Con, Path, Streaming, in English and Chinese (ICLR 2025)",
    "mt-video-bench": "MT-Video-Bench v1 and v2: dialogues, checklists, answers, results",
    "dramaqa": "DramaQA: multiple choice on scenes and shots, script and visual annotation",
    "avsd": "AVSD and DSTC10: video-grounded dialogue with evidence intervals",
    "video-mme": "Video-MME: single-turn multiple choice",
    "mvbench": "MVBench: single-turn multiple choice by task",
    "ovo-bench": "OVO-Bench: questions at a moment of a stream",
    "folder": "a folder of videos with metadata.jsonl, .csv or .parquet",
    "hub": "a data set repository: Parquet, videos, data set card, Croissant 1.1",
    "label-studio": "Label Studio: a task for each scene, drafts as predictions, and the annotations back",
}
"""What each name on the command line means."""

TRAINING: dict[str, str] = {
    "streamingchat": "StreamingChat's JSON Lines, for InternVL's trainer and `reeltalk train`",
    "sharegpt": "messages with <image>, for LLaMA-Factory",
    "trl": "messages in parts, for TRL's SFTTrainer",
}
"""Layouts of training data, which are written and checked, not imported: pictures of frames with turns between them."""
