"""Writes fixtures/training_*.pb: training graphs of TensorFlow 1 with what six steps of Adam gave, with variables of both kinds."""
import json
import pathlib

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
FOLDER = pathlib.Path(__file__).parent / "fixtures"


def values(*shape, scale):
    """Numbers that any program can make again."""
    n = int(np.prod(shape))
    return (np.sin(np.arange(n) * 12.9898) * scale).reshape(shape).astype(np.float32)


def build(use_resource):
    x = v1.placeholder(tf.float32, [None, 8], "x")
    labels = v1.placeholder(tf.int32, [None], "labels")
    with v1.variable_scope("net", use_resource=use_resource):
        w1 = v1.get_variable("w1", initializer=values(8, 16, scale=0.4))
        b1 = v1.get_variable("b1", initializer=np.zeros(16, np.float32))
        table = v1.get_variable("table", initializer=values(4, 16, scale=0.3))
        w2 = v1.get_variable("w2", initializer=values(16, 4, scale=0.4))
        steps = v1.get_variable("steps", initializer=np.int64(0), trainable=False)
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
    hidden = hidden + tf.gather(table, labels // 2)
    hidden = hidden / (1e-3 + tf.reduce_mean(tf.abs(hidden), axis=-1, keepdims=True))
    logits = tf.matmul(hidden, w2)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
    loss_l2 = tf.add(loss, 1e-3 * (tf.nn.l2_loss(w1) + tf.nn.l2_loss(w2)), name="total")
    optimizer = v1.train.AdamOptimizer(0.02)
    grads = optimizer.compute_gradients(loss_l2)
    clipped, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g, _ in grads], 1.0)
    optimizer.apply_gradients(
        zip(clipped, [v for _, v in grads]), global_step=steps, name="train")
    v1.global_variables_initializer()
    tf.identity(v1.report_uninitialized_variables(), name="uninitialized")
    v1.train.Saver()


def main():
    for use_resource in (False, True):
        with tf.Graph().as_default() as graph:
            build(use_resource)
            x = values(32, 8, scale=1.0)
            labels = (np.arange(32) * 7 % 4).astype(np.int32)
            with v1.Session(graph=graph) as session:
                before = [n.decode() for n in session.run("uninitialized:0")]
                session.run("init")
                losses = []
                for _ in range(6):
                    _, total = session.run(["train", "total:0"], {"x:0": x, "labels:0": labels})
                    losses.append(float(total))
                read = "/Read/ReadVariableOp:0" if use_resource else ":0"
                after = session.run(["net/w2" + read, "net/steps" + read])
            name = f"training_{'resource' if use_resource else 'ref'}"
            (FOLDER / f"{name}.pb").write_bytes(graph.as_graph_def().SerializeToString())
            (FOLDER / f"{name}.json").write_text(json.dumps({
                "uninitialized": before,
                "losses": losses,
                "w2": after[0].flatten().tolist(),
                "steps": int(after[1]),
            }))
            print(name, losses, sorted({n.op for n in graph.as_graph_def().node}))


main()
