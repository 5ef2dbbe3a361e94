"""Functions of `tf` that move, mark, count and convert elements."""

import numpy as np
import tensorflow as tf
from goldens import case

f32 = lambda *v: np.array(v, np.float32)
i32 = lambda *v: np.array(v, np.int32)
i64 = lambda *v: np.array(v, np.int64)
DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8", "int8", "int16", "bool", "complex64"]


def write():
    rng = np.random.default_rng(3)
    x23, x34 = rng.normal(size=[2, 3]).astype(np.float32), rng.normal(size=[3, 4]).astype(np.float32)
    # sequenceMask
    for lengths, maxlen in [(i32(1, 3, 2), 5), (i64(1, 0, 4), 3), (np.array([[1, 2], [0, 3]], np.int32), 3), (i32(), 2), (np.int32(2), 3)]:
        case("sequenceMask", lambda l, m=maxlen: tf.sequence_mask(l, m), [np.asarray(lengths)], ours=[np.asarray(lengths), maxlen])
    for dtype in ["float32", "int64", "float16"]:
        case("sequenceMask", lambda l: tf.sequence_mask(l, dtype=dtype), [i32(2, 0, 3)], ours=[i32(2, 0, 3), None, dtype])
    case("sequenceMask", lambda l: tf.sequence_mask(l), [i64(0, 0)], ours=[i64(0, 0)])
    # repeat
    for dtype in DTYPES + ["string"]:
        x = np.array([["a", "b"], ["c", "d"]]) if dtype == "string" else np.array([[1, 0], [3, 4]]).astype(dtype)
        x = tf.constant(x)
        case("repeat", lambda x: tf.repeat(x, [1, 2], axis=1), [x], ours=[x, i32(1, 2), 1])
        case("repeat", lambda x: tf.repeat(x, 3, axis=0), [x], ours=[x, 3, 0])
    case("repeat", lambda x: tf.repeat(x, [2, 0], axis=0), [x23], wrt=[0], ours=[x23, i32(2, 0), 0])
    case("repeat", lambda x: tf.repeat(x, 2), [x23], wrt=[0], ours=[x23, np.int32(2)])
    case("repeat", lambda x: tf.repeat(x, [1, 2, 0, 3, 1, 0]), [x23], ours=[x23, i64(1, 2, 0, 3, 1, 0)])
    case("repeat", lambda x: tf.repeat(x, [2], axis=-1), [x23], wrt=[0], ours=[x23, i32(2), -1])
    case("repeat", lambda x: tf.repeat(x, 2), [np.float32(3)], ours=[np.float32(3), 2])
    case("repeat", lambda x: tf.repeat(x, 2, axis=0), [np.zeros([0, 2], np.float32)], ours=[np.zeros([0, 2], np.float32), np.int32(2), 0])
    # reverseSequence
    for dtype in DTYPES + ["string"]:
        x = np.array([["a", "b", "c"], ["d", "e", "f"]]) if dtype == "string" else np.array([[1, 0, 2], [3, 4, 1]]).astype(dtype)
        case("reverseSequence", lambda x: tf.reverse_sequence(x, [2, 3], 1, 0), [x], ours=[tf.constant(x), i32(2, 3), 1, 0])
    case("reverseSequence", lambda x: tf.reverse_sequence(x, [2, 0, 1, 3], 0, 1), [x34], wrt=[0], ours=[x34, i64(2, 0, 1, 3), 0, 1])
    x = rng.normal(size=[2, 3, 2]).astype(np.float64)
    case("reverseSequence", lambda x: tf.reverse_sequence(x, [1, 3], 1, 2), [x], wrt=[0], ours=[x, i32(1, 3), 1, 2])
    # dynamicPartition and dynamicStitch
    for dtype in DTYPES + ["string"]:
        x = np.array(["a", "b", "c"]) if dtype == "string" else np.array([1, 0, 2]).astype(dtype)
        case("dynamicPartition", lambda x: tf.dynamic_partition(x, [1, 0, 1], 3), [x], ours=[tf.constant(x), i32(1, 0, 1), 3])
        case("dynamicStitch", lambda x, y: tf.dynamic_stitch([[0, 2, 1], [3]], [x, y]), [x, x[:1]], ours=[[i32(0, 2, 1), i32(3)], [tf.constant(x), tf.constant(x[:1])]])
    case("dynamicPartition", lambda x: tf.dynamic_partition(x, [1, 0, 1], 2), [x34], wrt=[0], ours=[x34, i32(1, 0, 1), 2])
    parts = np.array([[0, 1, 1], [1, 0, 0]], np.int32)
    case("dynamicPartition", lambda x: tf.dynamic_partition(x, parts, 2), [x23], wrt=[0], ours=[x23, parts, 2])
    at = [np.array([[0, 3], [1, 4]], np.int32), np.int32(2)]
    data = [rng.normal(size=[2, 2, 2]).astype(np.float32), f32(7, 8)]
    case("dynamicStitch", lambda: tf.dynamic_stitch(at, data), [], ours=[at, data])
    case("dynamicStitch", lambda: tf.dynamic_stitch([i32(0, 1), i32(1, 0, 1)], [f32(1, 2), f32(3, 4, 5)]), [], ours=[[i32(0, 1), i32(1, 0, 1)], [f32(1, 2), f32(3, 4, 5)]])
    # uniqueWithCounts
    for dtype in DTYPES + ["string"]:
        x = np.array(["b", "a", "b"]) if dtype == "string" else np.array([1, 0, 1]).astype(dtype)
        if dtype == "complex64":
            continue
        case("uniqueWithCounts", tf.unique_with_counts, [x])
    case("uniqueWithCounts", tf.unique_with_counts, [f32()])
    # tensorScatter…
    at = np.array([[1], [0], [1]], np.int32)
    for name, fn in [("Sub", tf.tensor_scatter_nd_sub), ("Max", tf.tensor_scatter_nd_max), ("Min", tf.tensor_scatter_nd_min)]:
        for dtype in ["float32", "float64", "int32", "int64", "uint8"]:
            x, u = np.array([5, 2, 3]).astype(dtype), np.array([4, 1, 2]).astype(dtype)
            case(f"tensorScatter{name}", lambda x, u: fn(x, at, u), [x, u], wrt=[0, 1] if "float" in dtype else (), places=[0, 2], ours=[x, at, u])
        u = rng.normal(size=[2, 4]).astype(np.float32)
        case(f"tensorScatter{name}", lambda x, u: fn(x, [[2], [0]], u), [x34, u], wrt=[0, 1], places=[0, 2], ours=[x34, i64(2, 0).reshape([2, 1]), u])
        cells = np.array([[0, 1], [2, 3]], np.int32)
        case(f"tensorScatter{name}", lambda x, u: fn(x, cells, u), [x34, f32(0.5, -0.5)], wrt=[0, 1], places=[0, 2], ours=[x34, cells, f32(0.5, -0.5)])
    # histograms
    v = f32(-1, 0, 1.5, 2, 5, 15)
    for bins, dtype in [(5, "int32"), (3, "int64")]:
        case("histogramFixedWidth", lambda v: tf.histogram_fixed_width(v, f32(0, 5), bins, tf.as_dtype(dtype)), [v], ours=[v, f32(0, 5), bins, dtype])
    case("histogramFixedWidthBins", lambda v: tf.histogram_fixed_width_bins(v, f32(0, 5), 5), [v], ours=[v, f32(0, 5), 5])
    many = rng.normal(size=[20, 10]).astype(np.float32)
    case("histogramFixedWidth", lambda v: tf.histogram_fixed_width(v, f32(-2, 2)), [many], ours=[many, f32(-2, 2)])
    case("histogramFixedWidthBins", lambda v: tf.histogram_fixed_width_bins(v, f32(-2, 2)), [many], ours=[many, f32(-2, 2)])
    case("histogramFixedWidth", lambda v: tf.histogram_fixed_width(v, i32(0, 10), 4), [i32(1, 2, 9, 11, -3)], ours=[i32(1, 2, 9, 11, -3), i32(0, 10), 4])
    case("histogramFixedWidth", lambda v: tf.histogram_fixed_width(v, [0.0, 1.0], 4), [np.array([0.1, 0.3, 0.25])], ours=[np.array([0.1, 0.3, 0.25]), np.array([0.0, 1.0]), 4])
    # bitcast
    for x, to in [(f32(1, -2, np.inf), "int32"), (f32(1, -2), "uint8"), (np.array([[1, 2], [3, 4]], np.int32), "int64"), (np.array([1.5]), "int32"),
                  (np.array([1, -1], np.int16), "float16"), (i64(3, -1), "uint64"), (np.array([1 + 2j], np.complex64), "float32"),
                  (np.array([[1, 2]], np.float32), "complex64"), (np.array([1, 2, 3, 4], np.uint8), "uint32"), (i32(5, -6), "bfloat16")]:
        case("bitcast", lambda x: tf.bitcast(x, tf.as_dtype(to)), [x], ours=[x, to])
    # saturateCast
    wide = np.array([-1e39, -3e9, -129.5, -1, 0, 2.7, 127.9, 255.5, 7e4, 3e9, 1e19, 1e39, np.inf, -np.inf])
    for frm in ["float64", "float32", "float16", "bfloat16"]:
        for to in ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64"]:
            # Of numbers beyond 64 bits TensorFlow makes the other bound.
            some = wide[np.abs(wide) < 1e18] if to in ["int64", "uint64"] else wide
            x = tf.cast(tf.constant(some), frm)
            case("saturateCast", lambda x: tf.saturate_cast(x, tf.as_dtype(to)), [x], ours=[x, to])
    whole = [-(2**62), -(2**31) - 1, -129, -1, 0, 127, 128, 256, 65536, 2**31, 2**32, 2**62]
    for to in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float16"]:
        case("saturateCast", lambda x: tf.saturate_cast(x, tf.as_dtype(to)), [i64(*whole)], ours=[i64(*whole), to])
    case("saturateCast", lambda x: tf.saturate_cast(x, tf.float16), [f32(1, 7e4, -7e4)], wrt=[0], ours=[f32(1, 7e4, -7e4), "float16"])
    case("saturateCast", lambda x: tf.saturate_cast(x, tf.int8), [np.array([300 + 2j, -5j], np.complex64)], ours=[np.array([300 + 2j, -5j], np.complex64), "int8"])
    # truncateDiv and truncateMod
    for dtype in ["int32", "int64", "int8", "int16", "uint8"]:
        a = np.array([-7, 7, -8, 8, 5]).astype(dtype)
        b = np.array([2, -2, 3, -3, 5]).astype(dtype)
        case("truncateDiv", tf.truncatediv, [a, b])
        if dtype in ["int32", "int64"]:
            case("truncateMod", tf.truncatemod, [a, b])
    for dtype in ["float32", "float64"]:
        case("truncateMod", tf.truncatemod, [np.array([[-7.5, 7.5, 4]]).astype(dtype), np.array([[2], [-2]]).astype(dtype)])
