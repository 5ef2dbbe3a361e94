"""Writes fixtures/ort_tests.bin.gz: models of one node each that the node tests and contrib_tests leave out, with what onnxruntime computes.

    python tests/onnx/make_ort_tests.py
"""
import gzip, json, os
import numpy as np
import onnxruntime as ort
from onnx import TensorProto as TP, helper as H, numpy_helper as NH

R = np.random.default_rng(3)
F, ML, MS = np.float32, "ai.onnx.ml", "com.microsoft"
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float64": 11}


def floats(*shape):
    return R.standard_normal(shape).astype(F)


def int64s(*values):
    return np.array(values, np.int64)


ROIS = np.array([[0, 0, 0, 4, 4], [1, 1, 2, 9, 7], [0, -2.5, 1.5, 3.5, 2.5], [1, 20, 20, 30, 30]], F)
BOXES = np.array([[-.1, 0, 1.2, 1], [.21, .13, .83, .74]], F)
HOLES = floats(3, 4)
HOLES[1, 2] = np.nan
COLUMNS = dict(offset=[.1, .2, .3, .4], scale=[1., 2., 3., 4.])

# Name, op, domain, inputs, number of outputs, inputs that are constants, attributes.
CASES = [
    ("max_roi_pool_scaled", "MaxRoiPool", "", [floats(2, 3, 10, 12), ROIS], 1, [], dict(pooled_shape=[3, 2], spatial_scale=.7)),
    ("max_roi_pool_fine", "MaxRoiPool", "", [floats(2, 3, 10, 12), ROIS], 1, [], dict(pooled_shape=[4, 7])),
    ("scaler_columns", "Scaler", ML, [floats(3, 4)], 1, [], COLUMNS),
    ("scaler_integers", "Scaler", ML, [R.integers(-9, 9, (3, 4))], 1, [], dict(offset=[.5], scale=[2.])),
    *[("normalizer_" + n, "Normalizer", ML, [floats(3, 4)], 1, [], dict(norm=n)) for n in ("MAX", "L1", "L2")],
    *[("normalizer_zeros_" + n, "Normalizer", ML, [np.zeros((2, 3), F)], 1, [], dict(norm=n)) for n in ("MAX", "L1", "L2")],
    ("imputer_nan", "Imputer", ML, [HOLES], 1, [], dict(imputed_value_floats=[1., 2., 3., 4.], replaced_value_float=float("nan"))),
    ("imputer_integers", "Imputer", ML, [int64s([1, 2, 3])], 1, [], dict(imputed_value_int64s=[7], replaced_value_int64=2)),
    ("linear_regressor", "LinearRegressor", ML, [floats(3, 4)], 1, [], dict(coefficients=floats(8).tolist(), intercepts=[.5, -.5], targets=2)),
    ("linear_regressor_plain", "LinearRegressor", ML, [floats(3, 4)], 1, [], dict(coefficients=floats(4).tolist())),
    ("feature_extractor", "ArrayFeatureExtractor", ML, [floats(3, 4), int64s(2, 0)], 1, [], {}),
    ("feature_extractor_row", "ArrayFeatureExtractor", ML, [floats(4), int64s(2, 0)], 1, [], {}),
    ("feature_vectorizer", "FeatureVectorizer", ML, [floats(3, 4), floats(3, 2)], 1, [], dict(inputdimensions=[4, 2])),
    ("cdist_squares", "CDist", MS, [floats(3, 4), floats(5, 4)], 1, [], {}),
    ("cdist_doubles", "CDist", MS, [floats(3, 4).astype(np.float64), floats(5, 4).astype(np.float64)], 1, [], dict(metric="euclidean")),
    ("ngram_rows", "NGramRepeatBlock", MS, [int64s([1, 2, 3, 1, 2], [0, 1, 0, 1, 0]), floats(2, 6)], 1, [], dict(ngram_size=3)),
    ("ngram_words", "NGramRepeatBlock", MS, [int64s([1, 2, 3, 1, 2]), floats(1, 6)], 1, [], dict(ngram_size=1)),
    ("ngram_short", "NGramRepeatBlock", MS, [int64s([1, 2]), floats(1, 6)], 1, [], dict(ngram_size=3)),
    ("crop_and_resize_nearest", "CropAndResize", MS, [floats(2, 3, 6, 6), BOXES, np.array([1, 0], np.int32), np.array([3, 2], np.int32)], 1, [3],
     dict(extrapolation_value=2., mode="nearest")),
    ("ms_pad_row", "Pad", MS, [floats(2, 3), int64s([0, 1, 0, 1]), np.array([.5], F)], 1, [], dict(mode="constant")),
    ("ms_pad_reflect", "Pad", MS, [floats(4, 5), int64s(0, 1, 2, 1)], 1, [], dict(mode="reflect")),
    ("ms_pad_edge", "Pad", MS, [floats(4, 5), int64s(0, 1, 2, 1)], 1, [], dict(mode="edge")),
    ("ms_unique", "Unique", MS, [np.array([3, 3, -1, 2, 3], F)], 3, [], {}),
    ("inverse_doubles", "Inverse", MS, [floats(2, 3, 3).astype(np.float64)], 1, [], {}),
    ("conv_transpose_dynamic_pads_bias", "ConvTransposeWithDynamicPads", MS, [floats(1, 2, 4, 4), floats(2, 3, 3, 3), int64s(1, 0, 1, 2), floats(3)], 1,
     [2], dict(strides=[2, 2])),
    ("nhwc_max_pool_padded", "NhwcMaxPool", MS, [R.integers(-99, 99, (1, 7, 6, 3)).astype(np.int8)], 1, [],
     dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])),
    ("nhwc_max_pool_same", "NhwcMaxPool", MS, [R.integers(0, 255, (1, 7, 6, 3)).astype(np.uint8)], 1, [],
     dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")),
    ("qattention_mask_past", "QAttention", MS, [
        R.integers(0, 255, (2, 3, 6)).astype(np.uint8), R.integers(-99, 99, (6, 24)).astype(np.int8), floats(24), F(.02), F(.01),
        np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1]], np.int32), np.uint8(120), np.int8(0), floats(2, 2, 2, 2, 4),
    ], 2, [1, 2, 3, 4, 6, 7], dict(num_heads=2, unidirectional=1)),
]


