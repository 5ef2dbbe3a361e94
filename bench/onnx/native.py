"""Median times of native onnxruntime, in milliseconds, as JSON by name: `native.py THREADS FOLDER...`; see main.ts. With one thread,
time of the processor.
"""
import json, os, sys, time
import numpy as np
import onnxruntime as ort

ort.set_default_logger_severity(3)


def inputs(path):
    raw = open(path, "rb").read()
    line = raw.index(b"\n")
    head, body = json.loads(raw[:line]), raw[line + 1:]
    of = lambda t: np.frombuffer(body[t["b"][0]:t["b"][0] + t["b"][1]], np.dtype(t["d"])).reshape(t["s"])
    return {k: of(t) for k, t in head["sets"][0][0].items()}


clock = time.process_time if sys.argv[1] == "1" else time.perf_counter


def median(run):
    for _ in range(3):
        run()
    times, began = [], time.perf_counter()
    while len(times) < 7 or (time.perf_counter() - began < 0.7 and len(times) < 300):
        started = clock()
        run()
        times.append(clock() - started)
    return sorted(times)[len(times) // 2] * 1000


result = {}
for folder in sys.argv[2:]:
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".io.bin"):
            continue
        name, options = file[:-7], ort.SessionOptions()
        options.intra_op_num_threads = int(sys.argv[1])
        try:
            session = ort.InferenceSession(os.path.join(folder, name + ".onnx"), options, providers=["CPUExecutionProvider"])
            feeds = inputs(os.path.join(folder, file))
            result[name] = median(lambda: session.run(None, feeds))
        except Exception as error:
            print(name, error, file=sys.stderr)
print(json.dumps(result))
