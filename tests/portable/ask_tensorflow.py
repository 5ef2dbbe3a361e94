"""Asks TensorFlow 2.21 about every graph that portable_test.ts exports: it is parsed, run, and compared with what Weft computes.

    deno run -A tests/portable/write_cases.ts > cases.jsonl && python tests/portable/ask_tensorflow.py cases.jsonl

Writes tensorflow.json: for each op in parts and each program how many graphs there are, and how far from Weft's the numbers are at
most, relative to one plus the largest of a result. Fails where that is more than 3e-6. Writes the names of all ops of TensorFlow to
tensorflow_ops.json.
"""

import json
import math
import os
import pathlib
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from tensorflow.core.framework import op_def_pb2  # noqa: E402
from tensorflow.python.client import pywrap_tf_session as c_api  # noqa: E402

NEAR = 3e-6
TABLE = pathlib.Path(__file__).parent / "tensorflow.json"
NAMES = TABLE.with_name("tensorflow_ops.json")


def array(a):
    data = [float(v) if isinstance(v, str) and "float" in a["dtype"] else v for v in a["data"]]
    if "complex" in a["dtype"]:
        return np.array(data, "float64").view("complex128").astype(a["dtype"]).reshape(a["shape"])
    return np.array(data).astype(a["dtype"]).reshape(a["shape"])


def distance(found, wanted):
    """How far an array is from another, relative to one plus its largest number."""
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, (found, wanted)
    if wanted.size == 0:
        return 0.0
    if wanted.dtype.kind not in "fc":
        return 0.0 if np.array_equal(found, wanted) else math.inf
    if not np.array_equal(np.isfinite(found), np.isfinite(wanted)):
        return math.inf
    finite = np.isfinite(wanted)
    if not finite.any():
        return 0.0
    f, w = (a[finite].astype("complex128") for a in (found, wanted))
    return float(np.max(np.abs(f - w)) / (1 + np.max(np.abs(w))))


def ask(case):
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(json_format.ParseDict(case["graph"], tf.compat.v1.GraphDef()), name="")
        with tf.compat.v1.Session() as session:
            if "init" in case:
                session.run(graph.get_operation_by_name(case["init"]))
            feeds = {name: array(a) for name, a in case["feeds"].items()}
            found = session.run(case["fetches"], feeds)
    return max(distance(np.asarray(f), array(w)) for f, w in zip(found, case["values"]))


def op_names():
    ops = op_def_pb2.OpList.FromString(c_api.TF_GetBuffer(c_api.TF_GetAllOpList()))
    return sorted(o.name for o in ops.op if not o.name.startswith("_"))


def main(path):
    NAMES.write_text(json.dumps(op_names(), indent=2) + "\n")
    table, wrong = {}, []
    for line in open(path):
        case = json.loads(line)
        try:
            far = ask(case)
        except Exception as e:
            far = math.inf
            print(case["name"], str(e)[:300], file=sys.stderr)
        if far > NEAR:
            wrong.append((case["name"], far))
        row = table.setdefault(case["op"], {"graphs": 0, "distance": 0.0})
        row["graphs"] += 1
        row["distance"] = max(row["distance"], float(f"{far:.1e}"))
    lines = [f"  {json.dumps(op)}: {json.dumps(row)}" for op, row in sorted(table.items())]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(sum(row["graphs"] for row in table.values()), "graphs,", len(wrong), "differ:", wrong)
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main(sys.argv[1])
