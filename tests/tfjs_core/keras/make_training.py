"""Writes fixtures/training.json: losses and weights that Keras gives to layers with penalties and to recurrent ones in training."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np

L = keras.layers


def numbers(shape, k=0):
    count = int(np.prod(shape))
    return (((np.arange(count) * 37 + 11 * k) % 101) / 100 - 0.5).reshape(shape).astype("float32")


def gru(**settings):
    return [L.GRU(3, name="a", **settings), L.Dense(2, name="b")], (4, 2)


MODELS = {
    "GRU": gru(),
    "GRU, apart": gru(implementation=1),
    "GRU, without biases": gru(use_bias=False, return_sequences=True, go_backwards=True),
    "GRU in a cell": ([L.RNN(L.GRUCell(3, name="c"), name="a"), L.Dense(2, name="b")], (4, 2)),
    "penalty": ([L.Dense(3, name="a"), L.ActivityRegularization(0.25, 0.5, name="r"), L.Dense(2, name="b")], (3,)),
    "penalty of l1 of sequences": ([L.Dense(3, name="a"), L.ActivityRegularization(0.25, name="r"), L.Dense(2, name="b")], (4, 3)),
    "penalty at the end": ([L.Dense(2, name="a"), L.ActivityRegularization(l2=0.5, name="r")], (3,)),
    "GRU and penalty": ([L.GRU(3, name="a", return_sequences=True), L.ActivityRegularization(0.1, 0.2, name="r"),
                         L.GRU(2, name="b")], (4, 2)),
}
out = {}
for name, (layers, shape) in MODELS.items():
    model = keras.Sequential([L.Input(shape, name="x"), *layers], name="m")
    model.set_weights([numbers(w.shape, k) for k, w in enumerate(model.get_weights())])
    model.compile(optimizer=keras.optimizers.SGD(0.25), loss="mean_squared_error")
    x, y = numbers((6, *shape), 5), numbers((6, *model.output_shape[1:]), 7)
    losses = [float(model.fit(x, y, batch_size=6, shuffle=False, verbose=0).history["loss"][0]) for _ in range(4)]
    out[name] = {
        "model": json.loads(model.to_json()),
        "losses": losses,
        "weights": [[float(f"{v:.7g}") for v in w.reshape(-1)] for w in model.get_weights()],
    }
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "training.json")
with open(path, "w") as f:
    f.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}\n")
