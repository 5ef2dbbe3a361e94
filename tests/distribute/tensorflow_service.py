"""TensorFlow's side of tensorflow_test.ts: a dispatcher, and a client that reads the pipelines it is told to.

The arguments are "dispatcher" or "workers", which starts two workers too, or "client"; and the target of a dispatcher, else there is one here.
A line of standard input is a pipeline, a processing mode and a compression, or a pipeline, "together", a number of consumers and
how many elements each reads; the answer is a line of JSON.
"""

import json
import sys
import threading

import tensorflow as tf

service = tf.data.experimental.service
RANGE = tf.data.Dataset.range


def script(token, dtype):
    return lambda x: tf.reshape(tf.raw_ops.PyFunc(input=[x], token=token, Tout=[dtype])[0], [])


PIPELINES = {
    "squares": lambda: RANGE(1000).map(script("test.square@1", tf.int64)).batch(10).unbatch(),
    "strings": lambda: tf.data.Dataset.from_tensor_slices(["a", "bc", "", "gü"])
    .map(script("test.angle@1", tf.string)),
    "repeated": lambda: RANGE(20).repeat(3),
    # 100 MB each, of which the sum is sent back.
    "large": lambda: RANGE(4).map(lambda i: tf.fill([25_000_000], tf.cast(i, tf.float32))),
    "leave": lambda: RANGE(100_000).map(script("test.square@1", tf.int64)),
    "boom": lambda: RANGE(10).map(script("test.boom@1", tf.int64)),
    "pairs": lambda: RANGE(40).map(script("test.same@1", tf.int64)).repeat(),
    "endless": lambda: RANGE(40).repeat(),
    "ends": lambda: RANGE(3),
    "nobody": lambda: RANGE(10).map(script("test.nobody@1", tf.int64)),
}


def plain(name, x):
    if name == "large":
        return int(x.astype("float64").sum())
    return x.decode() if isinstance(x, bytes) else x.tolist()


def say(value):
    print(json.dumps(value), flush=True)


def read(name, mode, compression, target):
    kwargs = {"compression": None} if compression == "none" else {}
    dataset = PIPELINES[name]().apply(
        service.distribute(processing_mode=mode, service=target, **kwargs))
    if name == "leave":
        for i, _ in enumerate(dataset):
            if i == 500:
                say({})
                raise SystemExit
    try:
        return {"elements": [plain(name, x) for x in dataset.as_numpy_iterator()]}
    except tf.errors.OpError as e:
        return {"error": type(e).__name__, "text": str(e)}


def together(name, consumers, count, target):
    """What each of several consumers reads, all at once, of a job in which they read together."""
    read, errors = [[] for _ in range(consumers)], []

    def consume(index):
        dataset = PIPELINES[name]().apply(service.distribute(
            "parallel_epochs", target, job_name=f"together_{name}", consumer_index=index, num_consumers=consumers))
        try:
            read[index] = [plain(name, x) for x in dataset.take(count).as_numpy_iterator()]
        except tf.errors.OpError as e:
            errors.append([type(e).__name__, str(e)])

    threads = [threading.Thread(target=consume, args=[i]) for i in range(consumers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {"read": read, "errors": errors}


def main():
    role, *elsewhere = sys.argv[1:]
    dispatcher = None if elsewhere else service.DispatchServer(service.DispatcherConfig(port=0, protocol="grpc"))
    target = elsewhere[0] if elsewhere else dispatcher.target
    address = target.split("://")[1]
    workers = [] if role != "workers" else [
        service.WorkerServer(service.WorkerConfig(dispatcher_address=address, heartbeat_interval_ms=200))
        for _ in range(2)
    ]
    say({"target": target})
    for line in sys.stdin:
        name, mode, *more = line.split()
        if mode == "together":
            say(together(name, *map(int, more), target))
        else:
            say(read(name, mode, *more, target))
    del workers


main()
