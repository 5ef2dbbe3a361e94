"""Models of the usual kinds; see models_test.ts."""

import keras
import tensorflow as tf

from registry import Adam, mean_square, minimize, minimizing, program

O = keras.optimizers


def dense(x, w, b):
    return x @ w + b


def cross_entropy(labels, logits):
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


def classifier(v, xs):
    logits = dense(tf.nn.relu(dense(xs["x"], v["w1"], v["b1"])), v["w2"], v["b2"])
    right = tf.equal(tf.argmax(logits, 1, tf.int32), xs["y"])
    return cross_entropy(xs["y"], logits), {"accuracy": tf.reduce_mean(tf.cast(right, tf.float32))}


minimizing(
    "a classifier of two layers, with its accuracy",
    {"w1": [4, 6], "b1": [6], "w2": [6, 3], "b2": [3]},
    {"x": [7, 4], "y": {"shape": [7], "below": 3}},
    lambda: Adam(0.05),
    classifier,
)


def cnn(v, xs):
    h = tf.nn.relu(tf.nn.conv2d(xs["x"], v["k1"], 1, "SAME") + v["b1"])
    g = tf.nn.relu(tf.nn.conv2d(tf.nn.max_pool2d(h, 2, 2, "VALID"), v["k2"], 2, "VALID"))
    return cross_entropy(xs["y"], dense(tf.reshape(g, [-1, 16]), v["w"], v["b"]))


minimizing(
    "a small convolutional network",
    {"k1": [3, 3, 1, 3], "b1": [3], "k2": [2, 2, 3, 4], "w": [16, 2], "b": [2]},
    {"x": [2, 8, 8, 1], "y": {"shape": [2], "below": 2}},
    lambda: O.SGD(0.1, 0.9),
    cnn,
)


def normalize(x, mean, variance, beta, gamma):
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)


def dense_batch_norm(v, xs):
    before = normalize(xs["x"] @ v["w"], v["mean"], v["variance"], v["beta"], v["gamma"])
    h = xs["x"] @ v["w"]
    mean, variance = tf.nn.moments(h, [0])
    v["mean"].assign(v["mean"] * 0.9 + mean * 0.1)
    v["variance"].assign(v["variance"] * 0.9 + variance * 0.1)
    y = normalize(h, mean, variance, v["beta"], v["gamma"])
    return mean_square(y - xs["y"]), {"before": before}


minimizing(
    "a dense layer with batch norm and moving averages",
    {
        "w": [3, 4],
        "gamma": {"shape": [4], "offset": 1, "scale": 0.2},
        "beta": [4],
        "mean": {"values": [0, 0, 0, 0]},
        "variance": {"values": [1, 1, 1, 1]},
    },
    {"x": {"shape": [6, 3], "scale": 2}, "y": [6, 4]},
    lambda: O.SGD(0.1),
    dense_batch_norm,
    only=["w", "gamma", "beta"],
)


def conv_batch_norm(v, xs):
    h = tf.nn.conv2d(xs["x"], v["k"], 1, "SAME")
    mean, variance = tf.nn.moments(h, [0, 1, 2])
    return mean_square(tf.nn.relu(normalize(h, mean, variance, v["beta"], v["gamma"])) - xs["y"])


minimizing(
    "a convolution with batch norm over images",
    {"k": [3, 3, 2, 3], "gamma": {"shape": [3], "offset": 1, "scale": 0.2}, "beta": [3]},
    {"x": {"shape": [2, 5, 5, 2], "scale": 2}, "y": [2, 5, 5, 3]},
    lambda: Adam(0.05),
    conv_batch_norm,
)


def attention(v, xs):
    def heads(x):
        return tf.transpose(tf.reshape(x, [2, 4, 2, 3]), [0, 2, 1, 3])

    x = xs["x"]
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    q, k, w = tf.split(normalize(x, mean, variance, v["beta"], v["gamma"]) @ v["qkv"], 3, -1)
    scores = tf.matmul(heads(q), heads(k), transpose_b=True) / tf.sqrt(3.0)
    mixed = tf.nn.softmax(scores) @ heads(w)
    h = x + tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [2, 4, 6]) @ v["out"]
    return mean_square(h + tf.nn.gelu(h @ v["up"]) @ v["down"] - xs["y"])


