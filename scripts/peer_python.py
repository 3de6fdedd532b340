"""ONNX Runtime or OpenVINO as a peer: serves the conversation of src/temper/peers/serve.h on descriptor 3.

Started by Temper, with the library, the number of threads and the wanted version as arguments. The timed loop and its clock
are here; between requests the process sleeps in recv, and ONNX Runtime's threads do not spin.
"""

import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time

MAGIC = 0x52505054  # "TPPR"
HEAD = struct.Struct("<IIQ")
DTYPES = {"f32": "<f4", "f64": "<f8", "i8": "i1", "u8": "u1", "i32": "<i4", "i64": "<i8", "bool": "?"}
FETCH = "run scripts/fetch_peers.sh"
# Extension modules of the pinned wheels, by their Python version.
PINNED_SHA256 = {
    "_pyopenvino.cpython-311-x86_64-linux-gnu.so": "0933971fac5b8b7b1eeaa39200074f9a51758a48df950f435a62933288f832ba",
    "onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so": "f31fb5f25aea85032805e0722c07a41443a23c8b612c7238dbea3cf67e9042ba",
}


class PeerError(Exception):
    def __init__(self, code, message, where="", hint=""):
        super().__init__(message)
        self.fields = {"code": code, "message": message, "where": where, "hint": hint}


def read_exactly(channel, size):
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = channel.recv_into(view)
        if got == 0:
            raise EOFError
        view = view[got:]
    return data


def receive(channel, numpy):
    """The header and a list of (name, array); without numpy only the header of a message without tensors."""
    magic, header_bytes, _ = HEAD.unpack(read_exactly(channel, HEAD.size))
    if magic != MAGIC:
        raise EOFError
    header = json.loads(read_exactly(channel, header_bytes).decode())
    tensors = []
    for entry in header["tensors"]:
        dtype = numpy.dtype(DTYPES[entry["dtype"]])
        count = 1
        for dim in entry["dims"]:
            count *= dim
        data = read_exactly(channel, count * dtype.itemsize)
        tensors.append((entry["name"], numpy.frombuffer(data, dtype).reshape(entry["dims"])))
    return header, tensors


def send(channel, header, tensors=()):
    header = dict(header, tensors=[])
    payload = []
    for name, array in tensors:
        dtypes = [key for key, value in DTYPES.items() if array.dtype == value]
        if not dtypes:
            raise PeerError("unsupported", f"The output '{name}' is of type {array.dtype}")
        header["tensors"].append({"name": name, "dtype": dtypes[0], "dims": list(array.shape)})
        payload.append(array.tobytes())
    text = json.dumps(header).encode()
    channel.sendall(HEAD.pack(MAGIC, len(text), sum(map(len, payload))) + text)
    for data in payload:
        channel.sendall(data)


def exit_with_parent(channel):
    poll = select.poll()
    poll.register(channel.fileno(), 0)  # only the hang-up, which is always reported
    poll.poll()
    os._exit(0)


def verify(title, path):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if PINNED_SHA256.get(os.path.basename(path)) != digest:
        raise PeerError("version", f"The {title} that is installed is not the pinned wheel (sha256 {digest})",
                        path, FETCH + " with Debian 12's Python 3.11")


class OnnxRuntime:
    def __init__(self, threads, version):
        try:
            import numpy
            import onnxruntime
        except ImportError as error:
            raise PeerError("not_found", f"ONNX Runtime {version} or numpy is not installed: {error}", sys.executable, FETCH)
        if onnxruntime.__version__ != version:
            raise PeerError("version", f"ONNX Runtime {onnxruntime.__version__} is installed, not {version}", sys.executable, FETCH)
        from onnxruntime.capi import onnxruntime_pybind11_state as state

        verify("ONNX Runtime", state.__file__)
        self.numpy, self.onnxruntime, self.threads = numpy, onnxruntime, threads
        self.session = self.binding = None
        self.has_run = False

    def prepare(self, path, tensors):
        self.session = self.binding = None
        self.has_run = False
        ort = self.onnxruntime
        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        model = path or tensors[0][1].tobytes()
        try:
            session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise PeerError("invalid_model", f"ONNX Runtime refuses the model: {str(error)[:1000]}", path)
        wanted = sorted(value.name for value in session.get_inputs())
        given = sorted(name for name, _ in tensors[1:])
        if wanted != given:
            raise PeerError("invalid_argument", f"The model takes the inputs {', '.join(wanted)}", ", ".join(given))
        binding = session.io_binding()
        # The values own the memory that the binding points at.
        self.values = []
        for name, array in tensors[1:]:
            value = ort.OrtValue.ortvalue_from_numpy(self.numpy.ascontiguousarray(array))
            self.values.append(value)
            binding.bind_ortvalue_input(name, value)
        names = [value.name for value in session.get_outputs()]
        for name in names:
            binding.bind_output(name, "cpu")
        try:
            session.run_with_iobinding(binding)
        except Exception as error:
            raise PeerError("invalid_argument", f"ONNX Runtime cannot run the model: {str(error)[:1000]}", path)
        # From now on outputs are written to the same memory, without an allocation a call.
        outputs = binding.get_outputs()
        binding.clear_binding_outputs()
        for name, value in zip(names, outputs):
            binding.bind_ortvalue_output(name, value)
        self.session, self.binding, self.outputs = session, binding, list(zip(names, outputs))

    def run(self, calls, warmup):
        if self.session is None:
            raise PeerError("invalid_argument", "The peer has no work yet")
        # The bound method of the native session: nothing of Python's wrapper is timed.
        run, binding, options = self.session._sess.run_with_iobinding, self.binding._iobinding, None
        for _ in range(warmup):
            run(binding, options)
        loop = range(calls)
        start = time.perf_counter_ns()
        for _ in loop:
            run(binding, options)
        stop = time.perf_counter_ns()
        self.has_run = self.has_run or calls + warmup > 0
        return stop - start

    def results(self):
        if not self.has_run:
            raise PeerError("invalid_argument", "The peer has not run yet")
        return [(name, value.numpy()) for name, value in self.outputs]


