"""Writes tensorflow.json: what TensorFlow 2.21 makes, on the CPU, of special values and of the examples in DIFFERENCES.md.

Run with a Python that has TensorFlow 2.21 and Keras 3: python tests/differences/write_tensorflow.py
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

np.seterr(all="ignore")
inf, nan = float("inf"), float("nan")
raw = tf.raw_ops

NUMPY = {t: getattr(np, t) for t in (
    "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64"
).split()} | {"bool": np.bool_, "bfloat16": ml_dtypes.bfloat16}
WHOLE = [t for t in NUMPY if "int" in t]

ONES = [nan, -inf, inf, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, -3.0, 1e30, -1e30, 16777218.0]
PAIRED = [nan, -inf, inf, -0.0, 0.0, 1.0, -1.0, 0.5, 2.5, -3.0, 3e38]
CASTS = [nan, -inf, inf, -0.0, 0.0, 0.5, -0.5, 1.9, -1.9, 127.9, 128, 255.9, 256, 300, -128.9, -129, -300,
         32768, 65536, 70000, -40000, 2147483520, 2147483648, 4294967040, 4294967296, 5e9, -2147483648, -5e9,
         9.2e18, 9.3e18, 1.9e19, -9.3e18, 1e30, -1e30]
CUT = [-2**63, -2**40 - 3, -2**31, -40000, -300, -129, -1, 0, 1, 127, 128, 255, 256, 32768, 65536,
       2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**64 - 1]
INTEGERS = {"int32": [-2**31, -2**31 + 1, -7, -2, -1, 0, 1, 2, 5, 2**31 - 1],
            "int64": [-2**63, -7, -1, 0, 1, 2, 5, 2**63 - 1],
            "uint8": [0, 1, 2, 7, 128, 255]}
COMPLEX = [0, complex(-0.0, 0.0), 1, -1, 1j, -1j, 1 + 1j, -2 + .5j, complex(nan, 0), complex(inf, 0), complex(0, inf)]
ROWS = [[nan, 1, 2], [1, nan, 2], [1, 2, nan], [inf, 1, 2], [-inf, 1, 2], [inf, -inf, 1], [-0.0, 0.0, -0.0],
        [0.0, -0.0, 0.0], [-0.0, -0.0, -0.0], [nan, inf, -inf], [nan, nan, nan], [inf, inf, inf],
        [-inf, -inf, -inf], [0.0, inf, 1], [3e38, 3e38, -3e38]]

UNARY = ("Neg Abs Sign Floor Ceil Round Exp Expm1 Log Log1p Erf Sqrt Rsqrt Reciprocal Square Sin Cos Tan Asin Acos "
         "Atan Sinh Cosh Asinh Acosh Atanh Tanh Sigmoid IsNan IsInf IsFinite").split()
FEATURES = "Softplus Softsign Relu Relu6 Elu Selu LeakyRelu".split()
BINARY = ("AddV2 Sub Mul RealDiv DivNoNan FloorDiv FloorMod TruncateMod Maximum Minimum Pow SquaredDifference Xlogy "
          "Xdivy Atan2 Equal NotEqual Less LessEqual Greater GreaterEqual").split()
SLOPES = {"SqrtGrad": ("y", "dy"), "RsqrtGrad": ("y", "dy"), "ReciprocalGrad": ("y", "dy"), "TanhGrad": ("y", "dy"),
          "SigmoidGrad": ("y", "dy")} | {
    op: ("gradients", "features") for op in "ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad".split()} | {
    op: ("gradients", "outputs") for op in ("EluGrad", "SeluGrad")}
WHOLE_UNARY = "Neg Abs Sign Square Invert".split()
WHOLE_BINARY = ("AddV2 Sub Mul FloorDiv FloorMod TruncateDiv TruncateMod Div Maximum Minimum Pow SquaredDifference "
                "Equal Less LessEqual GreaterEqual BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift").split()
COMPLEX_UNARY = ("Neg Sign Sqrt Rsqrt Reciprocal Square Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh "
                 "Asinh Acosh Atanh Sigmoid").split()


def text(value, dtype):
    """A number as the shortest text that the dtype reads back."""
    if dtype == "bool":
        return str(int(value))
    if dtype.startswith("complex"):
        return f"{text(value.real, 'float32')},{text(value.imag, 'float32')}"
    if "int" in dtype:
        return str(int(value))
    number = float(value)
    if number != number:
        return "NaN"
    if abs(number) == inf:
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0" if np.signbit(number) else "0"
    short = repr(number) if dtype == "float64" else str(np.float32(number))
    return short[:-2] if short.endswith(".0") else short


def array(values, dtype, shape=None):
    made = np.array(values, dtype=NUMPY[dtype]) if "int" in dtype else np.array(values).astype(NUMPY[dtype])
    return made if shape is None else made.reshape(shape)


def described(a):
    name = a.dtype.name
    return {"dtype": name, "shape": list(a.shape), "values": " ".join(text(v, name) for v in a.ravel())}


arrays, cases = [], []


def numbered(a):
    """The place of an array among those that cases are fed."""
    entry = described(a)
    if entry not in arrays:
        arrays.append(entry)
    return arrays.index(entry)


def add(op, inputs, run, attrs=None):
    with tf.device("/CPU:0"):
        output = run(*[tf.constant(a) for a in inputs]).numpy()
    cases.append({"op": op, "attrs": attrs or {}, "inputs": [numbered(a) for a in inputs], "output": described(output)})


def named(op, names):
    return lambda *xs: getattr(raw, op)(**dict(zip(names, xs)))


def sweep():
    for t in ("float32", "float64", "float16", "bfloat16"):
        ones = array(ONES, t)
        for op in UNARY:
            add(op, [ones], named(op, ["x"]))
        for op in FEATURES:
            add(op, [ones], named(op, ["features"]))
        rows = array(ROWS, t)
        for op in "Sum Mean Prod Max Min".split():
            for a in (rows, array([], t, [0, 3])):
                for axis in (0, 1) if a.size else (0,):
                    add(op, [a, array([axis], "int32")], lambda x, i, op=op: getattr(raw, op)(input=x, axis=i))
        for op in "ArgMax ArgMin".split():
            for axis in (0, 1):
                add(op, [rows, array(axis, "int32")],
                    lambda x, i, op=op: getattr(raw, op)(input=x, dimension=i, output_type=tf.int32),
                    {"output_type": "int32"})
        for op in "Cumsum Cumprod".split():
            add(op, [rows, array(1, "int32")], lambda x, i, op=op: getattr(raw, op)(x=x, axis=i))
    n = len(PAIRED)
    for t in ("float32", "float64"):
        a, b = array(PAIRED, t, [n, 1]), array(PAIRED, t, [1, n])
        for op in BINARY if t == "float32" else ("FloorDiv", "FloorMod", "Pow", "Maximum", "Xlogy"):
            add(op, [a, b], named(op, ["y", "x"] if op == "Atan2" else ["x", "y"]))
        for op, names in SLOPES.items():
            add(op, [np.repeat(a.ravel(), n), np.tile(b.ravel(), n)], named(op, names))
        for low, high in ((-1, 1), (nan, 1), (-1, nan), (2, -2), (-0.0, 0.0), (0, inf)):
            add("ClipByValue", [array(ONES, t), array(low, t), array(high, t)],
                named("ClipByValue", ["t", "clip_value_min", "clip_value_max"]))
    for t, values in INTEGERS.items():
        unsigned = t.startswith("u")
        for op in WHOLE_UNARY:
            if not (unsigned and op in ("Neg", "Abs", "Sign")):
                add(op, [array(values, t)], named(op, ["x"]))
        for op in WHOLE_BINARY:
            if unsigned and op in ("TruncateMod", "Pow", "SquaredDifference"):
                continue
            second = [v for v in values if v != 0] if "Div" in op or "Mod" in op else values
            second = [0, 1, 2, 5, 31] if op == "Pow" else [0, 1, 3] if "Shift" in op else second
            add(op, [array(values, t, [-1, 1]), array(second, t, [1, -1])], named(op, ["x", "y"]))
        low, high = np.iinfo(NUMPY[t]).min, np.iinfo(NUMPY[t]).max
        rows = array([[low, 1, 0], [high, 1, 1], [low, high, 2], [7, 0, 5], [low, low, low]], t)
        for op in "Sum Mean Prod Max Min".split():
            add(op, [rows, array([1], "int32")], lambda x, i, op=op: getattr(raw, op)(input=x, axis=i))
    for s in NUMPY:
        if s in WHOLE:
            low, high = np.iinfo(NUMPY[s]).min, np.iinfo(NUMPY[s]).max
            values = np.array([v for v in CUT if low <= v <= high], dtype=NUMPY[s])
        else:
            values = array([0, 1] if s == "bool" else COMPLEX[:8] if s == "complex64" else CASTS, s)
        for d in NUMPY:
            add("Cast", [values], lambda x, d=d: raw.Cast(x=x, DstT=getattr(tf, d)), {"DstT": d})
    z = array(COMPLEX, "complex64")
    for op in COMPLEX_UNARY:
        add(op, [z], named(op, ["x"]))
    for op in "AddV2 Mul RealDiv Pow Equal".split():
        add(op, [z.reshape(-1, 1), z.reshape(1, -1)], named(op, ["x", "y"]))


# Gradients of these at every element of SLOPE_ONES, of pairs from SLOPE_PAIRS, and of rows.
SLOPE_ONES = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 6.0, inf, -inf, nan]
SLOPE_PAIRS = [-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0]
SLOPE_ROWS = [[1.0, 3, 3], [2, 2, 2], [0, 0, 5], [-1, nan, 1], [0, 0, 0]]
GRADIENTS_OF_ONE = {
    "abs": tf.abs, "neg": tf.negative, "sign": tf.sign, "floor": tf.floor, "exp": tf.exp, "expm1": tf.math.expm1,
    "log": tf.math.log, "log1p": tf.math.log1p, "erf": tf.math.erf, "sqrt": tf.sqrt, "rsqrt": tf.math.rsqrt,
    "reciprocal": tf.math.reciprocal, "square": tf.square, "sin": tf.sin, "cos": tf.cos, "tan": tf.tan,
    "asin": tf.asin, "acos": tf.acos, "atan": tf.atan, "sinh": tf.sinh, "cosh": tf.cosh, "asinh": tf.asinh,
    "acosh": tf.acosh, "atanh": tf.atanh, "tanh": tf.tanh, "sigmoid": tf.sigmoid, "softplus": tf.nn.softplus,
    "relu": tf.nn.relu, "relu6": tf.nn.relu6, "elu": tf.nn.elu, "selu": tf.nn.selu,
    "leakyRelu": lambda x: tf.nn.leaky_relu(x, 0.2), "logSigmoid": tf.math.log_sigmoid,
    "pow(x, 0)": lambda x: tf.pow(x, 0.0), "pow(x, 1)": lambda x: tf.pow(x, 1.0), "pow(x, 3)": lambda x: tf.pow(x, 3.0),
    "pow(x, 0.5)": lambda x: tf.pow(x, 0.5), "pow(x, -1)": lambda x: tf.pow(x, -1.0),
    "clipByValue": lambda x: tf.clip_by_value(x, -1.0, 1.0), "maximum(x, 0)": lambda x: tf.maximum(x, 0.0),
    "minimum(x, 1)": lambda x: tf.minimum(x, 1.0), "maximum(x, x)": lambda x: tf.maximum(x, x),
    "xlogy(x, x)": lambda x: tf.math.xlogy(x, x), "divNoNan(1, x)": lambda x: tf.math.divide_no_nan(1.0, x),
    "where(x > 0, sqrt(x), 0)": lambda x: tf.where(x > 0, tf.sqrt(x), 0.0),
    "where(x > 0, rsqrt(x), 0)": lambda x: tf.where(x > 0, tf.math.rsqrt(x), 0.0),
    "where(x != 0, reciprocal(x), 0)": lambda x: tf.where(x != 0, tf.math.reciprocal(x), 0.0),
    "where(x > 0, log(x), 0)": lambda x: tf.where(x > 0, tf.math.log(x), 0.0),
}
GRADIENTS_OF_TWO = {
    "maximum": tf.maximum, "minimum": tf.minimum, "pow": tf.pow, "div": tf.divide, "mul": tf.multiply,
    "divNoNan": tf.math.divide_no_nan, "mod": tf.math.floormod, "atan2": tf.atan2, "xlogy": tf.math.xlogy,
    "xdivy": tf.math.xdivy, "squaredDifference": tf.math.squared_difference,
}
GRADIENTS_OF_ROWS = {
    "max(1)": lambda x: tf.reduce_max(x, 1), "min(1)": lambda x: tf.reduce_min(x, 1),
    "max(0)": lambda x: tf.reduce_max(x, 0), "max()": tf.reduce_max, "min() of three": lambda x: tf.reduce_min(x[:3]),
    "max() of three": lambda x: tf.reduce_max(x[:3]), "prod(1)": lambda x: tf.reduce_prod(x, 1),
    "mean(1)": lambda x: tf.reduce_mean(x, 1), "sum(0)": lambda x: tf.reduce_sum(x, 0),
    "logSumExp(1)": lambda x: tf.reduce_logsumexp(x, 1), "norm(1)": lambda x: tf.norm(x, axis=1),
    "variance(1)": lambda x: tf.math.reduce_variance(x, 1), "cumprod(1)": lambda x: tf.math.cumprod(x, 1),
    "cumsum(1)": lambda x: tf.math.cumsum(x, 1), "softmax": tf.nn.softmax,
}


def slopes():
    found = {}

    def add_slope(name, f, xs, of, dy):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        dx = tape.gradient(y, xs[of], tf.fill(tf.shape(y), dy))
        found[name] = "none" if dx is None else " ".join(text(v, "float32") for v in dx.numpy().ravel())

    ones, rows = tf.constant(SLOPE_ONES), tf.constant(SLOPE_ROWS)
    for name, f in GRADIENTS_OF_ONE.items():
        for dy in (1.0, 0.0):
            add_slope(f"{name}, dy = {dy:g}", f, [ones], 0, dy)
    n = len(SLOPE_PAIRS)
    pair = [tf.repeat(SLOPE_PAIRS, n), tf.tile(SLOPE_PAIRS, [n])]
    for name, f in GRADIENTS_OF_TWO.items():
        for of in (0, 1):
            add_slope(f"{name} of the {('first', 'second')[of]}", f, pair, of, 1.0)
    for name, f in GRADIENTS_OF_ROWS.items():
        add_slope(name, f, [rows], 0, 1.0)
    return found


def shown(value):
    """A result as the table writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (tf.Tensor, tf.Variable, keras.Variable)):
        a = value.numpy()
        return shown(a.tolist() if a.dtype == np.float64 else a)
    if isinstance(value, np.ndarray) and value.ndim == 0 or np.isscalar(value):
        number = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(number, complex):
            return f"[{shown(number.real)}, {shown(number.imag)}]"
        if isinstance(number, int):
            return str(number)
        digits = 6 if isinstance(value, (np.ndarray, np.float32)) else 12
        return text(float(f"{number:.{digits}g}"), "float64")
    return "[" + ", ".join(shown(v) for v in value) + "]"


