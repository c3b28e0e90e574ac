"""Check an exported folder with label-studio-sdk: the config, and each task's predictions against it.

Usage: `build/label-studio/venv/bin/python tools/check_label_studio.py FOLDER`; prints one line for each error.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from label_studio_sdk.label_interface import LabelInterface


def spelled_out(config: str, count: int) -> str:
    """The config as the labelling page has it for a task of so many turns; the SDK knows no `Repeater`."""
    root = ET.fromstring(config)
    repeater = root.find("Repeater")
    assert repeater is not None
    root.remove(repeater)
    for number in range(count):
        for child in repeater:
            text = ET.tostring(child, encoding="unicode").replace(repeater.attrib["indexFlag"], str(number))
            root.append(ET.fromstring(text))
    return ET.tostring(root, encoding="unicode")


def main(folder: Path) -> int:
    config = (folder / "config.xml").read_text(encoding="utf-8")
    LabelInterface(config).validate()
    errors = []
    for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
        interface = LabelInterface(spelled_out(config, len(task["data"]["turns"])))
        for prediction in task["predictions"]:
            errors += interface.validate_prediction(prediction, return_errors=True)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
