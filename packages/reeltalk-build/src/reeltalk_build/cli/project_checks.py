"""What `reeltalk doctor` checks of a project, which it finds in the entry points `reeltalk.checks`."""

import os
from collections.abc import Iterator
from pathlib import Path

from reeltalk.schema.outcomes import Check
from reeltalk.store.remote import is_address
from reeltalk_build.cli.projects import project_steps
from reeltalk_build.project.sections import SOURCES


def project_results(project: Path) -> list[Path]:
    """Benchmarks and runs that a project has made."""
    _, steps = project_steps(project)
    ending = [step for step in steps if step.kind in ("benchmark", "run")]
    return [project.parent / step.result for step in ending if step.whole(project.parent)]


def check_project(project: Path) -> Iterator[Check]:
    """Check the files that a project reads and no step writes, and the keys that it names."""
    about, steps = project_steps(project)
    made: set[str] = set()
    missing: dict[str, str] = {}
    for step in steps:
        for path in (read.path for read in step.reads if read.path not in made):
            if not is_address(path) and not (project.parent / path).exists():
                missing.setdefault(path, step.name)
        made.add(step.result)
    for path, name in missing.items():
        found = f"{name} reads {path}, which is not there"
        advice = "fix the path"
        if path == about.benchmark:
            advice += f", or add a section that makes it: {', '.join(SOURCES)}"
        yield Check(area="project", subject=str(project), status="problem", found=found, advice=advice)
    if not missing:
        found = f"{len(steps):,} steps; all their external inputs exist"
        unmade = sum(not step.whole(project.parent) for step in steps)
        found += f"; {unmade:,} of them have made nothing yet" if unmade else ""
        advice = f"reeltalk run {project}" if unmade else ""
        yield Check(area="project", subject=str(project), status="ok", found=found, advice=advice)
    for name in sorted({words[-1] for step in steps for key, words in step.options if key.endswith("api_key_env")}):
        if os.environ.get(name):
            yield Check(area="keys", subject=name, status="ok", found=f"set; {project} names it")
        else:
            advice = f"set it in the environment: export {name}=…"
            yield Check(
                area="keys", subject=name, status="warning", found=f"not set, and {project} names it", advice=advice
            )
