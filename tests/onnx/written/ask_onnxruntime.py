"""Runs every model that cases.ts writes in onnxruntime, after onnx.checker, and compares it with what Weft computes.

    deno run -A tests/onnx/written/write_cases.ts > cases.jsonl && python tests/onnx/written/ask_onnxruntime.py cases.jsonl

Writes onnxruntime.json: for each op and program how many models there are, how far from Weft's the numbers are at most, relative to
one plus the largest of a result and in units of what is tolerated (1e-5 of float32, 2e-3 of float16), and the reasons of refusals. Fails
where one is farther.
"""

import base64
import json
import math
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort

# What onnxruntime 1.30 computes otherwise, by the beginning of a case's name.
KNOWN = {
    "Mean 13": "the mean of no elements is 0",
    "Max 14": "the greatest element leaves out NaN",
    "Min 14": "the least element leaves out NaN",
    "TopKV2 4": "NaN stands among the greatest",
    "GatherV2 0 string": "rows of strings lose all but the first",
    "GatherV2 1 string": "rows of strings lose all but the first",
    "MirrorPad 0 string": "rows of strings lose all but the first",
    "LowerBound 1 uint": "its sample is not sorted in unsigned dtypes",
    "UpperBound 1 uint": "its sample is not sorted in unsigned dtypes",
    "MatrixBandPart 0 string": "Weft fills strings with no text",
    "MatrixBandPart 1 string": "Weft fills strings with no text",
}
TABLE = pathlib.Path(__file__).parent / "onnxruntime.json"
TYPES = {"string": object, "bool": bool}


def array(a):
    """Returns the array of a line."""
    kind = a["dtype"]
    if kind.startswith("float"):
        data = [float(v) for v in a["data"]]
    elif "int" in kind:
        data = [int(v) for v in a["data"]]
    else:
        data = a["data"]
    return np.array(data, TYPES.get(kind, kind)).reshape(a["shape"])


def distance(found, wanted):
    """Returns how far an array is from another, relative to one plus its largest number."""
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
    if wanted.size == 0:
        return 0.0
    if wanted.dtype.kind not in "f":
        return 0.0 if np.array_equal(found, wanted) else math.inf
    f, w = found.astype("float64"), wanted.astype("float64")
    if not np.array_equal(np.isfinite(f), np.isfinite(w)) or not np.array_equal(np.isnan(f), np.isnan(w)):
        return math.inf
    infinite = np.isinf(w)
    if not np.array_equal(f[infinite], w[infinite]):
        return math.inf
    finite = np.isfinite(w)
    if not finite.any():
        return 0.0
    return float(np.max(np.abs(f[finite] - w[finite])) / (1 + np.max(np.abs(w[finite]))))


def ask(case):
    model = base64.b64decode(case["model"])
    parsed = onnx.load_from_string(model)
    # The checker wants shapes of outputs whose rank is not known.
    if all(o.type.tensor_type.HasField("shape") for o in parsed.graph.output):
        onnx.checker.check_model(parsed, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    found = session.run(None, {name: array(a) for name, a in case["feeds"].items() if name in known})
    far = 0.0
    for f, a in zip(found, case["values"], strict=True):
        wanted = array(a)
        f = np.asarray(f)
        if case["isRandom"]:
            assert f.shape == wanted.shape and f.dtype == wanted.dtype, (f.shape, f.dtype)
            continue
        far = max(far, distance(f, wanted) / case["near"])
    return far


def main(path):
    table, wrong = {}, []
    for line in open(path):
        case = json.loads(line)
        row = table.setdefault(case["op"], {"models": 0, "distance": 0.0})
        if "invalid" in case:
            continue
        if "refused" in case:
            row.setdefault("refused", {})
            reason = case["refused"].split("): ", 1)[-1]
            row["refused"][reason] = row["refused"].get(reason, 0) + 1
            continue
        try:
            far = ask(case)
        except Exception as e:
            far = math.inf
            print(case["name"], type(e).__name__, str(e)[:300].replace("\n", " "), file=sys.stderr)
        known = next((why for name, why in KNOWN.items() if case["name"].startswith(name)), None)
        if far > 1 and known is not None:
            row.setdefault("otherwise", {})[case["name"]] = known
            continue
        if far > 1:
            wrong.append((case["name"], far))
        row["models"] += 1
        row["distance"] = max(row["distance"], float(f"{min(far, 1e9):.1e}"))
    lines = [f"  {json.dumps(op)}: {json.dumps(row)}" for op, row in sorted(table.items())]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(sum(row["models"] for row in table.values()), "models,", len(wrong), "differ:")
    for name, far in wrong:
        print(" ", name, far)
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main(sys.argv[1])
