"""Files for deployment hold against what reads them, and name versions and options that exist."""

import configparser
import re
import shlex
from pathlib import Path

import pytest
import yaml
from places import doc_page

from reeltalk.cli import app

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def test_ray_up_takes_the_cluster_file() -> None:
    import ray
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text(encoding="utf-8")))
    validate_config(config)
    workers = config["provider"]["worker_ips"]
    assert config["available_node_types"]["local.cluster.node"]["max_workers"] == config["max_workers"] == len(workers)
    commands = "\n".join(config["setup_commands"])
    assert f"ray[default]=={ray.__version__}" in commands, "every node has the locked Ray"


@pytest.mark.parametrize("unit", sorted(path.name for path in DEPLOY.glob("*.service")))
def test_units_start_commands_that_exist(unit: str) -> None:
    parsed = configparser.ConfigParser(interpolation=None)
    # systemd goes on in the next line after a backslash; here a line that is indented goes on.
    parsed.read_string((DEPLOY / unit).read_text(encoding="utf-8").replace("\\\n", "\n"))
    program, *arguments = shlex.split(parsed["Service"]["ExecStart"].replace("\n", " "))
    assert parsed["Install"]["WantedBy"] == "multi-user.target"
    assert (doc_page("how-to/scale.md")).read_text(encoding="utf-8").count(f"deploy/{unit}")
    if program.endswith("/reeltalk"):
        command, bound, *_ = app.parse_args(arguments, exit_on_error=False, print_error=False)
        assert command.__name__ == "serve"
        assert bound.arguments["database"].startswith("postgresql+psycopg://")


def test_the_page_and_the_files_say_the_same() -> None:
    page = (doc_page("how-to/scale.md")).read_text(encoding="utf-8")
    assert "deploy/ray-cluster.yaml" in page
    unit = (DEPLOY / "vllm.service").read_text(encoding="utf-8")
    options = set(re.findall(r"(?<=\s)--[a-z-]+", unit.partition("ExecStart=")[2].partition("Restart")[0]))
    assert options - {"--host", "--port"} <= set(re.findall(r"--[a-z-]+", page))
