"""Models that Keras 3 has saved, with what it predicts and how its loss falls in ten steps: fixtures/NAME.keras, NAME.h5.gz and
NAME.json.

usage: python tests/tfjs_core/keras/make_keras_fixtures.py [NAME...]
"""
import gzip
import json
import os
import sys
import zipfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L, ops

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(0)


def noise(*shape):
    return random.normal(size=shape).astype(np.float32)


def tensor(array):
    return tf.constant(array.tolist()) if array.dtype == object else array


def words(*shape):
    return random.randint(0, 9, shape).astype(np.int32)


def mlp():
    known = L.Normalization()
    known.adapt(noise(50, 6) * 3 + 1)
    return keras.Sequential([
        keras.Input((6,)),
        known,
        L.Rescaling(2.0, offset=0.5),
        L.Dense(5, activation="relu", kernel_regularizer=keras.regularizers.L2(0.01)),
        L.BatchNormalization(),
        L.Dropout(0.0),
        L.Dense(4, activation="hard_sigmoid", use_bias=False, kernel_constraint="max_norm"),
        L.Dense(3, activation="softmax"),
    ]), [noise(4, 6)]


def unbuilt():
    model = keras.Sequential([L.Dense(4, activation="gelu"), L.Dense(2)])
    model(noise(1, 5))
    return model, [noise(4, 5)]


def cnn():
    return keras.Sequential([
        keras.Input((8, 8, 2)),
        L.Resizing(9, 7),
        L.ZeroPadding2D(1),
        L.Conv2D(4, 3, strides=2, padding="same", activation="silu"),
        L.BatchNormalization(),
        L.DepthwiseConv2D(3, padding="same", depth_multiplier=2),
        L.LeakyReLU(negative_slope=0.1),
        L.SeparableConv2D(3, 2, activation="relu6"),
        L.ReLU(negative_slope=0.2, max_value=4.0, threshold=0.1),
        L.Conv2DTranspose(2, 3, strides=2, padding="same"),
        L.UpSampling2D(2, interpolation="bilinear"),
        L.Cropping2D(1),
        L.MaxPooling2D(2),
        L.AveragePooling2D(2),
        L.Flatten(),
        L.Dense(2),
    ]), [noise(4, 8, 8, 2)]


def branches():
    a, b = keras.Input((5,), name="left_side"), keras.Input((5,), name="right_side")
    x, y = L.Dense(4, activation="tanh")(a), L.Dense(4, activation="elu")(b)
    merged = [
        L.Add()([x, y]),
        L.Subtract()([x, y]),
        L.Multiply()([x, y]),
        L.Average()([x, y]),
        L.Maximum()([x, y]),
        L.Minimum()([x, y]),
        L.Dot(axes=1)([x, y]),
    ]
    z = L.Concatenate()(merged)
    z = L.Softmax()(L.Dense(3)(L.PReLU()(z)))
    return keras.Model([a, b], z), [noise(4, 5), noise(4, 5)]


def nested():
    inner = keras.Sequential([keras.Input((4,)), L.Dense(4, activation="selu"), L.Dense(3)], name="inner")
    i = keras.Input((4,))
    middle = keras.Model(i, L.Concatenate()([inner(i), i]), name="middle")
    x = keras.Input((4,))
    once = middle(x)
    twice = middle(once[:, 2:6])
    return keras.Model(x, [L.Dense(2, name="out")(L.Add()([once, twice]))]), [noise(4, 4)]


def recurrent():
    x = keras.Input((6, 4))
    y = L.LSTM(5, return_sequences=True)(x)
    y = L.Bidirectional(L.GRU(3, return_sequences=True))(y)
    y = L.TimeDistributed(L.Dense(4, activation="relu"))(y)
    y = L.GRU(4, reset_after=False, return_sequences=True, recurrent_activation="hard_sigmoid")(y)
    y = L.RNN([L.GRUCell(3), L.LSTMCell(4)], return_sequences=True)(y)
    y = L.Bidirectional(L.LSTM(2), merge_mode="sum")(y)
    return keras.Model(x, L.Dense(2)(y)), [noise(3, 6, 4)]


