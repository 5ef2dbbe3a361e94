"""A cluster of TensorFlow's own servers: as many tasks as the first argument says, in this process, until its input ends."""
import json
import math
import socket
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops


def sinh(x):
    return np.float32(2 * math.sinh(x))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# The registry keeps no function alive.
script_ops._py_funcs._funcs["test.sinh2@1"] = sinh
cluster = {"worker": [f"127.0.0.1:{free_port()}" for _ in range(int(sys.argv[1]))]}
servers = [
    tf.distribute.Server(cluster, job_name="worker", task_index=i)
    for i in range(len(cluster["worker"]))
]
print(json.dumps({"targets": [server.target for server in servers]}), flush=True)
sys.stdin.read()