class OpenVino:
    def __init__(self, threads, version):
        try:
            import numpy
            import openvino
            from openvino import _pyopenvino as extension
        except ImportError as error:
            raise PeerError("not_found", f"OpenVINO {version} or numpy is not installed: {error}", sys.executable, FETCH)
        found = openvino.__version__.split("-")[0]
        if found != version:
            raise PeerError("version", f"OpenVINO {found} is installed, not {version}", sys.executable, FETCH)
        verify("OpenVINO", extension.__file__)
        self.numpy, self.openvino, self.threads = numpy, openvino, threads
        self.extension = extension
        self.core = openvino.Core()
        self.request = None
        self.has_run = False

    def prepare(self, path, tensors):
        self.request = None
        self.has_run = False
        ov = self.openvino
        given = {name: self.numpy.ascontiguousarray(array) for name, array in tensors[1:]}
        try:
            model = self.core.read_model(path) if path else self.core.read_model(tensors[0][1].tobytes())
            inputs = {name for port in model.inputs for name in port.get_names()}
        except Exception as error:
            raise PeerError("invalid_model", f"OpenVINO refuses the model: {str(error)[:1000]}", path)
        if not set(given) <= inputs or len(given) != len(model.inputs):
            raise PeerError("invalid_argument", f"The model takes the inputs {', '.join(sorted(inputs))}", ", ".join(sorted(given)))
        try:
            if any(port.get_partial_shape().is_dynamic for port in model.inputs):
                model.reshape({name: list(array.shape) for name, array in given.items()})
            compiled = self.core.compile_model(model, "CPU", {
                "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
            request = compiled.create_infer_request()
            for name, array in given.items():
                request.set_tensor(name, ov.Tensor(array, shared_memory=True))
            request.infer()
        except Exception as error:
            raise PeerError("invalid_argument", f"OpenVINO cannot run the model: {str(error)[:1000]}", path)
        self.given, self.compiled, self.request = given, compiled, request

    def run(self, calls, warmup):
        if self.request is None:
            raise PeerError("invalid_argument", "The peer has no work yet")
        # The native call, without copies of outputs: little of Python's wrapper is timed.
        native, request, nothing = self.extension.InferRequest.infer, self.request, {}
        for _ in range(warmup):
            native(request, nothing, True, False)
        loop = range(calls)
        start = time.perf_counter_ns()
        for _ in loop:
            native(request, nothing, True, False)
        stop = time.perf_counter_ns()
        self.has_run = self.has_run or calls + warmup > 0
        return stop - start

    def results(self):
        if not self.has_run:
            raise PeerError("invalid_argument", "The peer has not run yet")
        # A tensor may have several names, the model's among them.
        return [(name, self.request.get_tensor(port).data) for port in self.compiled.outputs for name in sorted(port.get_names())]


LIBRARIES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(library, peer, header, tensors, threads, version):
    """The peer (made by hello), the reply's header and its tensors."""
    kind = header["type"]
    if kind == "hello":
        return LIBRARIES[library](threads, version), {"version": version}, ()
    if peer is None:
        raise PeerError("corrupt", "A request came before hello")
    if kind == "prepare":
        peer.prepare(header["path"], tensors)
        return peer, {}, ()
    if kind == "run":
        return peer, {"nanoseconds": peer.run(header["calls"], header["warmup"])}, ()
    if kind == "outputs":
        return peer, {}, peer.results()
    raise PeerError("corrupt", f"Unknown request '{kind}'")


def main():
    library, threads, version = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    channel = socket.socket(fileno=3)
    threading.Thread(target=exit_with_parent, args=(channel,), daemon=True).start()
    peer = None
    while True:
        try:
            header, tensors = receive(channel, peer and peer.numpy)
        except (EOFError, OSError):
            return
        try:
            peer, reply, results = answer(library, peer, header, tensors, threads, version)
            send(channel, reply, results)
        except PeerError as error:
            send(channel, {"error": error.fields})
        except Exception as error:
            send(channel, {"error": {"code": "internal", "message": f"{type(error).__name__}: {error}", "where": "", "hint": ""}})


if __name__ == "__main__":
    main()
