#!/usr/bin/env python3
"""Gives a model of the ONNX suite's `light` set weights that a timing and a comparison can use.

These models make their weights by ConstantOfShape nodes, all of one value. Each such node becomes a constant, drawn by
what reads it: weights of Conv and Gemm from a normal distribution of mean 0 and variance 2 / fan-in (He et al. 2015,
section 2.2), scale and variance of BatchNormalization uniform in [0.5, 1.5), biases and means normal with variance 0.1.
The nodes are visited in the file's order with one generator, so a seed names a model.

  scripts/random_weights.py SOURCE.onnx TARGET.onnx [--seed 0]
"""
import argparse
import math
import struct

import numpy

# Field numbers of onnx.proto.
MODEL_IR_VERSION, MODEL_GRAPH = 1, 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT = 1, 5, 11
NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR = 1, 2, 4
TENSOR_DIMS, TENSOR_TYPE, TENSOR_INT64, TENSOR_NAME, TENSOR_RAW = 1, 2, 7, 8, 9
VALUE_NAME = 1
FLOAT, INT64 = 1, 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
FIRST_IR_WITH_CONSTANTS = 4  # before, every constant is also an input


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, wire type, value) of every field of a message, in order."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        else:
            if wire == BYTES:
                size, at = read_varint(data, at)
            else:
                size = {FIXED64: 8, FIXED32: 4}[wire]
            value, at = data[at:at + size], at + size
        yield number, wire, value


def encode(number, wire, value):
    key = varint(number << 3 | wire)
    if wire == VARINT:
        return key + varint(value)
    return key + (varint(len(value)) if wire == BYTES else b"") + value


def texts(message, wanted):
    return [value.decode() for number, _, value in fields(message) if number == wanted]


def shape_of(tensor):
    """The values of a constant of type int64."""
    values = []
    for number, wire, value in fields(tensor):
        if number == TENSOR_TYPE and value != INT64:
            raise SystemExit("error: a shape is not of type int64")
        if number == TENSOR_RAW:
            values += struct.unpack(f"<{len(value) // 8}q", value)
        elif number == TENSOR_INT64 and wire == VARINT:
            values.append(value)
        elif number == TENSOR_INT64:
            at = 0
            while at < len(value):
                one, at = read_varint(value, at)
                values.append(one)
    return values


def draw(generator, role, shape):
    if role == "weight":
        return generator.normal(0, math.sqrt(2 / math.prod(shape[1:])), shape)
    if role == "around one":
        return generator.uniform(0.5, 1.5, shape)
    return generator.normal(0, math.sqrt(0.1), shape)


ROLES = {"Conv": {1: "weight", 2: "around zero"}, "Gemm": {1: "weight", 2: "around zero"},
         "BatchNormalization": {1: "around one", 2: "around zero", 3: "around zero", 4: "around one"}}


def constant(name, values):
    out = b"".join(encode(TENSOR_DIMS, VARINT, extent) for extent in values.shape)
    out += encode(TENSOR_TYPE, VARINT, FLOAT) + encode(TENSOR_NAME, BYTES, name.encode())
    return out + encode(TENSOR_RAW, BYTES, values.astype("<f4").tobytes())


def with_weights(graph, generator):
    parts = list(fields(graph))
    nodes = [value for number, _, value in parts if number == GRAPH_NODE]
    constants = {texts(value, TENSOR_NAME)[0]: value for number, _, value in parts if number == GRAPH_INITIALIZER}
    roles = {}
    for node in nodes:
        for place, role in ROLES.get(texts(node, NODE_OPERATOR)[0], {}).items():
            inputs = texts(node, NODE_INPUT)
            if place < len(inputs):
                roles[inputs[place]] = role
    out, shapes = [], set()
    for number, wire, value in parts:
        if number != GRAPH_NODE or texts(value, NODE_OPERATOR) != ["ConstantOfShape"]:
            out.append((number, wire, value))
            continue
        (shape,), (name,) = texts(value, NODE_INPUT), texts(value, NODE_OUTPUT)
        if name not in roles:
            raise SystemExit(f"error: nothing known reads '{name}'")
        shapes.add(shape)
        out.append((GRAPH_INITIALIZER, BYTES, constant(name, draw(generator, roles[name], shape_of(constants[shape])))))
    # What is an input as well could be overridden, so no library would fold it.
    def stays(number, value):
        if number == GRAPH_INITIALIZER:
            return texts(value, TENSOR_NAME)[0] not in shapes
        return number != GRAPH_INPUT or texts(value, VALUE_NAME)[0] not in constants

    return b"".join(encode(*part) for part in out if stays(part[0], part[2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with open(arguments.source, "rb") as file:
        model = file.read()
    generator = numpy.random.default_rng(arguments.seed)
    out = b""
    for number, wire, value in fields(model):
        if number == MODEL_IR_VERSION:
            value = max(value, FIRST_IR_WITH_CONSTANTS)
        if number == MODEL_GRAPH:
            value = with_weights(value, generator)
        out += encode(number, wire, value)
    with open(arguments.target, "wb") as file:
        file.write(out)


if __name__ == "__main__":
    main()