def experts(rows, inner=8, wide=1, count=4, hidden=6):
    """Inputs of a mixture of experts: rows, scores, weights and biases."""
    return [floats(*rows, hidden), floats(int(np.prod(rows)), count), floats(count, wide * inner, hidden), floats(count, wide * inner),
            floats(count, hidden, inner), floats(count, hidden)]


GATES = dict(activation_type="swiglu", swiglu_fusion=1, k=2)
CASES += [
    *[("moe_" + t, "MoE", MS, experts((5,)), 1, [2, 3, 4, 5], dict(k=2, activation_type=t)) for t in ("relu", "gelu", "silu", "identity")],
    ("moe_normalized", "MoE", MS, experts((2, 3)), 1, [], dict(k=2, normalize_routing_weights=1)),
    ("moe_one", "MoE", MS, experts((1,)), 1, [], dict(k=2, activation_type="silu", normalize_routing_weights=1)),
    ("moe_switch", "MoE", MS, experts((3,)), 1, [], {}),
    ("moe_ties", "MoE", MS, [x * (i != 1) for i, x in enumerate(experts((3,)))], 1, [], dict(k=3)),
    ("moe_swiglu", "MoE", MS, experts((5,), wide=2), 1, [], GATES),
    ("moe_swiglu_limit", "MoE", MS, experts((2,), wide=2), 1, [], dict(GATES, activation_alpha=1.7, activation_beta=1., swiglu_limit=.7)),
]


def layouts(*masks):
    """Block masks as the places of each row's columns, and these."""
    columns = [[j for row in m for j, seen in enumerate(row) if seen] for m in masks]
    rows = [np.cumsum([0] + [sum(row) for row in m]) for m in masks]
    width = max(map(len, columns))
    return [np.array(rows, np.int32), np.array([c + [-1] * (width - len(c)) for c in columns], np.int32)]


TWO, THREE = layouts([[1, 0], [1, 1]], [[1, 0], [0, 1]]), layouts([[1, 0, 0], [1, 1, 0], [1, 0, 1]])