minimizing(
    "an attention block",
    {
        "qkv": [6, 18],
        "out": [6, 6],
        "gamma": {"shape": [6], "offset": 1, "scale": 0.2},
        "beta": [6],
        "up": [6, 8],
        "down": [8, 6],
    },
    {"x": [2, 4, 6], "y": [2, 4, 6]},
    lambda: O.AdamW(0.01, 0.1),
    attention,
)


def language_model(v, xs):
    x = tf.gather(v["table"], xs["tokens"]) + v["place"]
    q, k, w = x @ v["q"], x @ v["k"], x @ v["w"]
    scores = tf.matmul(q, k, transpose_b=True) / 2.0
    scores = tf.where(tf.linalg.band_part(tf.ones([6, 6]), -1, 0) > 0, scores, -1e9)
    logits = tf.einsum("btd,vd->btv", tf.nn.softmax(scores) @ w + x, v["table"])
    return cross_entropy(xs["tokens"][:, 1:], logits[:, :5])


minimizing(
    "a causal language model over embeddings",
    {"table": [5, 4], "place": [6, 4], "q": [4, 4], "k": [4, 4], "w": [4, 4]},
    {"tokens": {"shape": [2, 6], "below": 5}},
    lambda: Adam(0.02),
    language_model,
)

minimizing(
    "embeddings with repeated rows",
    {"table": [6, 3], "w": [3, 2]},
    {"ids": {"values": [1, 4, 1, 1, 0, 4], "dtype": "int32"}, "y": [6, 2]},
    lambda: O.Adagrad(0.1, 0.1, epsilon=1e-7),
    lambda v, xs: mean_square(tf.gather(v["table"], xs["ids"]) @ v["w"] - xs["y"]),
)


def vae(v, xs):
    h = tf.tanh(xs["x"] @ v["enc"])
    mean, log_scale = h @ v["toMean"], h @ v["toScale"]
    logits = (mean + tf.exp(log_scale) * xs["noise"]) @ v["dec"]
    likely = tf.nn.sigmoid_cross_entropy_with_logits(labels=xs["x"], logits=logits)
    divergence = tf.square(mean) + tf.exp(2 * log_scale) - 1 - 2 * log_scale
    return tf.reduce_mean(tf.reduce_sum(likely, 1) + 0.5 * tf.reduce_sum(divergence, 1))


minimizing(
    "a variational autoencoder with noise that is fed",
    {"enc": [5, 4], "toMean": [4, 2], "toScale": [4, 2], "dec": [2, 5]},
    {"x": {"shape": [3, 5], "offset": 0.5}, "noise": {"shape": [3, 2], "scale": 1}},
    lambda: Adam(0.02),
    vae,
)


@program(
    "a generator against a discriminator",
    {"g1": [2, 4], "g2": [4, 3], "d1": [3, 4], "d2": [4, 1]},
    {"real": {"shape": [4, 3], "offset": 1}, "noise": [4, 2]},
)
def gan(v):
    for_g, for_d = Adam(0.02, 0.5), Adam(0.02, 0.5)
    g, d = [v["g1"], v["g2"]], [v["d1"], v["d2"]]
    for_g.build(g)
    for_d.build(d)

    def generate(z):
        return tf.nn.relu(z @ v["g1"]) @ v["g2"]

    def judge(x):
        return tf.nn.leaky_relu(x @ v["d1"], 0.2) @ v["d2"]

    def step(xs):
        real, z = xs["real"], xs["noise"]
        cost = minimize(
            for_d,
            lambda: tf.reduce_mean(tf.nn.softplus(-judge(real)))
            + tf.reduce_mean(tf.nn.softplus(judge(generate(z)))),
            d,
        )
        g_cost = minimize(for_g, lambda: tf.reduce_mean(tf.nn.softplus(-judge(generate(z)))), g)
        return {"d": cost, "g": g_cost}

    return step


def two_layers(v, xs):
    return mean_square(dense(tf.tanh(dense(xs["x"], v["w1"], v["b1"])), v["w2"], v["b2"]) - xs["y"])


TWO_LAYERS = {"w1": [3, 4], "b1": [4], "w2": [4, 2], "b2": [2]}, {"x": [5, 3], "y": [5, 2]}
for name in ["frozen layers, by trainable = false", "frozen layers, by a list"]:
    minimizing(name, *TWO_LAYERS, lambda: Adam(0.1), two_layers, only=["w2", "b1"])