def seq2seq():
    source, target = keras.Input((5, 3)), keras.Input((4, 2))
    _, h, c = L.LSTM(4, return_state=True)(source)
    y = L.LSTM(4, return_sequences=True)(target, initial_state=[h, c])
    _, state = L.GRU(4, return_state=True)(y)
    y = L.GRU(4, return_sequences=True, go_backwards=True)(y, initial_state=state)
    return keras.Model([source, target], L.Dense(2)(y)), [noise(3, 5, 3), noise(3, 4, 2)]


def transformer():
    tokens = keras.Input((7,), dtype="int32")
    e = L.Embedding(10, 6)(tokens)
    x = L.LayerNormalization()(e + L.MultiHeadAttention(2, 3)(e, e, use_causal_mask=True))
    x = x * 2.0 - L.Dense(6, activation="gelu")(x)
    x = L.MultiHeadAttention(2, 3, value_dim=4, use_bias=False)(x, e, key=e)
    return keras.Model(tokens, L.Dense(2)(L.GlobalAveragePooling1D()(x))), [words(3, 7)]


def masked():
    tokens = keras.Input((7,), dtype="int32")
    e = L.Embedding(10, 6, mask_zero=True)(tokens)
    x = L.MultiHeadAttention(2, 3)(e, e)
    x = L.Bidirectional(L.GRU(3))(x)
    return keras.Model(tokens, L.Dense(2)(x)), [words(3, 7)]


def crossed():
    tokens, steps = keras.Input((4,), dtype="int32"), keras.Input((5, 3))
    e = L.Embedding(10, 6, mask_zero=True)(tokens)
    f = L.LayerNormalization()(L.Dense(6)(L.Masking()(steps)))
    x = L.MultiHeadAttention(2, 3)(e, f)
    y = L.MultiHeadAttention(2, 3)(L.Embedding(10, 6)(tokens), L.Add()([f, L.Dense(6)(f)]), key=L.Concatenate()([f, L.Dense(2)(f)]))
    pooled = [L.GlobalAveragePooling1D()(t) for t in (x, y)]
    given = noise(3, 5, 3)
    given[0, 3:] = given[1, 1:] = 0
    return keras.Model([tokens, steps], L.Dense(2)(L.Concatenate()(pooled))), [
        np.array([[1, 2, 0, 0], [3, 4, 5, 0], [6, 7, 8, 9]], np.int32),
        given,
    ]


def activations():
    x = keras.Input((4,))
    names = """elu selu relu relu6 linear sigmoid hard_sigmoid softplus softsign tanh softmax log_softmax gelu mish silu leaky_relu
    exponential celu hard_tanh log_sigmoid squareplus hard_silu""".split()
    return keras.Model(x, L.Concatenate()([L.Dense(2, activation=a)(x) for a in names])), [noise(3, 4)]


def operations():
    x = keras.Input((4, 6))
    y = ops.transpose(x, (0, 2, 1)) / 2.0 + 1.0
    y = ops.concatenate([y, 1.0 - ops.square(y)], axis=-1)
    z = ops.mean(y, axis=[1], keepdims=True) + ops.max(y, axis=1, keepdims=True)
    y = ops.tanh(y * z) ** 2
    y = ops.reshape(y, (-1, 48))[:, ::2]
    y = ops.stack([ops.exp(-y), ops.maximum(y, 0.1)], axis=1)
    y = ops.matmul(y, ops.transpose(y, (0, 2, 1))) / 24.0
    return keras.Model(x, L.Dense(2)(L.Flatten()(ops.squeeze(ops.expand_dims(y, 1), 1)))), [noise(3, 4, 6)]


def normalized():
    x = keras.Input((8, 4))
    y = L.Conv1D(6, 3, padding="causal", activation="relu")(x)
    y = L.GroupNormalization(groups=2)(y)
    y = L.ZeroPadding1D((1, 2))(L.UpSampling1D(2)(y))
    y = L.RMSNormalization()(L.Cropping1D((1, 2))(y))
    y = L.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d", activation="tanh")(y)
    y = L.UnitNormalization()(L.LayerNormalization(center=False)(y))
    y = L.MaxPooling1D(2)(L.AveragePooling1D(2)(y))
    y = L.Identity()(L.Permute((2, 1))(L.Reshape((4, 5))(y)))
    return keras.Model(x, L.Dense(2)(L.GlobalMaxPooling1D()(y))), [noise(3, 8, 4)]


