"""Writes tensorflow_ctc.json: what TensorFlow's CTC loss and decoders make of random logits."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(11)
out = {"loss": [], "greedy": [], "beam": []}
for steps, batch, classes, most, blank in [(6, 3, 5, 3, 0), (9, 2, 4, 4, -1), (4, 2, 3, 1, 1)]:
    logits = np.round(rng.normal(size=(steps, batch, classes)), 2).astype("float32")
    kinds = [c for c in range(classes) if c != blank % classes]
    labels = rng.choice(kinds, size=(batch, most)).astype("int32")
    label_length = rng.integers(1, most + 1, size=batch).astype("int32")
    logit_length = np.full(batch, steps, "int32")
    logit_length[-1] = steps - 1
    x = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.nn.ctc_loss(labels, x, label_length, logit_length, blank_index=blank)
        total = tf.reduce_sum(loss * np.arange(1, batch + 1, dtype="float32"))
    grad = tape.gradient(total, x)
    places = [(b, i) for b in range(batch) for i in range(label_length[b])]
    sparse = tf.SparseTensor(places, [labels[p] for p in places], [batch, most])
    alike = tf.nn.ctc_loss(sparse, x, None, logit_length, blank_index=blank)
    np.testing.assert_allclose(alike, loss, rtol=1e-5)
    out["loss"].append({
        "logits": logits.tolist(), "labels": labels.tolist(), "labelLength": label_length.tolist(),
        "logitLength": logit_length.tolist(), "blankIndex": blank, "loss": loss.numpy().tolist(), "grad": grad.numpy().tolist()})
    for merge in [True, False]:
        (path,), score = tf.nn.ctc_greedy_decoder(3 * logits, logit_length, merge_repeated=merge)
        out["greedy"].append({"logits": (3 * logits).tolist(), "lengths": logit_length.tolist(), "mergeRepeated": merge,
                              "path": tf.sparse.to_dense(path, -1).numpy().tolist(), "scores": score.numpy().tolist()})
    for width, top in [(100, 2), (3, 2)]:
        paths, scores = tf.nn.ctc_beam_search_decoder(logits, logit_length, beam_width=width, top_paths=top)
        out["beam"].append({"logits": logits.tolist(), "lengths": logit_length.tolist(), "beamWidth": width, "topPaths": top,
                            "paths": [tf.sparse.to_dense(p, -1).numpy().tolist() for p in paths], "scores": scores.numpy().tolist()})
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_ctc.json")
with open(path, "w") as f:
    json.dump(out, f)
    f.write("\n")
