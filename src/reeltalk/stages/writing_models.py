"""Language models that write into a benchmark: they share a budget, and their replies are kept there."""

import contextlib
import os
from collections.abc import Iterator

from reeltalk.construct.settings import AskSettings
from reeltalk.errors import SettingError
from reeltalk.llm import Budget, CachedModel, Endpoint, InspectModel, LanguageModel, Model, ReplyStore
from reeltalk.store.benchmark import WORK, Benchmark


class WritingModels:
    """Opens models that share a budget and the replies that were kept."""

    def __init__(self, asking: AskSettings, store: ReplyStore, budget: Budget) -> None:
        self._asking, self._store, self._budget = asking, store, budget
        self.opened: list[Model] = []

    def open(self, name: str, *, sees_images: bool) -> CachedModel:
        """A model by its name, or `inspect:PROVIDER/MODEL`."""
        asking = self._asking
        endpoint: Endpoint = Endpoint(
            model=name,
            base_url=asking.base_url,
            max_tokens=asking.max_reply_tokens,
            timeout_s=asking.timeout_s,
            image_tokens=asking.image_tokens,
            price_in=asking.price_in,
            price_out=asking.price_out,
        )
        model: Model
        if name.startswith("inspect:"):
            model = InspectModel(name, endpoint, budget=self._budget, sees_images=sees_images)
        else:
            key = os.environ.get(asking.api_key_env)
            model = LanguageModel(endpoint, api_key=key, budget=self._budget, sees_images=sees_images)
        self.opened.append(model)
        return CachedModel(model, self._store)

    def spent(self) -> str | None:
        """What was asked, as a sentence; None where no model was opened."""
        if not self.opened:
            return None
        spent = self._budget.spent
        money = f", {spent.cost:,.4f} in money" if self._asking.price_in is not None else ""
        return f"{spent.calls:,} requests, {spent.tokens:,} tokens{money}; {len(self._store):,} replies are kept"


@contextlib.contextmanager
def opened_models(benchmark: Benchmark, writer: str, asking: AskSettings) -> Iterator[WritingModels]:
    """Models of a stage that writes into a benchmark.

    Args:
        benchmark: Where replies are kept.
        writer: Name of the one that writes.
        asking: How they are asked.

    Raises:
        SettingError: There is no such name.
    """
    if not writer or writer != writer.strip():
        raise SettingError(f"--writer {writer!r}: give graph or the name of a model")
    budget = Budget(asking.max_calls, asking.max_tokens, asking.max_cost)
    folder = benchmark.path / WORK
    folder.mkdir(exist_ok=True)
    with ReplyStore(folder / "replies.sqlite") as store:
        models = WritingModels(asking, store, budget)
        try:
            yield models
        finally:
            for model in models.opened:
                model.close()
