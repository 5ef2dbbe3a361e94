"""Writes fixtures/mobilenet.pb.gz, a small MobileNet v2 without its last layer, and what ten steps of training that layer lose."""
import gzip
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = pathlib.Path(__file__).parent / "fixtures"


def values(*shape, scale=1.0):
    """Numbers that any program can make again."""
    n = int(np.prod(shape))
    return (np.sin(np.arange(n) * 12.9898) * scale).reshape(shape).astype(np.float32)


def main():
    keras = tf.keras
    keras.utils.set_random_seed(5)
    model = keras.applications.MobileNetV2(
        input_shape=(32, 32, 3), alpha=0.35, include_top=False, pooling="avg", weights=None)
    # Few different weights, so that the file packs well.
    model.set_weights([
        np.round(w * 32) / 32 if w.ndim > 1 else w + np.round(values(*w.shape, scale=0.2) * 32) / 32
        for w in model.get_weights()])
    frozen = convert_variables_to_constants_v2(
        tf.function(lambda x: model(x, training=False)).get_concrete_function(
            tf.TensorSpec([None, 32, 32, 3], tf.float32, name="x")))
    with gzip.GzipFile(FOLDER / "mobilenet.pb.gz", "wb", mtime=0) as file:
        file.write(frozen.graph.as_graph_def().SerializeToString())
    x, labels = tf.constant(values(8, 32, 32, 3)), tf.constant(np.arange(8, dtype=np.int32) % 5)
    features = frozen(x)[0]
    width = features.shape[-1]
    w, b = tf.Variable(values(width, 5, scale=0.05)), tf.Variable(np.zeros(5, np.float32))
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    losses = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            logits = tf.matmul(100 * frozen(x)[0], w) + b
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        losses.append(float(loss))
    (FOLDER / "mobilenet.json").write_text(json.dumps({
        "output": frozen.outputs[0].name,
        "features": features.numpy()[0, :8].tolist(),
        "losses": losses,
    }))
    print(losses, features.shape, float(tf.math.reduce_std(features)))


main()
