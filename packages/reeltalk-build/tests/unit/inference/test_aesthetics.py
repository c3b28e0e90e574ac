"""The aesthetic score: the real loading code on a tiny random CLIP that is saved to disk as a real one is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reeltalk.errors import InputError
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import SCREENINGS
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.curate.stage import curate
from reeltalk_build.inference.aesthetics import AestheticScorer, weights_hash

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    torch.manual_seed(1)
    config = transformers.CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14,
        projection_dim=24,
    )  # fmt: skip
    transformers.CLIPVisionModelWithProjection(config).save_pretrained(folder)
    return folder


def with_head(clip: Path, folder: Path, weights: dict[str, Any], name: str = "aesthetic.pth") -> Path:
    for path in clip.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    torch.save(weights, folder / name)
    return folder


def squares(count: int) -> list[bytes]:
    generator = np.random.default_rng(4)
    return [generator.integers(0, 256, (224, 224, 3), dtype=np.uint8).tobytes() for _ in range(count)]


def test_the_linear_head_is_a_product_with_the_normalised_embedding(clip: Path, tmp_path: Path) -> None:
    weight, bias = torch.randn(1, 24), torch.randn(1)
    scorer = AestheticScorer(with_head(clip, tmp_path, {"weight": weight, "bias": bias}))
    score = scorer(squares(2))
    model = transformers.CLIPVisionModelWithProjection.from_pretrained(clip)
    pixels = np.stack([np.frombuffer(square, np.uint8).reshape(224, 224, 3) for square in squares(2)])
    values = (torch.tensor(pixels) / 255 - torch.tensor((0.48145466, 0.4578275, 0.40821073))) / torch.tensor(
        (0.26862954, 0.26130258, 0.27577711)
    )
    values = torch.nn.functional.interpolate(values.permute(0, 3, 1, 2).float(), size=(56, 56), mode="bicubic")
    with torch.no_grad():
        embedding = model(pixel_values=values).image_embeds
    embedding = embedding / embedding.norm(dim=-1, keepdim=True)
    assert score == pytest.approx(float((embedding @ weight.T + bias).mean()), abs=1e-4)


def test_the_perceptron_is_applied_layer_by_layer(clip: Path, tmp_path: Path) -> None:
    layers = {
        "layers.10.weight": torch.full((1, 2), 2.0), "layers.10.bias": torch.ones(1),
        "layers.0.weight": torch.zeros(2, 24), "layers.0.bias": torch.tensor([1.0, 3.0]),
    }  # fmt: skip
    assert AestheticScorer(with_head(clip, tmp_path, layers))(squares(1)) == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"weight": torch.zeros(1, 9), "bias": torch.zeros(1)}, "takes 9 numbers but this CLIP gives 24"),
        ({"weight": torch.zeros(5, 24), "bias": torch.zeros(5)}, "does not give one number"),
        ({"nothing": torch.zeros(1)}, "not an aesthetic head"),
    ],
)
def test_a_wrong_head_is_refused(clip: Path, tmp_path: Path, weights: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        AestheticScorer(with_head(clip, tmp_path, weights))


def test_what_is_missing_is_named(clip: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected aesthetic\.pth or aesthetic\.safetensors"):
        weights_hash(tmp_path)
    torch.save({"weight": torch.zeros(1, 24), "bias": torch.zeros(1)}, tmp_path / "aesthetic.pth")
    with pytest.raises(InputError, match="CLIP cannot be loaded"):
        AestheticScorer(tmp_path)


def test_a_curation_applies_the_filter(clip: Path, clips: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    head = {"weight": torch.zeros(1, 24), "bias": torch.tensor([3.5])}
    model = with_head(clip, tmp_path / "model", head)
    settings = CurateSettings(min_duration_s=0, min_shots=1, min_mean_shot_s=0, aesthetic_model=model)
    benchmark = Benchmark.create(tmp_path / "b")
    curate([clips["bikes"]], benchmark, settings, executor=LocalExecutor(1))
    row = next(iter(Benchmark.open(tmp_path / "b").read(SCREENINGS)))
    assert row.filters[-1].filter == "aesthetic"
    assert row.filters[-1].value == pytest.approx(3.5)
    assert "below 4" in str(row.filters[-1].reason)
