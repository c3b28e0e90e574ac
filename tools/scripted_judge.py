"""A judge of construction for tests: the scripted vision model, asked over a real connection."""

import contextlib
from collections.abc import Iterator

import scripted_vision
from scripted_server import Script, Server, serve

from reeltalk.llm import Endpoint, LanguageModel
from reeltalk_build.construct.prompting import PromptedModel
from reeltalk_build.construct.writers import Language


@contextlib.contextmanager
def scripted_judge(
    reply: Script = scripted_vision.reply, language: Language = "en"
) -> Iterator[tuple[PromptedModel, Server]]:
    """A model with our prompts, and the server that answers it."""
    with serve(reply) as server:
        endpoint = Endpoint(model="judge", base_url=server.base_url)
        with contextlib.closing(LanguageModel(endpoint)) as model:
            yield PromptedModel(model, language), server