def attended():
    tokens, steps = keras.Input((5,), dtype="int32"), keras.Input((4, 6))
    e = L.Embedding(10, 6, mask_zero=True)(tokens)
    x = L.Attention(use_scale=True)([e, e])
    y = L.Attention(score_mode="concat", use_scale=True)([steps, e])
    y = L.AdditiveAttention()([y, e, L.Dense(6)(e)])
    z = L.Attention()([L.AdditiveAttention(use_scale=False)([steps, y]), steps, y], use_causal_mask=True)
    pooled = [L.GlobalMaxPooling1D()(L.Identity()(t)) for t in (ops.reshape(x, (-1, 5, 6)), y, z)]
    given = np.array([[1, 2, 0, 0, 0], [3, 4, 5, 0, 1], [6, 7, 8, 9, 0]], np.int32)
    return keras.Model([tokens, steps], L.Dense(2)(L.Concatenate()(pooled))), [given, noise(3, 4, 6)]


def grouped():
    tokens = keras.Input((6,), dtype="int32")
    e = L.Embedding(10, 8, mask_zero=True)(tokens)
    x = e + L.GroupQueryAttention(3, 4, 2)(e, e, use_causal_mask=True)
    x = L.GroupQueryAttention(2, 4, 1, use_bias=False, use_gate=True, sliding_window=3)(L.Dense(8)(x), x)
    given = np.array([[1, 2, 3, 0, 0, 0], [3, 4, 5, 2, 1, 6], [6, 7, 8, 9, 0, 0]], np.int32)
    return keras.Model(tokens, L.Dense(2)(ops.reshape(x, (-1, 48)))), [given]


def augmented():
    """Its layers draw other numbers here when they train: losses are not compared."""
    x = keras.Input((7, 8, 3))
    y = L.RandomFlip()(L.CenterCrop(5, 6)(x))
    y = L.RandomContrast(0.5)(L.RandomRotation(0.2)(y))
    y = L.AutoContrast((-3, 3))(y)
    return keras.Model(x, L.Dense(2)(L.Flatten()(y))), [noise(3, 7, 8, 3)]