minimizing(
    "an autoencoder with tied weights",
    {"w": [5, 3], "b": [3], "c": [5]},
    {"x": [4, 5]},
    lambda: O.RMSprop(0.01, 0.9, epsilon=1e-3),
    lambda v, xs: mean_square(
        tf.matmul(tf.sigmoid(dense(xs["x"], v["w"], v["b"])), v["w"], transpose_b=True)
        + v["c"]
        - xs["x"]
    ),
)


def separable(v, xs):
    h = tf.nn.relu6(tf.nn.separable_conv2d(xs["x"], v["d1"], v["p1"], [1, 2, 2, 1], "SAME"))
    h = tf.nn.depthwise_conv2d(h, v["d2"], [1, 1, 1, 1], "SAME")
    return mean_square(tf.reduce_mean(h, [1, 2]) @ v["w"] - xs["y"])


minimizing(
    "separable convolutions and a global average",
    {"d1": [3, 3, 2, 2], "p1": [1, 1, 4, 3], "d2": [3, 3, 3, 1], "w": [3, 2]},
    {"x": [2, 6, 6, 2], "y": [2, 2]},
    lambda: O.SGD(0.5),
    separable,
)

minimizing(
    "a transposed convolution that undoes a convolution",
    {"down": [3, 3, 1, 3], "up": [3, 3, 1, 3]},
    {"x": [2, 6, 6, 1]},
    lambda: Adam(0.05),
    lambda v, xs: mean_square(
        tf.nn.conv2d_transpose(
            tf.nn.elu(tf.nn.conv2d(xs["x"], v["down"], 2, "SAME")), v["up"], [2, 6, 6, 1], 2, "SAME"
        )
        - xs["x"]
    ),
)


def contrastive(v, xs):
    def embed(x):
        y = x @ v["w"]
        return y / tf.norm(y, axis=1, keepdims=True)

    alike = tf.matmul(embed(xs["a"]), embed(xs["b"]), transpose_b=True) / 0.5
    return tf.reduce_mean(tf.reduce_logsumexp(alike, 1) - tf.linalg.diag_part(alike))


minimizing(
    "a contrastive loss over normalized rows",
    {"w": [4, 3]},
    {"a": [5, 4], "b": [5, 4]},
    lambda: O.SGD(0.1),
    contrastive,
)


def experts(v, xs):
    x = xs["x"]
    values, indices = tf.math.top_k(tf.nn.softmax(x @ v["gate"]), 1)
    y = values * tf.where(tf.equal(indices, 0), x @ v["one"], x @ v["two"])
    return mean_square(y - xs["y"])


minimizing(
    "two experts and a gate that takes the better one",
    {"gate": [3, 2], "one": [3, 2], "two": [3, 2]},
    {"x": {"shape": [6, 3], "scale": 1}, "y": [6, 2]},
    lambda: O.SGD(0.2),
    experts,
)


def all_losses(v, xs):
    losses = tf.compat.v1.losses
    y, weights = xs["y"], xs["weights"]
    p = xs["x"] @ v["w"]
    return tf.add_n(
        [
            losses.absolute_difference(y, p, weights),
            losses.cosine_distance(y, p, 1, weights),
            losses.hinge_loss(y, p, weights),
            losses.huber_loss(y, p, weights, 0.5),
            losses.log_loss(y, tf.sigmoid(p), weights),
            losses.mean_squared_error(y, p, weights),
            losses.sigmoid_cross_entropy(y, p, weights, 0.1),
            losses.softmax_cross_entropy(tf.nn.softmax(y), p, tf.reshape(weights, [5]), 0.1),
        ]
    )


minimizing(
    "every loss of tf.losses at once",
    {"w": [4, 3]},
    {
        "x": {"shape": [5, 4], "scale": 1},
        "y": {"shape": [5, 3], "scale": 0.45, "offset": 0.5},
        "weights": {"shape": [5, 1], "offset": 1},
    },
    lambda: O.SGD(0.1),
    all_losses,
)


def crops(v, xs):
    # tf.image.resize would smooth nothing here: the image grows.
    large = tf.image.resize(v["image"], [7, 7], "bilinear")
    return mean_square(tf.nn.avg_pool2d(large[:, 1:, :6], 2, 2, "VALID") - xs["y"])


minimizing("crops of resized images", {"image": [1, 4, 4, 2]}, {"y": [1, 3, 3, 2]}, lambda: O.SGD(2.0), crops)
