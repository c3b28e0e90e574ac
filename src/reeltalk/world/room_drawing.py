"""What a room looks like before anything stands in it."""

from reeltalk.video.canvas import Canvas
from reeltalk.world.house import DOOR_X_M, ROOM_HEIGHT_M, ROOM_WIDTH_M, Room
from reeltalk.world.palette import INK, PORCELAIN, SKY, shade


def draw_room(canvas: Canvas, spec: Room) -> None:
    """Wall, floor, window and door of a room that is empty."""
    canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, ROOM_HEIGHT_M + 1, spec.wall)
    canvas.rectangle(-1, -1, ROOM_WIDTH_M + 2, 1.0, spec.floor)
    if spec.class_name in ("kitchen", "bathroom"):
        if spec.class_name == "bathroom":
            canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 1.45, shade(spec.wall, 0.45))
            for n in range(24):
                canvas.line([(n * 0.3, 0), (n * 0.3, 1.45)], shade(spec.wall, -0.06), 0.01)
            for n in range(1, 5):
                canvas.line([(-1, n * 0.3), (ROOM_WIDTH_M + 1, n * 0.3)], shade(spec.wall, -0.06), 0.01)
        for n in range(-4, 30):
            canvas.line([(n * 0.4, 0), (n * 0.4 - 0.25, -0.5)], shade(spec.floor, -0.12), 0.012)
        canvas.line([(-1, -0.2), (ROOM_WIDTH_M + 1, -0.2)], shade(spec.floor, -0.12), 0.012)
    else:
        for n in range(1, 4):
            canvas.line([(-1, -0.13 * n), (ROOM_WIDTH_M + 1, -0.13 * n)], shade(spec.floor, -0.14), 0.012)
    canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 0.09, shade(spec.wall, 0.6))
    canvas.line([(-1, 0), (ROOM_WIDTH_M + 1, 0)], shade(spec.floor, -0.35), 0.02)
    _window(canvas, spec.window_x_m, narrow=spec.class_name == "bathroom")
    door = DOOR_X_M[spec.door]
    canvas.rectangle(door - 0.44, 0, 0.88, 2.12, shade(spec.wall, -0.28))
    canvas.rectangle(door - 0.38, 0, 0.76, 2.06, (170, 124, 84), outline=(120, 84, 54))
    for y in (0.2, 1.12):
        canvas.rectangle(door - 0.26, y, 0.52, 0.78, (156, 110, 72), outline=(120, 84, 54))
    canvas.disc(door + 0.28, 1.02, 0.04, (226, 196, 110))


def _window(canvas: Canvas, x_m: float, *, narrow: bool) -> None:
    width, low, high = (0.8, 1.75, 2.6) if narrow else (1.1, 1.6, 2.75)
    canvas.rectangle(x_m - width / 2 - 0.07, low - 0.07, width + 0.14, high - low + 0.14, PORCELAIN, outline=INK)
    canvas.rectangle(x_m - width / 2, low, width, high - low, SKY)
    canvas.ellipse(x_m - width * 0.2, low + 0.3, 0.22, 0.09, (240, 248, 252))
    canvas.ellipse(x_m - width * 0.05, low + 0.36, 0.18, 0.1, (240, 248, 252))
    canvas.rectangle(x_m - 0.025, low, 0.05, high - low, PORCELAIN)
    canvas.rectangle(x_m - width / 2, (low + high) / 2 - 0.025, width, 0.05, PORCELAIN)
