"""Names of several namespaces: distances, fingerprints, formats, roots of matrices, draws from distributions, sampled classes."""

import gzip
import zlib

import numpy as np
import tensorflow as tf
from goldens import case

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def sparse(indices, values, shape):
    return tf.SparseTensor(np.reshape(np.array(indices, np.int64), [-1, len(shape)]), values, shape)


def distances():
    said = sparse([[0, 0, 0], [0, 0, 1], [1, 0, 0], [2, 1, 0], [2, 1, 3]], ["a", "b", "c", "d", "e"], [3, 2, 4])
    truth = sparse([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [2, 1, 1]], ["a", "x", "c", "d", "e"], [3, 2, 2])
    numbers = sparse([[0, i] for i in range(4)], np.int32([3, 1, 4, 1]), [2, 4])
    others = sparse([[0, 0], [0, 1], [1, 0]], np.int32([1, 4, 5]), [3, 2])
    none = sparse([], np.zeros([0], np.int32), [2, 2])
    for normalize in [True, False]:
        for a, b in [(said, truth), (truth, said), (numbers, others), (others, numbers), (none, others), (others, none), (none, none)]:
            case("editDistance", lambda a, b: tf.edit_distance(a, b, normalize), [a, b], ours=[a, b, normalize])


def fingerprints():
    words = np.array(["", "a", "abcdefghij", "x" * 100], object)
    for data in [words, np.array([["a", "b"], ["c", "d"]], object), np.int32([[1, 2], [3, 4]]), normal(2, 3, 2), np.float64([1, -0.0]), np.array([True, False]), np.int64([[5], [2**40]]), np.zeros([2, 0], np.float32), np.zeros([0, 3], np.int32)]:
        data = tf.constant(data.tolist(), tf.string) if data.dtype == object else data
        case("fingerprint", tf.fingerprint, [data])


def formats():
    for template, inputs in [("a {} b {}", [np.arange(10, dtype=np.int32), np.float32(1.5)]), ("{}", [normal(2, 7, 2)]), ("none", [])]:
        case("strings.format", lambda *x: tf.strings.format(template, list(x)), inputs, ours=[template, [tf.constant(x) for x in inputs]])
    text = tf.constant(["a\nb", 'q"'])
    case("strings.format", lambda x: tf.strings.format("% of {}", x, "%", -1), [text], ours=["% of {}", text, {"placeholder": "%", "summarize": -1}])
    case("strings.unicodeScript", tf.strings.unicode_script, [np.int32([[65, 0x628, 0x4E00, 32], [-1, 0x110000, 0x41F, 0x1F600]])])
    case("strings.unicodeScript", tf.strings.unicode_script, [np.int32([c for c in range(0, 0x1B000, 509) if not 0x13400 <= c < 0x14400])])
    case("strings.unicodeScript", tf.strings.unicode_script, [np.zeros([0, 2], np.int32)])


def matrices():
    for shape in [(1, 1), (2, 2), (3, 3), (2, 3, 3), (0, 2, 2)]:
        a = normal(*shape)
        square = (np.matmul(a, np.swapaxes(a, -1, -2)) + np.eye(shape[-1])).astype(np.float32)
        case("linalg.sqrtm", tf.linalg.sqrtm, [square], wrt=[0] if a.size else [])
        both = tf.complex(square, normal(*shape) / 4)
        case("linalg.sqrtm", tf.linalg.sqrtm, [both])
        case("linalg.logm", tf.linalg.logm, [both])
    case("linalg.sqrtm", tf.linalg.sqrtm, [np.float64([[1, 2], [-3, 4]])], wrt=[0])
    case("linalg.logm", tf.linalg.logm, [tf.cast(tf.constant([[1.0, 2], [3, 4]]), tf.complex128)])
    for lower in [True, False]:
        for adjoint in [True, False]:
            for bands, rhs in [((1, 3), (3, 2)), ((2, 4), (4, 1)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (3, 1)), ((3, 2), (2, 2, 1))]:
                b, x = 2 + np.abs(normal(*bands)), normal(*rhs)
                case(
                    "linalg.bandedTriangularSolve",
                    lambda b, x: tf.linalg.banded_triangular_solve(b, x, lower, adjoint),
                    [b, x],
                    wrt=[] if bands[-2] > bands[-1] else [1] if bands[-2] == 1 else [0, 1],
                    ours=[tf.constant(b), tf.constant(x), {"lower": lower, "adjoint": adjoint}],
                )
    for n in [1, 2, 5]:
        a, b = normal(n), normal(n - 1)
        case("linalg.eighTridiagonal", tf.linalg.eigh_tridiagonal, [a, b])
        z = tf.complex(b, normal(n - 1))
        case("linalg.eighTridiagonal", lambda a, b: tf.linalg.eigh_tridiagonal(a, b), [tf.complex(a, 0 * a), z])
    a, b = np.float64([1, 2, 3, 4]), np.float64([4, 5, 6])
    for select, span in [("i", [1, 2]), ("i", [0, 0]), ("v", [0.0, 5.0]), ("v", [-100.0, 100.0])]:
        case("linalg.eighTridiagonal", lambda a, b: tf.linalg.eigh_tridiagonal(a, b, select=select, select_range=span), [a, b], ours=[tf.constant(a), tf.constant(b), {"select": select, "selectRange": span}])


