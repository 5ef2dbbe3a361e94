"""Ops that older versions of TensorFlow and its tools wrote, and draws from states: fixtures/older_ops.pb and older_ops.json.

usage: python tests/tf/make_older_op_fixtures.py
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
v1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(9)
wide = lambda x: tf.constant(x, tf.int64)


def noise(*shape):
    return tf.constant(random.normal(size=shape).astype(np.float32))


def images():
    out, x = {}, noise(1, 5, 4, 2)
    turn = tf.constant([[1.0, 0.2, -0.5, -0.1, 1.0, 0.3, 0.0, 0.0]])
    for mode in ("CONSTANT", "REFLECT", "WRAP"):
        out[f"turned_{mode}"] = raw.ImageProjectiveTransformV2(
            images=x, transforms=turn, output_shape=[4, 4], interpolation="BILINEAR", fill_mode=mode)
    filters = noise(2, 2, 2, 3)
    out["padded"] = raw.FusedPadConv2D(
        input=x, paddings=[[0, 0], [1, 1], [2, 1], [0, 0]], filter=filters, mode="REFLECT", strides=[1, 1, 2, 1],
        padding="VALID")
    out["resized"] = raw.FusedResizeAndPadConv2D(
        input=x, size=[7, 6], paddings=[[0, 0], [1, 0], [0, 1], [0, 0]], filter=filters, mode="SYMMETRIC",
        strides=[1, 1, 1, 1], padding="SAME", resize_align_corners=True)
    out["pooled"] = raw.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding="SAME")
    boxes = tf.constant([[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2, 1, 3.1]])
    out["boxes"] = raw.NonMaxSuppression(boxes=boxes, scores=[0.5, 0.9, 0.1, 0.7], max_output_size=3)
    out["patches"] = raw.ExtractImagePatches(
        images=x, ksizes=[1, 2, 3, 1], strides=[1, 1, 2, 1], rates=[1, 2, 1, 1], padding="SAME")
    volume = noise(1, 3, 3, 2, 1)
    out["volumes"] = raw.ExtractVolumePatches(
        input=volume, ksizes=[1, 2, 2, 1, 1], strides=[1, 1, 2, 1, 1], padding="VALID")
    out["volumes_dx"] = tf.gradients(out["volumes"] ** 2, volume)[0]
    for name, op in (("most", raw.FractionalMaxPool), ("mean", raw.FractionalAvgPool)):
        y = op(value=x, pooling_ratio=[1.0, 1.3, 1.5, 1.0], overlapping=True, deterministic=True, seed=3, seed2=4)
        out[name], out[f"{name}_dx"] = y.output, tf.gradients(y.output * y.output, x)[0]
        out[f"{name}_rows"] = raw.AsString(input=y.row_pooling_sequence)
    return out


def arrays():
    out, x = {}, noise(4, 3)
    z = tf.complex(x, noise(4, 3))
    out["angle"] = raw.Angle(input=z)
    out["conjugate"] = tf.math.imag(raw.ConjugateTranspose(x=z, perm=[1, 0]))
    for name, op in (("updated", raw.InplaceUpdate), ("added", raw.InplaceAdd), ("subtracted", raw.InplaceSub)):
        out[name] = op(x=noise(4, 3), i=[2, 0], v=noise(2, 3))
    out["sum"] = raw.AccumulateNV2(inputs=[x, x, x], shape=[4, 3])
    out["joined"] = raw.ParallelConcat(values=[x[:1], x[1:2]], shape=[2, 3])
    out["top"], out["places"] = raw.ApproxTopK(input=noise(2, 9), k=3)
    out["unraveled"] = raw.UnravelIndex(indices=[22, 41, 37], dims=[7, 6])
    out["one"] = raw.UnravelIndex(indices=22, dims=[3, 5, 6])
    out["permuted"] = raw.DataFormatVecPermute(x=tf.constant([1, 2, 3, 4]))
    out["pairs"] = raw.DataFormatVecPermute(x=[[1, 1], [2, 2], [3, 3], [4, 4]], src_format="NCHW", dst_format="NHWC")
    out["extents"] = raw.DataFormatVecPermute(x=[5, 6])
    out["axes"] = raw.DataFormatDimMap(x=[0, 1, 3, -1])
    out["checked"] = raw.CheckNumericsV2(tensor=x, message="no number")
    out["sliced"] = raw.TensorStridedSliceUpdate(
        input=x, begin=[3, 0], end=[0, 2], strides=[-2, 1], value=noise(2, 2))
    out["row"] = raw.TensorStridedSliceUpdate(
        input=x, begin=[1], end=[2], strides=[1], value=noise(3), shrink_axis_mask=1)
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[4, 3], shared_name="part")
    with tf.control_dependencies([raw.AssignVariableOp(resource=handle, value=x)]):
        done = raw.ResourceStridedSliceAssign(
            ref=handle, begin=[0, 1], end=[2, 0], strides=[1, 1], value=-1.0 * noise(2, 2), end_mask=2)
    with tf.control_dependencies([done]):
        out["part"] = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
    counts = dict(indices=wide([[0, 0], [0, 2], [1, 0], [2, 0]]), dense_shape=wide([4, 3]), size=4)
    for name, weights, binary in (("plain", [], False), ("weighted", [0.5, 2, 3, 1], False), ("binary", [], True)):
        out[f"counts_{name}"] = raw.SparseBincount(
            values=[1, 3, 1, 7], weights=tf.constant(weights, tf.float32), binary_output=binary, **counts)
    out["counts_vector"] = raw.SparseBincount(
        indices=wide([[0], [3]]), values=[2, 2], dense_shape=wide([5]), size=3, weights=tf.constant([], tf.float32))
    return out


def texts():
    out = {}
    out["matched"] = raw.RegexFullMatch(input=["ab", "abc", "b"], pattern="a.*")
    sound = noise(420, 2)
    for squared in (True, False):
        out[f"spectrum_{squared}"] = raw.AudioSpectrogram(
            input=sound, window_size=100, stride=80, magnitude_squared=squared)
    out["odd"] = raw.AudioSpectrogram(input=sound, window_size=65, stride=40)
    spectrum = out["spectrum_True"]
    out["mfcc"] = raw.Mfcc(spectrogram=spectrum, sample_rate=8000)
    out["few"] = raw.Mfcc(
        spectrogram=spectrum, sample_rate=16000, upper_frequency_limit=7000, lower_frequency_limit=200,
        filterbank_channel_count=12, dct_coefficient_count=5)
    return out


def draws():
    out = {}
    philox = wide(1)

    def state(name, word):
        handle = raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name=name)
        return handle, raw.AssignVariableOp(resource=handle, value=wide([5, 7, word]))

    for name, op, more in (
        ("uniform", raw.StatefulUniform, {}),
        ("normal", raw.StatefulStandardNormalV2, {}),
        ("cut", raw.StatefulTruncatedNormal, {}),
        ("whole", raw.StatefulUniformInt, dict(minval=-5, maxval=90)),
        ("binomial", raw.StatefulRandomBinomial, dict(counts=[5.0, 400.0], probs=[0.25, 0.5])),
    ):
        handle, ready = state(name, -len(name))
        shape = [3, 2]
        with tf.control_dependencies([ready]):
            first = op(resource=handle, algorithm=philox, shape=shape, **more)
        out[name] = first
        # TensorFlow's optimizer takes the op of binomial numbers for one without state, and draws once.
        if name == "binomial":
            continue
        with tf.control_dependencies([first]):
            out[f"{name}_next"] = last = op(resource=handle, algorithm=philox, shape=shape, **more)
        with tf.control_dependencies([last]):
            out[f"{name}_state"] = raw.AsString(input=raw.ReadVariableOp(resource=handle, dtype=tf.int64))
    handle, ready = state("bits", 3)
    with tf.control_dependencies([ready]):
        out["bits"] = raw.AsString(input=raw.StatefulUniformFullInt(
            resource=handle, algorithm=philox, shape=[4], dtype=tf.int64))
    return out


def write():
    tensors, names = {}, []
    with tf.Graph().as_default() as graph:
        for family in (images, arrays, texts, draws):
            for name, tensor in family().items():
                whole = f"{family.__name__}_{name}"
                tensors[whole] = tf.identity(tensor, name=whole)
                names.append(whole)
        with v1.Session(graph=graph) as session:
            results = session.run(tensors)
        definition = graph.as_graph_def()
    cases = []
    for name in names:
        y = np.asarray(results[name])
        values = [v.decode() if isinstance(v, bytes) else v for v in y.reshape(-1).tolist()]
        cases.append({"tensor": f"{name}:0", "shape": list(y.shape), "values": [
            float(np.float32(v).__round__(6)) if isinstance(v, float) else v for v in values]})
    with open(os.path.join(FOLDER, "older_ops.pb"), "wb") as file:
        file.write(definition.SerializeToString())
    with open(os.path.join(FOLDER, "older_ops.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")


write()