def failing(run):
    try:
        return run()
    except tf.errors.OpError as error:
        return type(error).__name__
    except (TypeError, NotImplementedError) as error:
        return type(error).__name__


def gradient(f, x, dy):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x, tf.constant(dy))


def second(f, x, weights):
    """The gradient of the gradient along weights."""
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        along = inner.gradient(y, x) * weights
    return outer.gradient(along, x)


def stepped(optimizer):
    w = keras.Variable(1.0)
    optimizer.build([w])
    optimizer.apply_gradients([(2 * w.value, w)])
    return w


def rmsprop_of_tensorflow_1():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        w = tf.compat.v1.get_variable("w", initializer=1.0, use_resource=True)
        step = tf.compat.v1.train.RMSPropOptimizer(0.1, epsilon=1e-7).minimize(w * w)
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(step)
        return session.run(w)


def fetched_slices():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant([1.0, 2.0])
        return type(session.run(tf.gradients(tf.gather(x, [1]), [x])[0])).__name__


def asked_again():
    elements = iter(tf.data.Dataset.range(3).map(lambda x: 6 // x))
    try:
        next(elements)
    except tf.errors.InvalidArgumentError:
        pass
    return next(elements, None) is None


# By the names that the rows of DIFFERENCES.md begin with.
EXAMPLES = {
    "casts": lambda: tf.cast([nan, inf, 3e9, -inf], tf.int32),
    "saturate": lambda: tf.saturate_cast(tf.constant([1e19, -1e19, nan]), tf.int64),
    "zero-sign": lambda: tf.nn.relu(tf.fill([32], -0.0))[:1],
    "subnormal": lambda: tf.multiply([1e-30], 1e-10),
    "relu-gradient": lambda: gradient(tf.nn.relu, [-1.0], [inf]),
    "power-gradient": lambda: gradient(lambda x: tf.pow(x, 0.0), [0.0], [1.0]),
    "cumprod-gradient": lambda: gradient(tf.math.cumprod, [1.0, 0.0, 2.0], [1.0, 1.0, 1.0]),
    "stitch-gradient": lambda: gradient(lambda x: tf.dynamic_stitch([[0, 0]], [x]), [1.0, 2.0], [1.0]),
    "moments-second": lambda: second(lambda x: tf.nn.moments(x, [0])[1], [1.0, 2.0, 4.0], [1.0, 2.0, 6.0]),
    "entropy-second": lambda: second(
        lambda x: tf.nn.softmax_cross_entropy_with_logits(x, x), [[0.0, 0.0]], [[1.0, 2.0]]
    ),
    "resize-second": lambda: second(
        lambda x: tf.compat.v1.image.resize_bilinear(tf.reshape(x, [1, 1, 2, 1]) ** 2, [1, 3]) ** 2,
        [1.0, 2.0],
        [1.0, 2.0],
    ),
    "crop-edge": lambda: tf.reduce_min(
        tf.image.crop_and_resize(tf.ones([1, 60, 60, 1]), [[0.0, 0.0, 1.0, 1.0]], [0], [192, 192])
    ),
    "flat-gradient": lambda: "null" if gradient(tf.floor, [1.5], [1.0]) is None else "a gradient",
    "float-attributes": lambda: tf.nn.leaky_relu(tf.constant([-1.0], tf.float64), 0.2),
    "erf-infinity": lambda: tf.math.erf(tf.constant([inf], tf.float64)),
    "softmax-nan": lambda: tf.nn.softmax([1.0, 2.0, nan, 3.0]),
    "nan-rank": lambda: tf.math.top_k([nan, 1.0, 3.0, 2.0], 2).values,
    "complex-ends": lambda: tf.pow(tf.complex([0.0], [0.0]), tf.complex([0.0], [0.0])),
    "division-by-zero": lambda: failing(lambda: tf.math.floordiv(tf.constant([7]), 0)),
    "negative-power": lambda: failing(lambda: tf.pow(tf.constant([2]), -1)),
    "quotient": lambda: tf.divide(tf.constant([7]), 2),
    "literals": lambda: tf.constant([1, 2]).dtype.name,
    "widening": lambda: failing(lambda: (tf.constant([1]) + tf.constant([0.5])).dtype.name),
    "too-large": lambda: [tf.equal(tf.constant([0]), 2**32), tf.constant(300, tf.uint8)],
    "range": lambda: tf.data.Dataset.range(2).element_spec.dtype.name,
    "random-numbers": lambda: tf.random.stateless_uniform([1], [1, 2]),
    "eager-seed": lambda: bool(tf.reduce_all(
        tf.random.uniform([2], seed=3) == tf.random.uniform([2], seed=3))),
    "learned-sampler": lambda: tf.function(lambda: tf.concat([
        tf.nn.learned_unigram_candidate_sampler(tf.constant([[0]], tf.int64), 1, 1, False, 4, 31)[1]
        for _ in range(2)], 0))(),
    "unicode-script": lambda: tf.strings.unicode_script([0x1df00]),
    "counts": lambda: failing(lambda: tf.data.Dataset.range(3).batch(0)),
    "histogram-range": lambda: failing(lambda: tf.histogram_fixed_width([0.0, 1.0, 2.0], tf.constant([3.0, 1.0]), 4)),
    "cycle": lambda: tf.stack(list(tf.data.Dataset.range(4).interleave(
        lambda i: tf.data.Dataset.from_tensor_slices(tf.stack([i, i]))))),
    "windows": lambda: isinstance(tf.data.Dataset.from_tensor_slices({"a": [1.0], "b": [2.0]}).window(1).element_spec,
                                  tf.data.DatasetSpec),
    "indices": lambda: tf.SparseTensor([[0]], [1.0], [1]).indices.dtype.name,
    "sparse-product": lambda: tf.math.imag(tf.sparse.sparse_dense_matmul(
        tf.complex([[1.0]], [[0.0]]), tf.SparseTensor([[0, 0]], tf.complex([0.0], [1.0]), [1, 1]))),
    "qr-signs": lambda: tf.sign(tf.linalg.qr(tf.constant([[1.0, 2.0], [3.0, 4.0]]))[1]),
    "vector-signs": lambda: tf.linalg.eigh(tf.constant([[2.0, 1.0], [1.0, 3.0]]))[1],
    "vector-phases": lambda: tf.math.imag(tf.linalg.svd(
        tf.complex([[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0], [1.0, 0.0]]))[2]),
    "complex-lstsq": lambda: failing(
        lambda: tf.linalg.lstsq(tf.constant([[1 + 1j]]), tf.constant([[2 + 0j]]), l2_regularizer=1.0)),
    "complex-rank": lambda: failing(
        lambda: tf.linalg.matrix_rank(tf.constant([[1 + 1j, 2 + 2j], [2 + 2j, 4 + 4j]]))),
    "squared-distance": lambda: tf.math.real(gradient(
        lambda x: tf.cast(tf.math.imag(tf.math.squared_difference(x, 0j)), tf.float32), [1 + 2j], [1.0])),
    "iteration": asked_again,
    "slices": fetched_slices,
    "adam": lambda: stepped(keras.optimizers.Adam(0.1, epsilon=1.0)),
    "adadelta": lambda: stepped(keras.optimizers.Adadelta(1.0, rho=0.95, epsilon=1.0)),
    "rmsprop": rmsprop_of_tensorflow_1,
}

if __name__ == "__main__":
    sweep()
    listed = lambda entries: ",\n".join("  " + json.dumps(e) for e in entries)  # noqa: E731
    examples = json.dumps({name: shown(run()) for name, run in EXAMPLES.items()}, indent=2)
    target = pathlib.Path(__file__).with_name("tensorflow.json")
    target.write_text(f'{{\n"examples": {examples},\n"gradients": {json.dumps(slopes(), indent=2)},\n"inputs": [\n{listed(arrays)}\n],\n"cases": [\n{listed(cases)}\n]\n}}\n')
    print(len(cases), "cases,", target.stat().st_size, "bytes")
