"""Loads what tensorflow_loads.ts wrote, runs it and compares.

usage: python tests/tf/load_in_tensorflow.py FOLDER OUTPUT
"""
import glob
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops

folder = sys.argv[1]
x = tf.constant([[1.0, 1.0], [-1.0, -2.0]])
wanted = [[8.0, 12.0], [0.0, 0.0]]
close = lambda a, b: np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6)

model = tf.saved_model.load(f"{folder}/model")
close(model.signatures["serving_default"](x=x, scale=tf.constant(2.0))["y"], wanted)
close(model.signatures["power"](**{"class": tf.constant(3.0)})["y"], 96.0)
print("signatures")
result = model.serving_default(x, 2.0)
close(result["y"], wanted)
assert int(result["count"]) == 2 and int(model.serving_default(x, scale=2.0)["count"]) == 3
assert not hasattr(model, "power"), "no argument of Python is called class"
print("methods, with state")
assert {v.name: v.trainable for v in model.variables} == {"dense/kernel:0": True, "count:0": False}
kernel = model.trainable_variables[0]
close(kernel, [[1, 2], [3, 4]])
with tf.GradientTape() as tape:
    y = model.serving_default(x, 2.0)["y"]
close(tape.gradient(y, kernel), [[2, 2], [2, 2]])
kernel.assign([[0, 0], [0, 1]])
close(model.serving_default(x, 2.0)["y"], [[0, 2], [0, 0]])
print("variables, gradients")
tf.saved_model.save(model, f"{folder}/again")
again = tf.saved_model.load(f"{folder}/again")
close(again.serving_default(x, 2.0)["y"], [[0, 2], [0, 0]])
print("saved again")
layer = tf.keras.layers.TFSMLayer(f"{folder}/model", call_endpoint="serving_default")
assert len(layer.trainable_weights) == 1
close(tf.keras.layers.TFSMLayer(f"{folder}/model", call_endpoint="power")(tf.constant(3.0))["y"], 96.0)
print("Keras' layer")
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    meta = tf.compat.v1.saved_model.load(session, ["serve"], f"{folder}/model")
    signature = meta.signature_def["serving_default"]
    feeds = {signature.inputs["x"].name: x.numpy(), signature.inputs["scale"].name: 2.0}
    close(session.run(signature.outputs["y"].name, feeds), wanted)
print("a session of version 1")

look = tf.saved_model.load(f"{folder}/table").signatures["serving_default"]
for _ in range(2):
    assert list(look(tf.constant(["b", "zz", "a"]))["v"].numpy()) == [2, -1, 1]
print("a table")
loop = tf.saved_model.load(f"{folder}/branch").signatures["serving_default"]
close(loop(tf.constant(0.0))["y"], 30.0)
close(loop(tf.constant(-1.0))["y"], -1.0)
choice = tf.saved_model.load(f"{folder}/choice").signatures["serving_default"]
close(choice(tf.constant([[1.0, 1.0]]))["y"], [[4, 6]])
close(choice(tf.constant([[-1.0, -2.0]]))["y"], [[1, 2]])
print("branches")
(script,) = json.load(open(f"{folder}/script/assets.extra/script_ops.json"))["scripts"]
assert script["token"] == "tensorflow_loads.double@1", script
double = lambda x: 2 * x  # The registry holds it weakly.
script_ops._py_funcs._funcs[script["token"]] = double
scripted = tf.saved_model.load(f"{folder}/script").signatures["serving_default"]
close(scripted(tf.constant([1.0, -4.0]))["y"], [3, -7])
print("a script, bound by the manifest's token")

for prefix, files in (("plain", 1), ("sharded", 2)):
    assert glob.glob(f"{folder}/{prefix}.data-*-of-0000{files}"), prefix
    read = lambda name: tf.train.load_variable(f"{folder}/{prefix}", name)
    close(read("w"), [[1, 2], [3, 4]])
    assert list(read("scope/names")) == [b"a", "é".encode()]
    assert read("long").dtype == np.int64 and list(read("long")) == [1, -2**40]
    assert read("brief").dtype == tf.bfloat16.as_numpy_dtype
    assert list(read("brief")) == list(tf.cast([1.5, -256, 3e38], tf.bfloat16).numpy())
    assert read("half").dtype == np.float16 and list(read("half")) == list(np.float16([1.5, -0.1]))
    assert read("wide").dtype == np.float64 and list(read("wide")) == [1.5, -3]
    assert list(read("flags")) == [True, False] and read("none").shape == (0, 3)
    assert read("bytes").dtype == np.uint8 and list(read("bytes")) == [0, 255]
objects = tf.train.Checkpoint(kernel=tf.Variable(tf.zeros([2, 2])), count=tf.Variable(7))
prefix = glob.glob(f"{folder}/objects*.index")[0][: -len(".index")]
objects.restore(prefix).assert_existing_objects_matched()
close(objects.kernel, [[1, 2], [3, 4]])
assert int(objects.count) == 0
print("checkpoints")

definition = tf.compat.v1.GraphDef()
definition.ParseFromString(open(f"{folder}/graph.pb", "rb").read())
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    (y,) = tf.import_graph_def(definition, return_elements=[sys.argv[2]])
    found = session.run(y, {"import/x:0": x.numpy()})
close(found, tf.nn.softmax(x @ [[1.0, 2.0], [3.0, 4.0]]))
print("a GraphDef")