def sparse(queries, total, blocks, batch=1, heads=2, shared=1, depth=16, room=32, packed=False, rotary=False):
    sizes = [heads * depth, shared * depth, shared * depth]
    q, k, v = [floats(batch, queries, s) for s in sizes]
    own = [np.concatenate([q, k, v], -1), None, None] if packed else [q, k, v]
    past = [floats(batch, shared, room, depth) for _ in range(2)]
    for p in past:
        p[:, :, total - queries:] = 0
    turns = [np.cos(floats(room, depth // 2)), np.sin(floats(room, depth // 2))] if rotary else []
    return [*own, *past, *blocks, np.array([total], np.int32), np.full(batch, total, np.int32), *turns]


HEADS = dict(num_heads=2, kv_num_heads=1, sparse_block_size=16)
CASES += [
    ("sparse_attention_prompt", "SparseAttention", MS, sparse(20, 20, TWO), 3, [5, 6], HEADS),
    ("sparse_attention_token", "SparseAttention", MS, sparse(1, 20, TWO, batch=2), 3, [5, 6], HEADS),
    ("sparse_attention_part", "SparseAttention", MS, sparse(5, 40, THREE, room=48), 3, [5, 6], dict(HEADS, scale=.3)),
    ("sparse_attention_packed", "SparseAttention", MS, sparse(18, 18, TWO, packed=True), 3, [5, 6], HEADS),
    *[(f"sparse_attention_rotary_{i}", "SparseAttention", MS, sparse(3, 20, TWO, heads=4, shared=2, rotary=True), 3, [5, 6],
       dict(HEADS, num_heads=4, kv_num_heads=2, do_rotary=1, rotary_interleaved=i)) for i in (0, 1)],
]


def levels(rows, bits, block=0, zeros=False, wide=1, inner=32, count=3, hidden=32, own=False):
    """Inputs of a mixture of experts in levels of a few bits: each layer has its levels, scales and biases; zero points come last."""
    def packed(*shape):
        return R.integers(0, 256, (*shape[:-1], -(-shape[-1] * bits // 8))).astype(np.uint8)

    def layer(n, k):
        scales = (np.abs(floats(count, n, *([k // block] if block else []))) * .05 / 2 ** (bits - 4) + .001).astype(F)
        return [packed(count, n, k), scales, floats(count, n)], packed(*scales.shape) if zeros else None

    (first, z1), (last, z2) = layer(wide * inner, hidden), layer(hidden, inner)
    total = int(np.prod(rows))
    shares = [None, np.abs(floats(total, count))] if own else []
    return [floats(*rows, hidden), floats(total, count), *first, *last, None, None, None, z1, z2, *shares]


QUANTISED = dict(k=2, activation_type="silu")
CASES += [
    *[(f"qmoe_{bits}_bits", "QMoE", MS, levels((5,), bits), 1, [2, 3, 4, 5, 6, 7], dict(QUANTISED, expert_weight_bits=bits)) for bits in (4, 8)],
    *[(f"qmoe_{bits}_blocks", "QMoE", MS, levels((2, 3), bits, 16), 1, [2, 3, 4, 5, 6, 7],
       dict(QUANTISED, expert_weight_bits=bits, block_size=16, normalize_routing_weights=1)) for bits in (2, 4, 8)],
    *[(f"qmoe_{bits}_zeros", "QMoE", MS, levels((5,), bits, 16, True), 1, [2, 3, 4, 5, 6, 7, 11, 12],
       dict(QUANTISED, expert_weight_bits=bits, block_size=16)) for bits in (4, 8)],
    ("qmoe_column_zeros", "QMoE", MS, levels((3,), 4, 0, True), 1, [2, 3, 4, 5, 6, 7, 11, 12], dict(QUANTISED)),
    ("qmoe_one", "QMoE", MS, levels((1,), 4, 16), 1, [2, 3, 4, 5, 6, 7], dict(QUANTISED, block_size=16)),
    ("qmoe_swiglu", "QMoE", MS, levels((3,), 4, wide=2), 1, [2, 3, 4, 5, 6, 7], dict(GATES, activation_alpha=1.7, activation_beta=1., swiglu_limit=.7)),
    *[(f"qmoe_own_shares_{i}", "QMoE", MS, levels((3,), 8, own=True), 1, [2, 3, 4, 5, 6, 7], dict(QUANTISED, expert_weight_bits=8, normalize_routing_weights=i))
      for i in (0, 1)],
]


def result(file, op, given, names):
    """Runs a model. SparseAttention wants its present in the memory of its past."""
    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    if op != "SparseAttention":
        return session.run(None, given)
    values, bound = {k: ort.OrtValue.ortvalue_from_numpy(x.copy()) for k, x in given.items()}, session.io_binding()
    for name, value in values.items():
        bound.bind_ortvalue_input(name, value)
    bound.bind_output("o0")
    for i in (1, 2):
        bound.bind_ortvalue_output(f"o{i}", values[names[2 + i]])
    session.run_with_iobinding(bound)
    return [v.numpy().copy() for v in bound.get_outputs()]


def main():
    bytes_, tensors, cases = bytearray(), [], []

    def add(data):
        at = len(bytes_)
        bytes_.extend(data)
        return [at, len(data)]

    def reference(array):
        array = np.asarray(array)
        tensors.append({"d": array.dtype.name, "s": list(array.shape), "b": add(np.ascontiguousarray(array).tobytes())})
        return len(tensors) - 1

    for name, op, domain, inputs, outputs, constants, attributes in CASES:
        names, made = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)], [f"o{k}" for k in range(outputs)]
        inputs = [x if x is None else np.asarray(x) for x in inputs]
        graph = H.make_graph(
            [H.make_node(op, names, made, domain=domain, **attributes)], "g",
            [H.make_tensor_value_info(names[k], TYPES[x.dtype.name], list(x.shape)) for k, x in enumerate(inputs) if x is not None and k not in constants],
            [H.make_empty_tensor_value_info(o) for o in made],
            [NH.from_array(x, names[k]) for k, x in enumerate(inputs) if k in constants])
        opsets = [H.make_opsetid("", 17), H.make_opsetid(ML, 3), H.make_opsetid(MS, 1)]
        file = H.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
        given = {names[k]: x for k, x in enumerate(inputs) if x is not None and k not in constants}
        wanted = result(file, op, given, names)
        sets = [[[reference(x) for x in given.values()], [reference(x) for x in wanted]]]
        cases.append({"n": name, "m": add(file), "sets": sets, "rtol": 1e-4, "atol": 1e-5})
    head = json.dumps({"tensors": tensors, "cases": cases}, separators=(",", ":")).encode()
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "ort_tests.bin.gz")
    with open(target, "wb") as out:
        out.write(gzip.compress(head + b"\n" + bytes(bytes_), 9, mtime=0))


main()
