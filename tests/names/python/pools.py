"""Fractional pooling, patches of volumes, elements of products, ragged rows that are filled."""

import numpy as np
import tensorflow as tf
from goldens import case

rng = np.random.default_rng(36)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def pools():
    for name, pool in [("Max", tf.nn.fractional_max_pool), ("Avg", tf.nn.fractional_avg_pool)]:
        fn = f"nn.fractional{name}Pool"
        for shape, ratio in [((2, 7, 6, 2), 1.4142), ((1, 12, 9, 1), [1.0, 2.6, 1.3, 1.0]), ((1, 8, 4, 1), 2.0), ((1, 5, 5, 3), 1.0), ((1, 3, 9, 1), 3.0)]:
            for pseudo in [False, True]:
                for overlapping in [False, True]:
                    seed = 7 if pseudo == overlapping else -3
                    x = np.round(normal(*shape), 3).astype(np.float32 if seed > 0 else np.float64)
                    # TensorFlow's means take no number alone.
                    four = ratio if name == "Max" or isinstance(ratio, list) else [1.0, ratio, ratio, 1.0]
                    rest = [four, pseudo, overlapping, seed]
                    case(fn, lambda x: pool(x, *rest), [x], wrt=[0], ours=[tf.constant(x), *rest])
        for dtype in [np.int32, np.int64]:
            x = rng.integers(-50, 50, [1, 6, 7, 1]).astype(dtype)
            case(fn, lambda x: pool(x, [1.0, 1.5, 1.5, 1.0], False, True, 5), [x], ours=[tf.constant(x), 1.5, False, True, 5])
        tf.random.set_seed(3)
        x = normal(1, 9, 9, 1)
        case(f"seeded.fractional{name}Pool", lambda x: pool(x, [1.0, 1.7, 1.7, 1.0], False, False, 9), [x], ours=[tf.constant(x), 1.7, False, False, 9])
        tf.random.set_seed(None)


def patches():
    for shape, sizes, strides in [((2, 3, 4, 5, 2), [1, 2, 2, 2, 1], [1, 1, 2, 3, 1]), ((1, 4, 4, 4, 1), [1, 3, 1, 2, 1], [1, 2, 2, 2, 1]), ((1, 2, 2, 2, 1), [1, 3, 1, 1, 1], [1, 1, 1, 1, 1])]:
        for padding in ["VALID", "SAME"]:
            x = normal(*shape)
            none = padding == "VALID" and sizes[1] > shape[1]
            if not none:
                case("extractVolumePatches", lambda x: tf.extract_volume_patches(x, sizes, strides, padding), [x], wrt=[0], ours=[tf.constant(x), sizes, strides, padding])
    for padding in ["VALID", "SAME"]:
        x = normal(2, 7, 6, 2)
        case("extractPatches", lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], padding), [x], wrt=[0], ours=[tf.constant(x), [3, 2], [2, 1], [1, 2], padding.lower()])
    x = np.arange(9, dtype=np.int32).reshape(1, 3, 3, 1)
    case("extractPatches", lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"), [x], ours=[tf.constant(x), [2, 2], [1, 1], [1, 1], "valid"])


def products():
    for batch, at in [((), [[0, 0], [1, 3], [2, 1], [1, 1]]), ((2,), [[[0, 1], [2, 3]], [[1, 0], [1, 2]]])]:
        at = np.int32(at)
        for dtype in [np.float32, np.float64]:
            v, a, b = (normal(*s).astype(dtype) for s in [at.shape[:-1], (*batch, 3, 5), (*batch, 5, 4)])
            name = tf.as_dtype(dtype).name
            run = lambda v, a, b: tf.sparse.sampled_addmm(at, v, [3, 4], a, b, 0.25, 0.75, output_type=tf.as_dtype(dtype))
            case("sparse.sampledAddmm", run, [v, a, b], wrt=[0, 1, 2], places=[1, 3, 4], ours=[tf.constant(at), tf.constant(v), [3, 4], tf.constant(a), tf.constant(b), 0.25, 0.75, name])


def ragged():
    for ids, rows in [([0, 2, 2, 5], 7), ([], 3), ([1, 1], 2)]:
        ids, values = np.int64(ids), normal(len(ids))
        nrows = np.int64(rows)
        args = [ids, values, nrows, np.float32(-1)]
        args = [tf.constant(a) for a in args]
        case("raggedFillEmptyRows", tf.ragged_fill_empty_rows, args, wrt=[1, 3])


def write():
    for part in [pools, patches, products, ragged]:
        part()
