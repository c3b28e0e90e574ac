"""Language models that write into a benchmark: they share a budget, and their replies are kept there."""

import contextlib
import os
from collections.abc import Callable, Iterator

from reeltalk.construct.settings import AskSettings
from reeltalk.errors import SettingError
from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Model, ReplyStore
from reeltalk.llm.preflight import breaker_with_preflight
from reeltalk.llm.retrying import Breaker
from reeltalk.llm.wire import create_breaker
from reeltalk.schema.server_address import check_server
from reeltalk.store.benchmark import WORK, Benchmark


class WritingModels:
    """Opens models that share a budget and the replies that were kept."""

    def __init__(
        self, writer: str, asking: AskSettings, store: ReplyStore, budget: Budget, tell: Callable[[str], object]
    ) -> None:
        self._writer, self._asking, self._store, self._budget, self._tell = writer, asking, store, budget, tell
        self.opened: list[Model] = []
        self._breakers: dict[str, Breaker] = {}

    def open(self, name: str, *, sees_images: bool) -> CachedModel:
        """A model by its name, or `inspect:PROVIDER/MODEL`.

        Raises:
            SettingError: It can be asked nowhere.
            OutageError: Its server was tried, and no request can succeed.
        """
        asking = self._asking
        option = {self._writer: "--writer", asking.judge: "--judge", asking.probe: "--probe"}
        key_variable = None if len(self._store) else asking.api_key_env
        check_server(name, asking.base_url, key_variable, name=option.get(name, "--writer"))
        key = os.environ.get(asking.api_key_env)
        endpoint: Endpoint = Endpoint(
            model=name,
            base_url=asking.base_url,
            max_tokens=asking.max_reply_tokens,
            timeout_s=asking.timeout_s,
            give_up_after_s=asking.give_up_after_s,
            image_tokens=asking.image_tokens,
            price_in=asking.price_in,
            price_out=asking.price_out,
        )
        breaker = self._breakers.get(name)
        if breaker is None and asking.preflight:
            breaker = breaker_with_preflight(
                endpoint,
                kept=self._store,
                tell=self._tell,
                api_key=key,
                key_variable=asking.api_key_env,
                images=sees_images,
                schema=True,
                budget=self._budget,
            )
        self._breakers[name] = breaker = breaker or create_breaker(endpoint)
        model = LanguageModel(
            endpoint, api_key=key, budget=self._budget, sees_images=sees_images, kept=self._store, breaker=breaker
        )
        self.opened.append(model)
        return CachedModel(model, self._store)

    def spent(self) -> str | None:
        """What was asked, as a sentence; None where no model was opened."""
        if not self.opened:
            return None
        spent = self._budget.spent
        money = f", {spent.cost:,.4f} in money" if self._asking.price_in is not None else ""
        return f"{spent}{money}; {len(self._store):,} replies are kept"


@contextlib.contextmanager
def opened_models(
    benchmark: Benchmark, writer: str, asking: AskSettings, *, tell: Callable[[str], object]
) -> Iterator[WritingModels]:
    """Models of a stage that writes into a benchmark.

    Args:
        benchmark: Where replies are kept.
        writer: Name of the one that writes.
        asking: How they are asked.
        tell: Told in a sentence what a model's server does not take.

    Raises:
        SettingError: There is no such name.
    """
    if not writer or writer != writer.strip():
        raise SettingError(f"--writer {writer!r}: give graph or the name of a model")
    budget = Budget(asking.max_calls, asking.max_tokens, asking.max_cost)
    folder = benchmark.path / WORK
    folder.mkdir(exist_ok=True)
    with ReplyStore(folder / "replies.sqlite") as store:
        models = WritingModels(writer, asking, store, budget, tell)
        try:
            yield models
        finally:
            for model in models.opened:
                model.close()
