"""What is no address of a model's server is refused, with what to give in its place."""

import pytest

from reeltalk.errors import SettingError
from reeltalk.evaluation.settings import ModelSettings
from reeltalk.judge.settings import JudgeModelSettings
from reeltalk.schema.server_address import check_address, check_server, without_user
from reeltalk.schema.settings import settings_of


@pytest.mark.parametrize(
    "address",
    [
        *("http://localhost:8000/v1", "https://api.openai.com/v1", "http://[::1]:80/v1", "http://u:p@host/v1/"),
        *("http://host/openai/v1?api-version=2", "http://10.0.0.1", "HTTP://HOST/v1"),
    ],
)
def test_addresses_are_taken(address: str) -> None:
    check_address(address, "--base-url")
    assert ModelSettings(base_url=address).base_url == address


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("localhost:8000/v1", "begins with http:// or https://; give it as http://localhost:8000/v1"),
        ("10.0.0.1:8000", "give it as http://10.0.0.1:8000"),
        ("htp://host/v1", "give it as http://host/v1"),
        ("http:/host/v1", "begins with http:// or https://"),
        ("//host/v1", "give it as http://host/v1"),
        ("", "begins with http:// or https://"),
        ("file:///etc/passwd", "begins with http:// or https://"),
        ("http://", "names no host"),
        ("http://:80/v1", "names no host"),
        ("http://host:0/v1", "names no port"),
        ("http://host:99999/v1", "port out of range"),
        ("http://host:8o/v1", "port could not be cast"),
        ("http://host /v1", "holds no spaces"),
        ("http://host/v1\n", "holds no spaces"),
        ("http://[::1/v1", "give it as http"),
        ("http://host:8000/v1/chat/completions", "leave out /chat/completions, which is added; give http://host:8000/v1"),
        ("http://host/v1/models/", "give http://host/v1"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused(address: str, problem: str) -> None:
    with pytest.raises(SettingError, match="OPENAI_BASE_URL") as refused:
        check_address(address, "OPENAI_BASE_URL")
    assert problem in str(refused.value)
    with pytest.raises(SettingError) as refused:
        settings_of(JudgeModelSettings, judge_base_url=address)
    assert str(refused.value).startswith("--judge-base-url ")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "address", ["ann:secret@host/v1", "ftp://ann:secret@host/v1", "http://ann:secret@host/v1/chat/completions"]
)
def test_no_password_is_told(address: str) -> None:
    with pytest.raises(SettingError) as refused:
        settings_of(ModelSettings, base_url=address)
    assert "host/v1" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "secret" not in without_user(f"asked {address}, in vain")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OWN_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_a_name_without_an_address_must_be_one_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("qwen3", "gpt-oss-20b", "meta-llama/Llama-3", "openai/gpt-4o", "claude-opus-4", "o"):
        with pytest.raises(SettingError, match=f"--judge {name}: OpenAI has no model of this name.*--there http://"):
            check_server(name, None, None, name="--judge", option="--there")
    with pytest.raises(SettingError, match="--writer grahp: it is none of graph, and no address of a model's server"):
        check_server("grahp", None, None, name="--writer", besides=["graph"])
    for name in ("gpt-4o", "gpt-5.1-mini", "o3", "o4-mini", "chatgpt-4o-latest", "ft:gpt-4o:me::1", "inspect:a/b"):
        check_server(name, None, None)
    check_server("qwen3", "http://host/v1", "OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1")
    check_server("qwen3", None, "OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "host/v1")
    with pytest.raises(SettingError, match=r"OPENAI_BASE_URL 'host/v1': .* http://host/v1"):
        check_server("qwen3", None, None)


def test_openai_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (None, "https://api.openai.com/v1"):
        with pytest.raises(SettingError, match="OWN_KEY holds none; set it, name another one as --judge-api-key-env"):
            check_server("gpt-4o", address, "OWN_KEY", option="--judge-base-url")
    check_server("gpt-4o", "https://other.example/v1", "OWN_KEY")
    monkeypatch.setenv("OWN_KEY", "sk-none")
    check_server("gpt-4o", None, "OWN_KEY")
