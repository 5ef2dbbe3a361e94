"""Records graphs with TensorFlow 2.21: their definitions, what was fed and what came out."""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from google.protobuf import json_format

raw = tf.raw_ops
CASES = {}
FOLDER = os.path.dirname(os.path.abspath(__file__))


def number(v):
    if isinstance(v, (bytes, str)):
        return v.decode("latin-1") if isinstance(v, bytes) else v
    if isinstance(v, (bool, np.bool_)):
        return bool(v)
    if isinstance(v, (int, np.integer)):
        return int(v) if abs(int(v)) < 2**53 else str(v)
    v = float(v)
    return v if np.isfinite(v) else str(v)


def value(a):
    a = np.asarray(a)
    name = "string" if a.dtype == object or a.dtype.kind in "SU" else tf.as_dtype(a.dtype).name
    flat = a.ravel()
    if a.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).ravel()
    return {"dtype": name, "shape": list(a.shape), "data": [number(v) for v in flat]}


def definition(graph):
    found = json_format.MessageToDict(graph.as_graph_def())
    functions = found.get("library", {}).get("function", [])
    for f in functions:
        for part in ("attr", "argAttr", "resourceArgUniqueId", "controlRet"):
            f.pop(part, None)
    for n in found["node"] + [n for f in functions for n in f["nodeDef"]]:
        n.pop("experimentalDebugInfo", None)
        attr = n.get("attr", {})
        for part in ("_output_shapes", "output_shapes", "_lower_using_switch_merge", "_read_only_resource_inputs",
                     "_num_original_outputs", "_stateful_parallelism", "parallel_iterations", "config_proto", "_class"):
            attr.pop(part, None)
    return found


def record(subject, name, build, fed=(), shapes=None, grad=(), v1=False):
    """Builds a graph over what is fed and runs it; `build` returns tensors, or lists of them that are run one after the other.

    shapes: what the graph knows of each input's shape; by default all. grad: inputs whose gradient is recorded.
    v1: loops and branches as those of TensorFlow 1."""
    # TensorFlow ends with the process where some checks fail: the last name is that of the graph.
    print(name, flush=True)
    fed = [np.asarray(x) for x in fed]
    shapes = [x.shape for x in fed] if shapes is None else shapes
    case = {"name": name, "fed": [value(x) for x in fed]}
    with tf.Graph().as_default() as graph:
        (tf.compat.v1.disable_control_flow_v2 if v1 else tf.compat.v1.enable_control_flow_v2)()
        try:
            inputs = [
                tf.compat.v1.placeholder(tf.string if x.dtype.kind in "SUO" else x.dtype, s, f"in{i}")
                for i, (x, s) in enumerate(zip(fed, shapes))
            ]
            built = build(*inputs)
            runs = built if isinstance(built[0], (list, tuple)) else [built]
            case["graph"] = definition(graph)
            case["runs"] = [[t.name for t in run] for run in runs]
            slopes = []
            if grad:
                tops = [t for t in runs[0] if isinstance(t, tf.Tensor) and t.dtype.is_floating]
                slopes = tf.gradients(tops, [inputs[i] for i in grad])
            feeds = dict(zip(inputs, fed))
            with tf.compat.v1.Session(graph=graph) as session:
                try:
                    got = [session.run(list(run), feeds) for run in runs]
                    case["values"] = [[None if v is None else value(v) for v in r] for r in got]
                    if grad:
                        case["grad"] = list(grad)
                        case["slopes"] = [value(v) for v in session.run(slopes, feeds)]
                except tf.errors.OpError as e:
                    case["error"] = type(e).__name__
        finally:
            tf.compat.v1.enable_control_flow_v2()
    CASES.setdefault(subject, []).append(case)


def write():
    for subject, cases in CASES.items():
        with open(os.path.join(FOLDER, "fixtures", f"{subject}.json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