def framed():
    """Images smaller than what is cut out of them, and resized with their aspect ratios kept."""
    x = keras.Input((6, 8, 3))
    y = L.CenterCrop(9, 8)(x)
    sizes = [{"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.5}]
    parts = [L.Resizing(5, 9, **more)(each) for more in sizes for each in (x, y)]
    parts.append(L.Resizing(5, 9, interpolation="nearest", crop_to_aspect_ratio=True)(x))
    return keras.Model(x, L.Dense(2)(L.GlobalAveragePooling2D()(L.Conv2D(3, 3, activation="tanh")(L.Concatenate()(parts))))), [noise(3, 6, 8, 3)]


def pipelines():
    """Pipelines within a model, twice called, and images whose contrast is equalized."""
    x = keras.Input((9, 10, 2))
    y = L.ContrastLimitedAdaptiveHistogramEqualization((-3, 3), clip_limit=3.0, tile_grid_size=(2, 3))(x)
    known = L.Normalization()
    known.adapt(noise(20, 9, 10, 2) * 2 + 1)
    steps = L.Pipeline([known, L.Rescaling(0.5, offset=0.1), L.Pipeline([L.CenterCrop(6, 7), L.AutoContrast((-2, 2))])])
    z = L.Subtract()([steps(y), steps(x)])
    z = L.MaxNumBoundingBoxes(4)(z)
    return keras.Model(x, L.Dense(2)(L.Flatten()(L.Conv2D(2, 3, activation="tanh")(z)))), [noise(3, 9, 10, 2)]


def reversible():
    """Embeddings that also score their words, by the same weights and by others."""
    x = keras.Input((5,), dtype="int32")
    tied, apart = L.ReversibleEmbedding(9, 4, logit_soft_cap=2.0), L.ReversibleEmbedding(9, 3, tie_weights=False)
    y = L.ActivityRegularization()(L.Dense(4, activation="tanh")(tied(x)))
    scores = tied(y, reverse=True)
    z = L.Concatenate()([scores, apart(L.Dense(3)(apart(x)), reverse=True)])
    return keras.Model(x, [tied(L.Dense(4)(L.GlobalAveragePooling1D()(z)), reverse=True)]), [words(3, 5)]


def spatial():
    x = keras.Input((7, 8, 3))
    y = L.SpatialDropout2D(0.0)(L.Conv2D(4, 3)(L.CenterCrop(5, 6)(x)))
    z = L.Reshape((3, 2, 2, 4))(y)
    z = L.UpSampling3D((1, 2, 1))(L.Cropping3D(((1, 0), (0, 0), (0, 1)))(L.ZeroPadding3D(1)(z)))
    pooled = [L.GlobalAveragePooling3D()(z), L.GlobalMaxPooling3D(keepdims=False)(L.SpatialDropout3D(0.0)(z))]
    s = L.Reshape((12, 4))(y)
    s = L.DepthwiseConv1D(3, depth_multiplier=2, padding="same", activation="tanh")(s)
    s = L.SeparableConv1D(3, 2, strides=2, activation="relu")(s)
    return keras.Model(x, L.Dense(2)(L.Concatenate()([*pooled, L.Flatten()(s)]))), [noise(3, 7, 8, 3)]


def sounds():
    """Spectrograms, whose kernels learn, and a recurrent convolution along frequencies."""
    x = keras.Input((48, 2))
    y = L.STFTSpectrogram(mode="magnitude", frame_length=8, frame_step=4, fft_length=16, expand_dims=True)(x)
    y = L.ConvLSTM1D(3, 2, strides=2, padding="same", return_sequences=True)(y)
    y = L.ConvLSTM1D(2, 3, dilation_rate=1, recurrent_activation="hard_sigmoid", activation="relu", go_backwards=True)(y)
    z = L.STFTSpectrogram(mode="log", frame_length=8, window="hamming", padding="same")(x)
    s = L.STFTSpectrogram(mode="stft", frame_length=16, scaling="spectrum", periodic=True)(x)
    p = L.STFTSpectrogram(mode="psd", frame_length=8, scaling=None)(x)
    m = L.MelSpectrogram(fft_length=16, sequence_stride=6, sequence_length=12, sampling_rate=800, num_mel_bins=5)(L.Flatten()(x[:, :, :1]))
    n = L.MelSpectrogram(fft_length=8, sequence_stride=4, power_to_db=False, mag_exp=1.0, num_mel_bins=3, max_freq=3000)(L.Flatten()(x))
    parts = [L.Flatten()(t) for t in (y, z, s, p / 10.0, m / 50.0, n)]
    return keras.Model(x, L.Dense(2)(L.Concatenate()(parts)) / 8.0), [noise(3, 48, 2)]


def volumes():
    """A recurrent convolution over three axes."""
    x = keras.Input((3, 4, 3, 5, 2))
    y = L.ConvLSTM3D(2, (2, 1, 2), padding="same", use_bias=False, return_sequences=True)(x)
    y = L.ConvLSTM3D(3, 2)(y)
    return keras.Model(x, L.Dense(2)(L.Flatten()(y))), [noise(2, 3, 4, 3, 5, 2)]


def crossings():
    """Crossed categories."""
    a, b, c = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32"), keras.Input((4,))
    e = L.Embedding(20, 3)(L.HashedCrossing(20)([a, b]))
    one = L.HashedCrossing(7, output_mode="one_hot")([b, a])
    return keras.Model([a, b, c], L.Dense(2)(L.Concatenate()([L.Flatten()(e), one, c]))), [words(5, 1), words(5, 1), noise(5, 4)]


def encoded():
    a, b = keras.Input((3,), dtype="int32"), keras.Input((4,))
    parts = [
        L.CategoryEncoding(10)(a),
        L.CategoryEncoding(10, output_mode="count")(a),
        L.Flatten()(L.CategoryEncoding(10, output_mode="one_hot")(a)),
        ops.cast(L.Discretization([-1.0, 0.0, 0.5])(b), "float32"),
        L.Discretization([-1.0, 0.0, 0.5], output_mode="multi_hot")(b),
    ]
    return keras.Model([a, b], L.Dense(2)(L.Concatenate()(parts))), [words(4, 3), noise(4, 4)]


WORDS = ["fooBar", "foo_bar", "Foo", "_x", "don't_know", "é", "日本", "\U0001f600", "cat", "the"]
TEXTS = [["The cat, the fooBar!"], ["  the DOG\tsat\n on\u00a0it 日本  "], [""], ["cat cat; cat é don't_know"]]


def strings(values):
    return np.array(values, dtype=object)


def texts():
    """Vocabularies in the configuration."""
    text, word, number = keras.Input((1,), dtype="string"), keras.Input((3,), dtype="string"), keras.Input((3,), dtype="int32")
    tokens = ["the", "cat", "dog", "dontknow", "é", "日本", "the cat", "cat cat"]
    idf = np.linspace(0.1, 1.5, len(tokens)).tolist()
    embedded = L.Embedding(11, 3, mask_zero=True)(L.TextVectorization(vocabulary=tokens, output_sequence_length=4)(text))
    looked_up = L.StringLookup(vocabulary=WORDS, num_oov_indices=3, mask_token="")(word)
    parts = [
        L.Flatten()(embedded),
        L.Reshape((9,))(L.TextVectorization(vocabulary=tokens, output_mode="tf_idf", idf_weights=idf, ngrams=2)(text)),
        L.Reshape((7,))(L.TextVectorization(vocabulary=list("aet é日"), split="character", standardize="lower", output_mode="count")(text)),
        L.TextVectorization(13, vocabulary=WORDS, split=None, standardize=None, output_mode="multi_hot", pad_to_max_tokens=True)(word),
        ops.cast(L.TextVectorization(vocabulary=WORDS, split=None, standardize="strip_punctuation", ngrams=(2,), output_sequence_length=4)(word), "float32"),
        ops.cast(looked_up, "float32"),
        L.StringLookup(vocabulary=WORDS, output_mode="multi_hot", mask_token="foobar")(word),
        L.Flatten()(L.StringLookup(vocabulary=WORDS, num_oov_indices=2, salt=[3, 4], output_mode="one_hot")(word)),
        L.StringLookup(vocabulary=WORDS, output_mode="count")(L.StringLookup(vocabulary=WORDS, invert=True)(looked_up)),
        L.StringLookup(vocabulary=WORDS[:3], output_mode="tf_idf", idf_weights=[0.5, 1.0, 2.0], max_tokens=6, pad_to_max_tokens=True)(word),
        ops.cast(L.IntegerLookup(vocabulary=[5, -7, 40], mask_token=0, num_oov_indices=2)(number), "float32"),
        L.IntegerLookup(vocabulary=[5, -7, 40], output_mode="count")(number),
        L.IntegerLookup(vocabulary=[5, -7, 40], output_mode="multi_hot", num_oov_indices=3, oov_method="farmhash", salt=9)(number),
        ops.cast(L.IntegerLookup(vocabulary=[0, 2, 5, 6], invert=True)(looked_up), "float32"),
        ops.cast(L.Hashing(5)(word), "float32"),
        ops.cast(L.Hashing(7, mask_value="Foo", salt=[1, 2])(word), "float32"),
        L.Hashing(4, output_mode="count", salt=3)(number),
        L.Hashing(4, output_mode="multi_hot", mask_value=5)(number),
        L.Hashing(3, output_mode="one_hot")(text),
    ]
    given = [
        strings(TEXTS),
        strings([["fooBar", "foo_bar", "Foo"], ["foobar", "", "_x"], ["the", "the", "é"], ["\U0001f600", "日本", "Cat"]]),
        np.array([[5, 0, 40], [-7, -7, 9], [1000000, -3, 5], [41, 0, 0]], np.int32),
    ]
    return keras.Model([text, word, number], L.Dense(2)(L.Concatenate()(parts) / 4.0)), given


def learned():
    """Vocabularies in files of the archive."""
    text, word, number = keras.Input((1,), dtype="string"), keras.Input((2,), dtype="string"), keras.Input((2,), dtype="int32")
    counted = L.TextVectorization(output_mode="tf_idf", max_tokens=9, pad_to_max_tokens=True)
    looked_up = L.StringLookup(mask_token="x", output_mode="multi_hot")
    sequence, numbers = L.TextVectorization(output_sequence_length=3), L.IntegerLookup(output_mode="count")
    rows = ["the cat", "The dog; the cat", "a \u2028b \u3000 \x1c é fooBar"]
    for layer in (counted, sequence):
        layer.adapt(rows)
    looked_up.adapt(["foo_bar", "x", "FooBar", "foo_bar"])
    inner = keras.Sequential([keras.Input((2,), dtype="string"), looked_up], name="inner")
    numbers.adapt([7, 7, 3, -2, 7, 3])
    parts = [
        L.Reshape((9,))(counted(text)),
        ops.cast(sequence(text), "float32"),
        inner(word),
        numbers(number),
    ]
    given = [strings(TEXTS), strings([["foo_bar", "x"], ["FooBar", "q"], ["x", "x"], ["foo_bar", "foo_bar"]]), words(4, 2)]
    return keras.Model([text, word, number], L.Dense(2)(L.Concatenate()(parts))), given


def sentences():
    """No input: its shape alone is known."""
    vectors = L.TextVectorization(max_tokens=6)
    vectors.adapt([row[0] for row in TEXTS])
    model = keras.Sequential([vectors, L.Embedding(6, 4, mask_zero=True), L.GRU(3), L.Dense(2)])
    model(tensor(strings(TEXTS)))
    return model, [strings(TEXTS)]


def adaptive():
    a, b, c = keras.Input((7, 3)), keras.Input((7, 5, 4)), keras.Input((3, 4, 5, 2))
    x = L.Conv2D(4, 1, activation="relu")(b)
    parts = [
        L.AdaptiveAveragePooling1D(3)(L.Dense(3)(a)),
        L.AdaptiveMaxPooling1D(4)(a),
        L.AdaptiveMaxPooling1D(2, data_format="channels_first")(a),
        L.AdaptiveAveragePooling2D((3, 2))(x),
        L.AdaptiveMaxPooling2D(4)(x),
        L.AdaptiveAveragePooling2D((2, 3), data_format="channels_first")(b),
        L.AdaptiveAveragePooling3D(2)(c),
        L.AdaptiveMaxPooling3D((2, 3, 3))(L.Dense(2)(c)),
    ]
    return keras.Model([a, b, c], L.Dense(2)(L.Concatenate()([L.Flatten()(p) for p in parts]) / 8.0)), [
        noise(3, 7, 3), noise(3, 7, 5, 4), noise(3, 3, 4, 5, 2)]


def grouped_convolutions():
    x, y, z = keras.Input((9, 4)), keras.Input((6, 7, 6)), keras.Input((4, 3, 4, 4))
    parts = [
        L.Conv1D(6, 3, groups=2, padding="causal", dilation_rate=2, activation="tanh")(x),
        L.Conv1D(4, 2, groups=4, strides=2, use_bias=False)(x),
        L.Conv2D(9, (3, 2), groups=3, padding="same", strides=(2, 1), activation="relu")(y),
        L.Conv2D(12, 2, groups=6, dilation_rate=(2, 1), kernel_regularizer="l2")(y),
        L.Conv3D(4, 2, groups=2, strides=(2, 1, 1), padding="same")(z),
        L.Conv1DTranspose(5, 3, activation="relu")(x),
        L.Conv1DTranspose(3, 4, strides=3, padding="same", use_bias=False)(x),
        L.Conv1DTranspose(2, 2, strides=3)(x),
        L.Conv1DTranspose(2, 3, strides=2, padding="same", output_padding=0)(x),
        L.Conv1DTranspose(2, 3, strides=2, output_padding=1)(x),
        L.Conv1DTranspose(2, 3, dilation_rate=2, padding="same")(x),
    ]
    return keras.Model([x, y, z], L.Dense(2)(L.Concatenate()([L.Flatten()(p) for p in parts]) / 8.0)), [
        noise(3, 9, 4), noise(3, 6, 7, 6), noise(3, 4, 3, 4, 4)]


def spectral():
    tokens, x = keras.Input((4,), dtype="int32"), keras.Input((6, 5, 2))
    e = L.SpectralNormalization(L.Embedding(10, 3))(tokens)
    y = L.SpectralNormalization(L.Conv2D(4, 3, activation="tanh"), power_iterations=3)(x)
    y = L.SpectralNormalization(L.Dense(3, use_bias=False, kernel_initializer="zeros"))(y)
    z = L.TimeDistributed(L.Dense(2))(L.Reshape((12, 3))(y))
    joined = L.Concatenate()([L.Flatten()(e), L.Flatten()(z)])
    return keras.Model([tokens, x], L.SpectralNormalization(L.Dense(2))(joined)), [words(3, 4), noise(3, 6, 5, 2)]


# Files of Keras 2 hold no learned vocabularies, and the weights of a pipeline's layers without their names.
ARCHIVES = {"learned", "sentences", "pipelines"}
def simple():
    """Simple recurrent cells, activations and noise, of which none is added."""
    x = keras.Input((5, 4))
    y = L.SimpleRNN(4, return_sequences=True, activation="relu")(x)
    y = L.RNN(L.SimpleRNNCell(3, use_bias=False), return_sequences=True, go_backwards=True)(y)
    y = L.GaussianDropout(0.0)(L.GaussianNoise(0.0)(L.AlphaDropout(0.0)(L.SpatialDropout1D(0.0)(y))))
    y = L.ELU(alpha=0.5)(L.Activation("softsign")(L.Dense(3)(y)))
    y = L.RepeatVector(2)(L.Flatten()(y))
    return keras.Model(x, L.Dense(2)(y)), [noise(3, 5, 4)]


def planes():
    """A recurrent convolution over two axes, and whole planes pooled."""
    x = keras.Input((3, 5, 4, 2))
    y = L.ConvLSTM2D(3, 2, return_sequences=True, activation="relu")(x)
    y = L.ConvLSTM2D(2, (2, 1), padding="same", use_bias=False)(y)
    y = L.Concatenate()([L.GlobalAveragePooling2D()(y), L.Flatten()(L.GlobalMaxPooling2D(keepdims=True)(y))])
    return keras.Model(x, L.Dense(2)(y)), [noise(2, 3, 5, 4, 2)]


def solids():
    """Convolutions over three axes transposed, and pooling along them."""
    x = keras.Input((4, 3, 2, 2))
    y = L.Conv3DTranspose(3, (2, 1, 3), strides=(2, 1, 2), padding="same", activation="relu")(x)
    y = L.Conv3DTranspose(2, 2, use_bias=False)(y)
    a = L.AveragePooling3D((2, 2, 1), strides=(2, 1, 2))(y)
    b = L.MaxPooling3D(2, padding="same")(y)
    return keras.Model(x, L.Dense(2)(L.Concatenate()([L.Flatten()(a), L.Flatten()(b)]))), [noise(2, 4, 3, 2, 2)]


MODELS = [mlp, unbuilt, cnn, branches, nested, recurrent, seq2seq, transformer, masked, crossed, activations, operations, normalized, attended, grouped, augmented, spatial, encoded, texts, learned, sentences, adaptive, grouped_convolutions, spectral, sounds, volumes, crossings, pipelines, reversible, simple, planes, solids, framed]


def packed(path):
    """Deflates an archive, which Keras only stores."""
    with zipfile.ZipFile(path) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)


def flat(array):
    if getattr(array, "dtype", None) == object:
        return array.ravel().tolist()
    return [float(f"{v:.7g}") for v in np.asarray(array).ravel()]


os.makedirs(FOLDER, exist_ok=True)
for make in MODELS:
    name = make.__name__
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    keras.utils.set_random_seed(1)
    random.seed(1)
    keras.backend.clear_session()
    model, inputs = make()
    for v in model.trainable_variables:
        v.assign(v + 0.1 * noise(*v.shape))
    model.save(f"{FOLDER}/{name}.keras")
    if name != "unbuilt":
        packed(f"{FOLDER}/{name}.keras")
    if name not in ARCHIVES:
        model.save(f"{FOLDER}/{name}.h5")
        with open(f"{FOLDER}/{name}.h5", "rb") as file, gzip.GzipFile(f"{FOLDER}/{name}.h5.gz", "wb", mtime=0) as out:
            out.write(file.read())
        os.remove(f"{FOLDER}/{name}.h5")
    tensors = [tensor(x) for x in inputs]
    given = tensors[0] if len(inputs) == 1 else tensors
    first = model.predict(given, verbose=0)
    first = np.asarray(first[0] if isinstance(first, list) else first)
    target = noise(*first.shape)
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", run_eagerly=True)
    losses = model.fit(given, target, epochs=10, batch_size=64, shuffle=False, verbose=0).history["loss"]
    after = model.predict(given, verbose=0)
    with open(f"{FOLDER}/{name}.json", "w") as file:
        json.dump(
            {
                "inputs": [{"dtype": "string" if x.dtype == object else str(x.dtype), "shape": x.shape, "values": flat(x)} for x in inputs],
                "shape": first.shape,
                "predicted": flat(first),
                "target": flat(target),
                "losses": flat(losses),
                "after": flat(after[0] if isinstance(after, list) else after),
            },
            file,
        )
    print(name, losses[0], losses[-1])
