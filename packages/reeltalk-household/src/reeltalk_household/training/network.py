"""The network of reeltalk-mini, and its checkpoints: frames in, words out, in one causal sequence.

It is a small version of SVBench's StreamingChat: a vision encoder looks at one frame a second, a projector gives each
frame a fixed number of tokens, and a causal decoder reads frames and words as they come. Shapes: B sequences, T tokens,
N frames, K tokens a frame, D width, H heads.

Keys are stored before they are rotated, and rotated by the position that they have in the memory when they are read. So
a memory may drop or merge old keys and count its positions anew, as StreamingLLM does (arXiv:2309.17453), and the
network sees no position that it was not trained on.

A checkpoint is a folder with the weights as safetensors, the sizes as JSON and the tokenizer.
"""

from pathlib import Path
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from reeltalk.errors import InputError
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk_household.mini.mini_input import LETTERS, PAD, TAG_HIGH_PX, TAG_WIDE_PX, TOKENIZER, MiniShape

ROTARY_BASE: Final = 10_000.0


def _layer(inside: int, outside: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, size, stride, size // 2, bias=False), nn.BatchNorm2d(outside), nn.ReLU()
    )


class Residual(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _layer(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, h, w) to (N, C, h, w)."""
        return F.relu(x + self.second(self.first(x)))


class FrameEncoder(nn.Module):
    """Encodes a frame and the one before it as one token for the scene and one for each person, from left to right.

    The previous frame helps to distinguish taking from putting back. The encoder looks at the whole picture at half its
    size, and finds the people. From each person it looks around: each glimpse attends to cells of a feature map by
    what they show and by how far away from the person they are. Then it looks closely: at the places of some glimpses
    it cuts a square out of the picture at its full size. The same layers serve every person.
    """

    def __init__(self, shape: MiniShape) -> None:
        super().__init__()
        c = shape.channels
        self.shape = shape
        self.fine = nn.Sequential(_layer(6, c[0], 5, 2), _layer(c[0], c[1], 3, 2), Residual(c[1]))
        self.mid = nn.Sequential(_layer(c[1], c[2], 3, 2), Residual(c[2]))
        self.coarse = nn.Sequential(_layer(c[2], c[3], 3, 2), Residual(c[3]))
        self.around_mid, self.around_coarse = nn.Conv2d(c[2], c[1], 1), nn.Conv2d(c[3], c[1], 1)
        self.row = nn.Parameter(torch.zeros(shape.cells_high, 1, c[1]))
        self.column = nn.Parameter(torch.zeros(1, shape.cells_wide, c[1]))
        g, w = shape.person_glimpses, shape.glimpse_width
        self.look = nn.Sequential(nn.Linear(2 * c[1], w), nn.ReLU(), nn.Linear(w, w))
        self.centre = nn.Sequential(nn.Linear(2 * c[1], c[1]), nn.ReLU(), nn.Linear(c[1], 1))
        self.ask = nn.Sequential(nn.Linear(2 * c[1], c[2]), nn.ReLU(), nn.Linear(c[2], g * KEY_WIDTH))
        self.key = nn.Linear(2 * c[1], KEY_WIDTH)
        self.away = nn.Parameter(torch.zeros(g, (2 * shape.cells_high - 1) * (2 * shape.cells_wide - 1)))
        self.attend = nn.Linear(2 * c[1], shape.glimpses)
        self.close = nn.Sequential(
            _layer(3, c[0], 3, 2), _layer(c[0], c[1], 3, 2), Residual(c[1]), _layer(c[1], c[2], 3, 2), nn.Flatten(),
            nn.Linear(c[2] * (shape.close_px // 8) ** 2, shape.close_width), nn.ReLU(),
        )  # fmt: skip
        self.whole = nn.Sequential(nn.Linear(2 * c[3], c[3]), nn.ReLU())
        v = shape.vision_width
        gathered = (g + 1) * w + len(CLOSE_GLIMPSES) * shape.close_width + c[3]
        self.person = nn.Sequential(nn.LayerNorm(gathered), nn.Linear(gathered, 2 * v), nn.ReLU(), nn.Linear(2 * v, v))
        scene = shape.glimpses * w + c[3]
        self.scene = nn.Sequential(nn.LayerNorm(scene), nn.Linear(scene, 2 * v), nn.ReLU(), nn.Linear(2 * v, v))
        self.nobody = nn.Parameter(torch.zeros(v))
        self.mix = nn.Sequential(nn.ReLU(), nn.Linear(shape.frame_tokens * v, shape.frame_tokens * v))
        self.looks = nn.Linear(v, shape.looks)
        self.letters = LetterReader(c)

    def glimpse(self, frames: Tensor, people: Tensor | None = None, where: Tensor | None = None) -> "Glimpsed":
        """Looks at frames.

        Args:
            frames: (N, 6, height, width) from 0 to 1: the RGB of the frame, then of the frame before it.
            people: (N, people) cells of the middle of each person, in training; below 0 for nobody. By default the
                encoder finds them.
            where: (N, people, close looks + 1) cells to look at closely and to read the name at, in training; below 0
                where the glimpse decides.
        """
        n, shape = frames.shape[0], self.shape
        fine = self.fine(F.avg_pool2d(frames, 2) - 0.5)  # (N, C, h, w)
        mid = self.mid(fine)
        coarse = self.coarse(mid)
        around = _spread(self.around_mid(mid), 2, fine) + _spread(self.around_coarse(coarse), 4, fine)
        context = (fine + around).permute(0, 2, 3, 1) + self.row + self.column
        cells = torch.cat([fine.permute(0, 2, 3, 1), context], dim=-1).flatten(1, 2)  # (N, cells, 2 C)
        seen = self.look(cells)  # (N, cells, width)
        heat = self.centre(cells).squeeze(-1)
        found = self._found(heat) if people is None else people
        there, middle = found >= 0, found.clamp(min=0)
        asked = self.ask(_at(cells, middle)).view(n, shape.people, shape.person_glimpses, KEY_WIDTH)
        attend = asked.flatten(1, 2) @ self.key(cells).transpose(1, 2) / KEY_WIDTH**0.5
        attend = attend.view(n, shape.people, shape.person_glimpses, -1) + self._by_distance(middle)
        glimpses = attend.softmax(dim=-1) @ seen[:, None]  # (N, people, glimpses, width)
        places = attend[:, :, [*CLOSE_GLIMPSES, TAG_GLIMPSE]].argmax(dim=-1)
        if where is not None:
            places = torch.where(where < 0, places, where)
        close = self.closely(frames, places[..., :-1].flatten(1)).view(n, shape.people, len(CLOSE_GLIMPSES), -1)
        whole = self.whole(torch.cat([coarse.mean(dim=(2, 3)), coarse.amax(dim=(2, 3))], dim=1))
        each = [glimpses.flatten(2), _at(seen, middle), close.flatten(2), whole[:, None].expand(-1, shape.people, -1)]
        persons = torch.where(there[..., None], self.person(torch.cat(each, dim=-1)), self.nobody)
        of_scene = self.attend(cells).softmax(dim=1).transpose(1, 2) @ seen  # (N, glimpses, width)
        scene = self.scene(torch.cat([of_scene.flatten(1), whole], dim=-1))
        told = torch.cat([scene[:, None], persons], dim=1)
        mixed: Tensor = told + self.mix(told.flatten(1)).view_as(told)
        return Glimpsed(mixed, seen, heat, attend, close, places[..., -1], found, self.looks(mixed[:, 1:]))

    def spell(self, frames: Tensor, cells: Tensor) -> Tensor:
        """(N, G, TAG_STEPS, letters + 1) logits of letters in parts of pictures (N, 6, H, W) around cells (N, G)."""
        letters: Tensor = self.letters(self._cut(frames[:, :3], cells, TAG_HIGH_PX, TAG_WIDE_PX) - 0.5)
        return letters.view(*cells.shape, *letters.shape[1:])

    def closely(self, frames: Tensor, cells: Tensor) -> Tensor:
        """(N · G, close width) what squares of the pictures (N, 6, H, W) around cells (N, G) show."""
        told: Tensor = self.close(self._cut(frames[:, :3], cells, self.shape.close_px, self.shape.close_px) - 0.5)
        return told

    def _found(self, heat: Tensor) -> Tensor:
        """(N, people) cells of the middle of people, from left to right, then -1, by logits (N, cells)."""
        shape = self.shape
        map_ = heat.view(-1, 1, shape.cells_high, shape.cells_wide)
        highest = F.max_pool2d(map_, SQUARE_CELLS, 1, SQUARE_CELLS // 2).flatten(1)
        peaks = torch.where((heat >= highest) & (heat > 0), heat, torch.full_like(heat, -1e4))
        scores, cells = peaks.topk(shape.people, dim=1)
        places = torch.where(scores > 0, cells % shape.cells_wide, shape.cells_wide)
        # The cell makes the order unique where people are above one another.
        order = (places * heat.shape[1] + cells).topk(shape.people, dim=1, largest=False).indices
        return torch.where(scores > 0, cells, -1).gather(1, order)

    def _by_distance(self, middle: Tensor) -> Tensor:
        """(N, people, glimpses, cells) what cells count by their distance from a person, in the middle (N, people)."""
        shape = self.shape
        high, wide = shape.cells_high, shape.cells_wide
        cells = torch.arange(high * wide, device=middle.device)
        down = cells // wide - (middle // wide)[..., None] + high - 1
        right = cells % wide - (middle % wide)[..., None] + wide - 1
        table: Tensor = self.away.t()[down * (2 * wide - 1) + right]  # (N, people, cells, glimpses)
        return table.transpose(2, 3)

    def _cut(self, frames: Tensor, cells: Tensor, high: int, wide: int) -> Tensor:
        """(N·G, C, high, wide) parts of frames (N, C, H, W) around cells (N, G)."""
        shape = self.shape
        # Cells are 8 pixels wide. A part at a border lies inside the picture.
        top = ((cells // shape.cells_wide) * 8 + 4 - high // 2).clamp(0, shape.height_px - high)
        left = ((cells % shape.cells_wide) * 8 + 4 - wide // 2).clamp(0, shape.width_px - wide)
        rows = top[..., None] + torch.arange(high, device=cells.device)  # (N, G, high)
        columns = left[..., None] + torch.arange(wide, device=cells.device)
        at = rows[..., :, None] * shape.width_px + columns[..., None, :]  # (N, G, high, wide)
        (n, g), c = cells.shape, frames.shape[1]
        flat = frames.flatten(2)  # (N, C, pixels)
        found = flat.gather(2, at.view(n, 1, -1).expand(-1, c, -1)).view(n, c, g, high, wide)
        return found.transpose(1, 2).reshape(n * g, c, high, wide)

    def forward(self, frames: Tensor) -> Tensor:
        """Visual tokens (N, K, vision width) of frames with the shape that `glimpse` takes."""
        return self.glimpse(frames).tokens


class Glimpsed(NamedTuple):
    """What the encoder sees in N frames of P people."""

    tokens: Tensor
    """(N, K, vision width) visual tokens."""
    seen: Tensor
    """(N, cells, glimpse width) what is seen in each cell."""
    heat: Tensor
    """(N, cells) logits that the middle of a person is in a cell."""
    attend: Tensor
    """(N, P, glimpses of a person, cells) logits of attention."""
    close: Tensor
    """(N, P, close looks, close width) what is read from the squares."""
    tags: Tensor
    """(N, P) cells where the names of people may stand."""
    people: Tensor
    """(N, P) cells of the middle of people, from left to right; -1 for nobody."""
    looks: Tensor
    """(N, P, looks) logits of looks."""


class LetterReader(nn.Module):
    """Reads letters from left to right."""

    def __init__(self, channels: tuple[int, int, int, int]) -> None:
        super().__init__()
        a, b, _, _ = channels
        self.net = nn.Sequential(
            _layer(3, a, 3, 1), nn.MaxPool2d((2, 1)), _layer(a, b), _layer(b, b), nn.MaxPool2d((2, 1)), _layer(b, b),
        )  # fmt: skip
        self.read = nn.Sequential(nn.Conv1d(b * (TAG_HIGH_PX // 4), b, 3, padding=1), nn.ReLU())
        self.tell = nn.Linear(b, len(LETTERS) + 1)

    def forward(self, tags: Tensor) -> Tensor:
        """Logits (N, TAG_STEPS, letters + 1) for parts of pictures (N, 3, TAG_HIGH_PX, TAG_WIDE_PX).

        The logits are those of the letters from left to right; the first is of nothing.
        """
        found: Tensor = self.tell(self.read(self.net(tags).flatten(1, 2)).transpose(1, 2))
        return found


GLIMPSES: Final = ("head", "shirt", "trousers", "main", "rest", "held", "tag")
"""What the first glimpses of each person are taught to look at; the others are free."""
CLOSE_GLIMPSES: Final = (0, 3, 5)
"""The glimpses whose places are looked at closely: head, main object, held object."""
TAG_GLIMPSE: Final = 6
"""The glimpse at whose place a name is read."""
KEY_WIDTH: Final = 32
"""Width of the keys by which glimpses choose cells."""
SQUARE_CELLS: Final = 5
"""Of two people whose middles are in one square of so many cells, one is found."""


def _at(values: Tensor, cells: Tensor) -> Tensor:
    """(N, P, C) values of cells (N, P) out of (N, cells, C)."""
    return values.gather(1, cells[..., None].expand(-1, -1, values.shape[2]))


def _spread(x: Tensor, times: int, like: Tensor) -> Tensor:
    """A coarse map at the size of a finer one."""
    return F.interpolate(x, scale_factor=float(times), mode="nearest")[:, :, : like.shape[2], : like.shape[3]]


class Projector(nn.Module):
    """Projects visual tokens into tokens of the decoder, and adds the time of each in the video."""

    def __init__(self, shape: MiniShape) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(shape.vision_width),
            nn.Linear(shape.vision_width, 2 * shape.width), nn.GELU(approximate="tanh"),
            nn.Linear(2 * shape.width, shape.width),
        )  # fmt: skip
        self.when = nn.Linear(shape.clock_waves * 2, shape.width)
        self.which = nn.Parameter(torch.zeros(shape.frame_tokens, shape.width))
        # Periods from 4 s to about 4 hours.
        self.register_buffer("rates", 2 * torch.pi / (4.0 * 2.0 ** torch.arange(shape.clock_waves)), persistent=False)

    def forward(self, seen: Tensor, pts_s: Tensor) -> Tensor:
        """(N, K, D) from (N, K, vision width) and the frames' times (N,) in seconds."""
        angles = pts_s[:, None] * self.rates
        clock = self.when(torch.cat([angles.sin(), angles.cos()], dim=-1))
        out: Tensor = self.net(seen) + clock[:, None] + self.which
        return out


def turns(positions: Tensor, head_width: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine (B or 1, 1, T, E/2) of the rotation of heads at positions (B, T) or (1, T)."""
    half = head_width // 2
    rates = ROTARY_BASE ** (-torch.arange(half, dtype=torch.float32, device=positions.device) / half)
    angles = positions[:, None, :, None].float() * rates
    return angles.cos(), angles.sin()


def rotate(x: Tensor, by: tuple[Tensor, Tensor]) -> Tensor:
    """Rotates heads (B, H, T, E) by their positions, as in RoPE (arXiv:2104.09864)."""
    cos, sin = by[0].to(x.dtype), by[1].to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class DecoderBlock(nn.Module):
    """Attention to all earlier tokens, then a gated layer."""

    def __init__(self, shape: MiniShape) -> None:
        super().__init__()
        d = shape.width
        self.heads = shape.heads
        self.before = nn.RMSNorm(d, eps=1e-5)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.between = nn.RMSNorm(d, eps=1e-5)
        self.up = nn.Linear(d, 2 * shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, d, bias=False)

    def forward(
        self,
        x: Tensor,
        by: tuple[Tensor, Tensor],
        all_by: tuple[Tensor, Tensor],
        past: tuple[Tensor, Tensor] | None,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The next state, and the keys (before they are rotated) and values of these tokens.

        Args:
            x: (B, T, D).
            by: Result of `turns` for these tokens.
            all_by: Result of `turns` for the earlier tokens and these.
            past: Keys and values (B, H, S, E) of the earlier tokens.
            mask: (T, S + T), added to the scores; without a mask, each token sees those before it.
        """
        b, t, d = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        all_k, all_v = k, v
        if past is not None:
            all_k, all_v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        seen = F.scaled_dot_product_attention(
            rotate(q, by), rotate(all_k, all_by), all_v, attn_mask=mask, is_causal=mask is None and past is None
        )
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, d))
        gate, value = self.up(self.between(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value), k, v


class Decoder(nn.Module):
    """Words and frames in one causal sequence. Predicts the next word, and whether it is time to speak."""

    def __init__(self, shape: MiniShape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(DecoderBlock(shape) for _ in range(shape.layers))
        self.last = nn.RMSNorm(shape.width, eps=1e-5)
        self.ready = nn.Linear(shape.width, 1)

    def forward(
        self, x: Tensor, *, positions: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logits of the next word (B, T, vocabulary) and of speaking now (B, T), for embedded tokens (B, T, D)."""
        return self.tell(self.read(x, positions=positions, mask=mask))

    def marked(self, visual: Tensor, marks: Tensor) -> Tensor:
        """Visual tokens (…, D) with the marks (…) of the people that they show; `PAD` for none."""
        out: Tensor = visual + self.words(marks) * (marks != PAD)[..., None]
        return out

    def read(self, x: Tensor, *, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """States after the last layer (B, T, D)."""
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)[None]
        by = turns(positions, self.shape.head_width)
        for block in self.blocks:
            x, _, _ = block(x, by, by, None, mask)
        out: Tensor = self.last(x)
        return out

    def tell(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The predictions of states (…, D). The table that embeds words also predicts them."""
        return x @ self.words.weight.T, self.ready(x).squeeze(-1)

    def step(
        self, x: Tensor, positions: Tensor, past_k: Tensor, past_v: Tensor, past_positions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Continues from a memory. This is also the exported function.

        Args:
            x: (1, T, D) embedded tokens.
            positions: (1, T) positions of the tokens in the memory.
            past_k: (L, H, S, E) keys before rotation.
            past_v: (L, H, S, E) values.
            past_positions: (1, S) positions of the memory.

        Returns:
            Logits (1, T, vocabulary) of the next word and (1, T) of speaking now, and the tokens' own keys and values
            (L, H, T, E).
        """
        t, s = x.shape[1], past_k.shape[2]
        ahead = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        mask = torch.cat([ahead.new_zeros(t, s), ahead], dim=1).to(x.dtype) * -1e9
        by = turns(positions, self.shape.head_width)
        all_by = turns(torch.cat([past_positions, positions], dim=1), self.shape.head_width)
        keys, values = [], []
        for n, block in enumerate(self.blocks):
            x, k, v = block(x, by, all_by, (past_k[n][None], past_v[n][None]), mask)
            keys.append(k[0])
            values.append(v[0])
        logits, ready = self.tell(self.last(x))
        return logits, ready, torch.stack(keys), torch.stack(values)


class Mini(nn.Module):
    """The whole network."""

    def __init__(self, shape: MiniShape) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = FrameEncoder(shape)
        self.projector = Projector(shape)
        self.decoder = Decoder(shape)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
                if isinstance(module, nn.Linear) and module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        for place in (self.encoder.row, self.encoder.column, self.encoder.nobody):
            nn.init.normal_(place, std=0.02)
        # Most cells show the middle of nobody.
        nn.init.constant_(self.encoder.centre[-1].bias, -4.0)


WEIGHTS: Final = "model.safetensors"
SHAPE: Final = "shape.json"
HINT: Final = "give a folder that training reeltalk-mini wrote"


def save_mini(folder: Path, model: Mini, tokenizer: Path, *, overwrite: bool = False) -> None:
    """Writes a checkpoint, whole or not at all.

    Args:
        folder: The folder to write.
        model: The network.
        tokenizer: Its `tokenizer.json`, which is copied.
        overwrite: Replace an existing folder.

    Raises:
        BenchmarkError: The folder exists and is not empty, or cannot be written.
        InputError: The tokenizer does not exist.
    """
    if not tokenizer.is_file():
        raise InputError("no such file", file=tokenizer, hint="train the words first")
    words = tokenizer.read_bytes()
    tensors = {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()}
    with writing_directory(folder, overwrite=overwrite) as partial:
        write_bytes(partial / WEIGHTS, save(tensors))
        write_bytes(partial / SHAPE, f"{model.shape.model_dump_json(indent=1)}\n".encode())
        write_bytes(partial / TOKENIZER, words)


def load_mini(folder: Path) -> Mini:
    """Loads the network of a checkpoint, ready to run.

    Args:
        folder: A folder of `save_mini`.

    Raises:
        InputError: A file is missing, broken, or does not fit the others.
    """
    for name in (SHAPE, WEIGHTS):
        if not (folder / name).is_file():
            raise InputError("no such file", file=folder / name, hint=HINT)
    try:
        shape = MiniShape.model_validate_json((folder / SHAPE).read_bytes())
    except ValidationError as error:
        raise InputError(
            f"not the measures of reeltalk-mini: {error.errors()[0]['msg']}", file=folder / SHAPE
        ) from None
    try:
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise InputError(f"not a file of weights: {error}", file=folder / WEIGHTS, hint=HINT) from None
    model = Mini(shape)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:300]
        raise InputError(f"the weights do not fit {SHAPE}: {told}", file=folder / WEIGHTS, hint=HINT) from None
    model.eval()
    return model
