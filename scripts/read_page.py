#!/usr/bin/env python3
"""Reads a rendered page as a user would: where its lines are, and what they say, by Temper and by ONNX Runtime.

The detector's map is cut at 0.3 and its connected pieces are boxes; what a box shows goes to the recogniser, whose likeliest
letters are the text (each letter once for a run of it, gaps dropped). Both sides get the same page; each reads its own boxes.
Fails when a box or a letter differs. Run it with the Python that has ONNX Runtime, after scripts/fetch_model.sh --figures.

  build/venv/bin/python3 scripts/read_page.py [--db FILE] [--threads 1]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import figure_models
import numpy
import onnxruntime
import render_page
import temper_model
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "build/models"
DETECTOR, RECOGNISER = "ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_rec_infer"


def tensor(name, picture):
    height, width, fit, mean, deviation = render_page.MODELS[name]
    pixels = (fit(picture, height, width) / numpy.float32(255) - numpy.float32(mean)) / numpy.float32(deviation)
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


class Temper:
    name = "Temper"

    def __init__(self, arguments, folder):
        self.models = {}
        for name in (DETECTOR, RECOGNISER):
            height, width = render_page.MODELS[name][:2]
            bundle = folder / f"{name}.temper"
            words = [ROOT / "build/release/bin/temper", "build", MODELS / f"{name}.onnx", "--shape", f"x=1,3,{height},{width}",
                     "-o", bundle, "--threads", str(arguments.threads), "--db", arguments.db]
            if subprocess.run(words, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False).returncode != 0:
                sys.exit("temper build failed")
            self.models[name] = temper_model.Model(bundle, arguments.threads)

    def run(self, name, x):
        model = self.models[name]
        outputs = [numpy.zeros(shape, dtype) for _, shape, dtype in model.outputs]
        model.bound([x], outputs)()
        return outputs[0]


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, arguments):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = arguments.threads
        options.log_severity_level = 3
        self.sessions = {name: onnxruntime.InferenceSession(MODELS / f"{name}.onnx", options, providers=["CPUExecutionProvider"])
                         for name in (DETECTOR, RECOGNISER)}

    def run(self, name, x):
        return self.sessions[name].run(None, {"x": x})[0]

    def letters(self):
        listed = self.sessions[RECOGNISER].get_modelmeta().custom_metadata_map["character"].splitlines()
        return ["", *listed, " "]


def read(side, page, letters):
    """(box, text) of each line, the first part of it: what the recogniser's input has room for."""
    scale = 640 / max(page.size)
    lines = []
    for box in figure_models.boxes([side.run(DETECTOR, tensor(DETECTOR, page))]):
        top, left, bottom, right = [edge / scale for edge in box]
        grow = (bottom - top) * 0.4  # the detector marks the middle of a line
        top, bottom = top - grow, bottom + grow
        right = min(right + grow, left + (bottom - top) * 320 / 48)
        line = page.crop((round(left - grow), round(top), round(right), round(bottom)))
        symbols = figure_models.text([side.run(RECOGNISER, tensor(RECOGNISER, line))])
        lines.append((box, "".join(letters[symbol] for symbol in symbols)))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", default="temper.db")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    page, _ = render_page.page()
    with tempfile.TemporaryDirectory() as folder:
        sides = [Temper(arguments, pathlib.Path(folder)), OnnxRuntime(arguments)]
    letters = sides[1].letters()
    differ = False
    for degrees in render_page.ROTATIONS:
        turned = page.rotate(degrees, expand=True)
        ours, theirs = (read(side, turned, letters) for side in sides)
        same = ours == theirs
        differ = differ or not same
        print(f"page at {degrees} degrees: {len(ours)} boxes, {sum(len(line) for _, line in ours)} letters: "
              + ("the same" if same else f"ONNX Runtime reads others: {set(ours) ^ set(theirs)}"))
        if degrees == 0:
            for _, line in ours:
                print("   ", line)
    if differ:
        sys.exit("a box or a letter differs")


if __name__ == "__main__":
    main()
