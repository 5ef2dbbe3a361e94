"""Writes the partitions into which TensorFlow 2.21 cuts graphs of two tasks: tests run them on two servers of Weft.

Run: python tests/distribute/make_partitions.py
"""

import os
import socket

import tensorflow as tf
from tensorflow.python.ops import script_ops

v1 = tf.compat.v1
v1.disable_eager_execution()
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "partitions")
KEPT = {"test.twice@1": lambda x: x + x}


def free_address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % s.getsockname()[1]


def twice(x):
    """The script, on the other task."""
    with tf.device("/job:script/task:0"):
        y = tf.raw_ops.PyFunc(input=[x], token="test.twice@1", Tout=[x.dtype])[0]
    y.set_shape(x.shape)
    return y


def loop(count, x):
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a + twice(x)), [0, 0.0])[1]


def nested(x):
    def body(i, a):
        b = loop(i, x)
        return i + 1, a + tf.cond(b > 5, lambda: twice(b), lambda: b)

    return tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])[1]


CASES = {
    "plain": lambda x: twice(x * 3) + 1,
    "branch": lambda x: tf.cond(x > 0, lambda: twice(x), lambda: x - 1),
    "loop": lambda x: loop(5, x),
    "nested": nested,
    "loop_in_branch": lambda x: tf.cond(x > 0, lambda: loop(3, x), lambda: x),
}


def main():
    cluster = {job: [free_address()] for job in ("worker", "script")}
    servers = [tf.distribute.Server(cluster, job_name=job, task_index=0) for job in cluster]
    script_ops._py_funcs._funcs.update(KEPT)
    os.makedirs(HERE, exist_ok=True)
    for name, make in CASES.items():
        with tf.Graph().as_default(), v1.Session(servers[0].target) as session:
            with tf.device("/job:worker/task:0"):
                x = v1.placeholder(tf.float32, [], "x")
                y = tf.identity(make(x), "y")
            metadata = v1.RunMetadata()
            options = v1.RunOptions(output_partition_graphs=True)
            values = [float(session.run(y, {x: v}, options, metadata)) for v in (2.0, -3.0)]
            print(name, values)
            for graph in metadata.partition_graphs:
                job = graph.node[0].device.split(":")[1].split("/")[0]
                with open(os.path.join(HERE, f"{name}.{job}.pb"), "wb") as f:
                    f.write(graph.SerializeToString(deterministic=True))


main()
