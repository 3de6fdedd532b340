"""Temper's bundles from Python: include/temper/runtime.h by ctypes. Arrays are numpy's."""
import ctypes
import pathlib

LIBRARY = pathlib.Path(__file__).resolve().parent.parent / "build/release/lib/libtemper_runtime.so"
NUMPY_TYPES = ["f4", "f8", "i1", "u1", "i4", "i8", "?"]  # in the order of temper_element_type


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_int64)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("message", ctypes.c_char * 512)]


class Model:
    """A loaded bundle; `inputs` and `outputs` are (name, shape, numpy type) each. Raises RuntimeError with Temper's message."""

    def __init__(self, path, threads=1):
        self._library = ctypes.CDLL(LIBRARY)
        self._library.temper_model_load.restype = ctypes.c_void_p
        error = Error()
        self._model = self._library.temper_model_load(str(path).encode(), threads, ctypes.byref(error))
        if not self._model:
            raise RuntimeError(error.message.decode())
        self._model = ctypes.c_void_p(self._model)
        self.inputs, self.outputs = self._describe("input"), self._describe("output")

    def _describe(self, of):
        facts = []
        for i in range(getattr(self._library, f"temper_model_{of}_count")(self._model)):
            info = TensorInfo()
            getattr(self._library, f"temper_model_{of}")(self._model, i, ctypes.byref(info))
            facts.append((info.name.decode(), tuple(info.shape[:info.rank]), NUMPY_TYPES[info.type]))
        return facts

    def bound(self, inputs, outputs):
        """A function that runs the model on these arrays, over and over; they must be contiguous and of the right types."""
        sides = [(ctypes.c_void_p * len(side))(*[array.ctypes.data for array in side]) for side in (inputs, outputs)]
        error = Error()

        def run():
            if self._library.temper_model_run(self._model, sides[0], len(inputs), sides[1], len(outputs), ctypes.byref(error)):
                raise RuntimeError(error.message.decode())
        run.arrays = (inputs, outputs)  # the pointers do not keep them
        return run

    def __del__(self):
        if getattr(self, "_model", None):
            self._library.temper_model_free(self._model)
