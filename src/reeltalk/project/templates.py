"""The projects that `reeltalk new` can begin with: which settings they give; all others stand there as comments."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Template:
    """One kind of project."""

    name: str
    about: str
    """What it is for, in a sentence."""
    given: dict[str, dict[str, Any]]
    """Sections that are run, with the settings that differ from the defaults, in the order of the file."""
    offered: dict[str, dict[str, Any]]
    """Sections that stand behind comment marks, with examples of what must be given."""
    models: dict[str, str]
    """Models that are played, by name."""


JUDGE: Final[dict[str, Any]] = {"protocols": ["clair"], "judge": "gpt-4o-mini"}
RELEASE: Final[dict[str, Any]] = {"version": "1.0.0"}
EXAMPLE_MODEL: Final[dict[str, Any]] = {
    "model": "qwen3-vl",
    "base_url": "http://localhost:8000/v1",
    "api_key_env": "OPENAI_API_KEY",
    "max_calls": 1000,
}
"""A model of one's own, as an example behind comment marks."""

HOUSEHOLD: Final = Template(
    "household",
    "a filmed household: exact answers, honest baselines, no network; it runs as it stands, in a minute or so",
    {
        "film": {"scenarios": 6, "houses": 3, "width_px": 320, "fps": 5, "max_activities": 3, "max_duration_s": 120.0},
        "construct": {"steps": ["chains", "linkages", "paths"]},
        "evaluate": {"units": ["chain"], "frames": 8},
        "compare": {"metrics": "typed"},
        "report": {"media": "link"},
    },
    {"judge": JUDGE, "release": RELEASE},
    {"blind": "baseline:blind", "history": "baseline:history", "frames": "baseline:frames", "oracle": "oracle"},
)
VIDEOS: Final = Template(
    "videos",
    "videos of your own in the folder raw: filtered, cut into clips, and asked about by a language model",
    {
        "curate": {"videos": ["raw"], "splits": "train=0.8,test=0.2"},
        "construct": {"writer": "qwen3-vl", "base_url": "http://localhost:8000/v1", "max_calls": 5000},
        "evaluate": {},
        "report": {},
    },
    {"judge": JUDGE, "compare": {}, "release": RELEASE},
    {"blind": "baseline:blind", "history": "baseline:history"},
)
PUBLISHED: Final = Template(
    "published",
    "a published benchmark that lies in the folder data: imported, played to your models, and reported",
    {
        "import": {"format": "svbench", "source": "data/svbench"},
        "evaluate": {"preset": "svbench", "skip_missing": True, "judge": "gpt-4o-mini", "max_calls": 2000},
        "report": {"published": "svbench"},
    },
    {"fetch": {"dataset": "svbench", "into": "data/svbench"}, "judge": JUDGE, "compare": {}, "release": RELEASE},
    {"blind": "baseline:blind"},
)
TEMPLATES: Final = {template.name: template for template in (HOUSEHOLD, VIDEOS, PUBLISHED)}
