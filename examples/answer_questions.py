"""Answer exported questions with a vision-language model from transformers: an inference script to start yours from.

reeltalk export questions benchmarks/mine questions.jsonl
python examples/answer_questions.py questions.jsonl models/my-vlm my-vlm.jsonl
reeltalk evaluate benchmarks/mine --model answers:my-vlm.jsonl --out runs/my-vlm

It needs `pip install av torch transformers`, and nothing of reeltalk.
"""

import json
import sys
from pathlib import Path
from typing import Any

import av

FRAMES = 8


def read_frames(video: Path, until_s: float | None) -> list[Any]:
    """Frames spread over the video as PIL images; with `until_s` none is later than the question."""
    with av.open(str(video)) as container:
        frames = [(frame.time or 0.0, frame) for frame in container.decode(video=0)]
    seen = [frame for time_s, frame in frames if until_s is None or time_s <= until_s] or [frames[0][1]]
    picked = [seen[int(index * len(seen) / FRAMES)] for index in range(FRAMES)]
    return [frame.to_image().convert("RGB") for frame in picked]


def main(questions: str, checkpoint: str, out: str) -> None:
    """Answer each row of `questions` and write `unit_id`, `turn_index` and `text` to `out`."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor: Any = AutoProcessor.from_pretrained(checkpoint)
    model: Any = AutoModelForImageTextToText.from_pretrained(checkpoint).eval()
    with open(questions, encoding="utf-8") as rows, open(out, "w", encoding="utf-8") as answers:
        for row in map(json.loads, rows):
            frames = read_frames(Path(questions).parent / row["video"], row["asked_at_s"])
            chat: list[dict[str, Any]] = []
            for turn in row["history"]:
                chat.append({"role": "user", "content": [{"type": "text", "text": turn["question"]}]})
                chat.append({"role": "assistant", "content": [{"type": "text", "text": turn["answer"]}]})
            chat.append({"role": "user", "content": [{"type": "text", "text": row["prompt"]}]})
            # The pictures stand before the first question.
            chat[0]["content"][:0] = [{"type": "image"} for _ in frames]
            prompt = processor.apply_chat_template(chat, add_generation_prompt=True)
            inputs = processor(images=frames, text=prompt, return_tensors="pt").to(model.device)
            with torch.inference_mode():
                written = model.generate(**inputs, max_new_tokens=64, do_sample=False)
            text = processor.decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
            answer = {"unit_id": row["unit_id"], "turn_index": row["turn_index"], "text": text.strip()}
            answers.write(json.dumps(answer, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
