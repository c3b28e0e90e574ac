"""Runs files of tests that need much memory in processes of their own, so that the workers of pytest-xdist stay small.

A plugin of pytest, loaded by `conftest.py`. Each worker imports every file that it collects, and keeps what it
imported: torch and its packages take 400 MB. So a worker does not import these files. It runs each as one test, in a
process that is forked from one that has imported torch. Without workers (`-n 0`), and where tests are chosen by name,
they run as all others do.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from launched_runs import OF_ALL_TESTS, Launcher, launcher_of_tests

NAME: Final = "in a process of its own"
FILES: Final = frozenset(
    {
        "packages/reeltalk/tests/integration/test_training_data.py",
        "packages/reeltalk-build/tests/integration/test_tuned_on_single_turns.py",
        "packages/reeltalk-streaming/tests/unit/evaluate/chat/test_streaming_provider.py",
        "packages/reeltalk-streaming/tests/unit/evaluate/playing/test_local_model.py",
        "packages/reeltalk-build/tests/unit/inference/test_aesthetics.py",
        "packages/reeltalk-build/tests/unit/inference/test_detection.py",
        "packages/reeltalk-streaming/tests/unit/inference/test_streaming_model.py",
        "packages/reeltalk/tests/unit/inference/test_text_tokens.py",
        "packages/reeltalk-streaming/tests/unit/inference/test_video_model.py",
        "packages/reeltalk-streaming/tests/unit/streaming/test_collate.py",
        "packages/reeltalk-streaming/tests/unit/streaming/test_lora_training.py",
        "packages/reeltalk-household/tests/unit/streaming/test_mini_onnx.py",
        "packages/reeltalk-household/tests/unit/streaming/test_mini_training.py",
        "packages/reeltalk-household/tests/unit/streaming/test_network.py",
        "packages/reeltalk-streaming/tests/unit/streaming/test_trainers.py",
        "packages/reeltalk-streaming/tests/unit/streaming/test_training_options.py",
    }
)
OF_ALL_S: Final = 1800
"""How long a whole file may take; each test in it has the usual limit."""
IMPORTED: Final = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""Assertions of plugins of pytest that are imported before it starts are not explained when they fail."""
OPTIONS: Final = ("full", "release")
"""Options of a run that its processes get too."""


class FailedTests(Exception):
    """Tests of a file failed; the text is what pytest printed."""


class Processes:
    """Starts the process of each file, from one that is started when a file first needs it."""

    def __init__(self) -> None:
        self._at_the_end = contextlib.ExitStack()
        self._launcher: Launcher | None = None

    def run(self, file: Path, config: pytest.Config, folder: Path) -> None:
        """Run the tests of a file.

        Raises:
            FailedTests: One of them failed.
        """
        if self._launcher is None:
            self._launcher = self._at_the_end.enter_context(launcher_of_tests())
        folder.mkdir(parents=True, exist_ok=True)
        output = folder / f"{file.stem}.txt"
        options = [f"--{option}" for option in OPTIONS if config.getoption(option, default=False)]
        with output.open("w", encoding="utf-8") as written:
            with self._launcher.start(
                "-q", "-n", "0", "-p", "no:cacheprovider", "-W", IMPORTED, "--basetemp", folder / file.stem, *options,
                file, module="pytest", cwd=config.rootpath, stdout=written, stderr=written,
                environment={"DOCS_WORLD": str(folder.parent / "world"), OF_ALL_TESTS: self._launcher.address},
            ) as run:  # fmt: skip
                code = run.wait()
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise FailedTests(output.read_text(encoding="utf-8", errors="replace"))

    def pytest_unconfigure(self) -> None:
        self._at_the_end.close()


class WholeFile(pytest.File):
    """A file that is not imported here."""

    def collect(self) -> Iterator[pytest.Item]:
        item: WholeFileTest = WholeFileTest.from_parent(self, name=NAME)
        item.add_marker(pytest.mark.timeout(OF_ALL_S))
        yield item


class WholeFileTest(pytest.Item):
    """All tests of a file."""

    together = True
    """One worker runs all of these, so that torch is imported once (`suite_plugin.dealt`)."""

    def runtest(self) -> None:
        processes: Processes = self.config.stash[PROCESSES]
        # The folder of all workers, which holds `world` too.
        factory: pytest.TempPathFactory = self.config._tmp_path_factory  # type: ignore[attr-defined]
        processes.run(self.path, self.config, factory.getbasetemp().parent / "files")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, FailedTests):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, NAME


PROCESSES: Final = pytest.StashKey[Processes]()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.stash[PROCESSES] = Processes()
        config.pluginmanager.register(config.stash[PROCESSES], "own-processes")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> WholeFile | None:
    config = parent.config
    chosen = config.getoption("keyword") or config.getoption("markexpr") or any("::" in word for word in config.args)
    if not hasattr(config, "workerinput") or chosen or not module_path.is_relative_to(config.rootpath):
        return None
    if module_path.relative_to(config.rootpath).as_posix() not in FILES:
        return None
    return WholeFile.from_parent(parent, path=module_path)