def draws():
    random = tf.random
    for seed in [np.int32([1, 2]), np.int64([2**40, -7])]:
        s = tf.constant(seed)
        for dtype in ["int32", "int64", "float32", "float64", "float16"]:
            d = tf.as_dtype(dtype)
            rates = np.float32([0.0, 0.3, 9.9, 10.0, 200.0])
            case("random.statelessPoisson", lambda s, x: random.stateless_poisson([4, 5], s, x, d), [seed, rates], ours=[[4, 5], s, tf.constant(rates), dtype])
            p, n = np.float32([0.0, 0.02, 0.5, 0.7, 1.0]), np.float32([[10], [400]])
            case("random.statelessBinomial", lambda s, n, p: random.stateless_binomial([3, 2, 5], s, n, p, d), [seed, n, p], ours=[[3, 2, 5], s, tf.constant(n), tf.constant(p), dtype])
        for dtype in [np.float32, np.float64]:
            arguments = [np.array(x, dtype) for x in [[0, 1, 2, -3], [[1], [0.5]], [-3, 0.9, 2.1, -np.inf], [3, 1.1, 9, -4]]]
            tensors = [tf.constant(x) for x in arguments]
            case(
                "random.statelessParameterizedTruncatedNormal",
                lambda s, *x: random.stateless_parameterized_truncated_normal([3, 2, 4], s, *x),
                [seed, *arguments],
                wrt=[1, 2] if dtype == np.float64 else [],
                ours=[[3, 2, 4], s, *tensors],
                places=[2, 3],
            )
        for most in [0, 1, 9, 300, 70000]:
            at = np.array([0, most, most // 2, most // 3], seed.dtype)
            case("random.indexShuffle", lambda i, s: random.experimental.index_shuffle(i, s, tf.cast(most, i.dtype)), [at, seed], ours=[tf.constant(at), tf.constant(seed), most])
    seeds = np.int32([[1, 2], [3, 4]])
    # TensorFlow's function puts its own word before seeds of one rank alone.
    rows = lambda i, s: tf.random_index_shuffle(i, tf.pad(s, [[0, 0], [1, 0]], constant_values=498247692), 9, rounds=4)
    case("random.indexShuffle", rows, [np.int32([3, 3]), seeds], ours=[tf.constant(np.int32([3, 3])), tf.constant(seeds), 9])


def classes():
    random = tf.random
    truth = np.int64([[1, 2], [0, 3]])
    t = tf.constant(truth)
    case("nn.allCandidateSampler", lambda t: random.all_candidate_sampler(t, 2, 5, True), [truth], ours=[t, 2, 5, True])
    # The expected counts of true classes do not depend on what is drawn where classes may repeat.
    case("expected.uniformCandidateSampler", lambda t: random.uniform_candidate_sampler(t, 2, 4, False, 10)[1], [truth], ours=[t, 2, 4, False, 10])
    case("expected.logUniformCandidateSampler", lambda t: random.log_uniform_candidate_sampler(t, 2, 4, False, 10)[1], [truth], ours=[t, 2, 4, False, 10])
    for more in [{"unigrams": [1, 2, 3, 4], "distortion": 0.5}, {"unigrams": [1, 2, 3], "num_reserved_ids": 1}, {"unigrams": [1, 2, 3, 4, 5, 6, 7, 8], "num_shards": 2, "shard": 1}]:
        names = {"num_reserved_ids": "numReservedIds", "num_shards": "numShards"}
        options = {names.get(k, k): v for k, v in more.items()}
        case("expected.fixedUnigramCandidateSampler", lambda t: random.fixed_unigram_candidate_sampler(t, 2, 4, False, 4, **more)[1], [truth], ours=[t, 2, 4, False, 4, options])
    for truth, drawn in [([[1, 2], [0, 3]], [2, 3, 9, 2]), ([[4, 4]], [4, 1]), ([[1, 2]], [5])]:
        truth, drawn = np.int64(truth), np.int64(drawn)
        case("nn.computeAccidentalHits", lambda t, d: tf.nn.compute_accidental_hits(t, d, 2), [truth, drawn], ours=[tf.constant(truth), tf.constant(drawn), 2])


def generators():
    for seed in [1, 2**40 + 7]:
        for dtype in ["int32", "int64", "float32", "float64"]:
            g = tf.random.Generator.from_seed(seed)
            call = lambda: g.binomial([2, 3], [5.0, 30, 4000], [0.3, 0.9, 0.01], tf.as_dtype(dtype))
            case("binomial", lambda: [call(), call(), g.state.read_value()], [], ours=[seed, [2, 3], [5, 30, 4000], [0.3, 0.9, 0.01], dtype])


def compressed():
    for text in [b"", b"hello " * 50]:
        for kind, data in [("ZLIB", zlib.compress(text)), ("GZIP", gzip.compress(text)), ("GZIP", gzip.compress(text or b"y") + gzip.compress(b"x")), ("", b"ascii")]:
            case("compressed", lambda x: tf.io.decode_compressed(tf.io.decode_base64(x), kind), [tf.io.encode_base64([data])], ours=[tf.io.encode_base64([data]), kind])


def write():
    for part in [distances, fingerprints, formats, matrices, draws, classes, generators, compressed]:
        part()
