"""Ops that Weft writes in its own while it imports a graph, with what TensorFlow 2.21 computes: fixtures/ops.pb and ops.json.

usage: python tests/tf/make_op_fixtures.py
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(3)


def noise(*shape):
    return tf.constant(random.normal(size=shape).astype(np.float32))


def texts(*values):
    return tf.constant(list(values))


def lists():
    rows = noise(3, 2)
    handle = raw.TensorListFromTensor(tensor=rows, element_shape=[2])
    scattered = raw.TensorListScatterV2(
        tensor=noise(2, 2), indices=[2, 0], element_shape=[2], num_elements=-1)
    bigger = raw.TensorListResize(input_handle=handle, size=5)
    smaller = raw.TensorListResize(input_handle=handle, size=2)
    stack = lambda h: raw.TensorListStack(input_handle=h, element_shape=[2], element_dtype=tf.float32)
    blocks = raw.TensorListFromTensor(tensor=noise(2, 3, 2), element_shape=[3, 2])
    joined = raw.TensorListConcatV2(
        input_handle=blocks, element_dtype=tf.float32, element_shape=[-1, 2], leading_dims=tf.zeros([0], tf.int64))
    parted = raw.TensorListSplit(tensor=noise(4, 2), element_shape=[-1, 2], lengths=tf.constant([2, 2], tf.int64))
    rest, last = raw.TensorListPopBack(input_handle=handle, element_shape=[2], element_dtype=tf.float32)
    return {
        "scattered": stack(scattered),
        "smaller": stack(smaller),
        "bigger_length": raw.TensorListLength(input_handle=bigger),
        "joined": joined.tensor,
        "lengths": joined.lengths,
        "parted": raw.TensorListGetItem(input_handle=parted, index=1, element_shape=[2, 2], element_dtype=tf.float32),
        "rest": stack(rest),
        "last": last,
        "pushed": raw.TensorListLength(input_handle=raw.TensorListPushBack(input_handle=handle, tensor=noise(2))),
    }


def arrays():
    array = raw.TensorArrayV3(size=2, dtype=tf.float32)
    flow = raw.TensorArraySplitV3(
        handle=array.handle, value=noise(4, 2), lengths=tf.constant([2, 2], tf.int64), flow_in=array.flow)
    joined = raw.TensorArrayConcatV3(handle=array.handle, flow_in=flow, dtype=tf.float32)
    return {"joined": joined.value, "lengths": joined.lengths}


def norms():
    x, dy, scale = noise(2, 3, 3, 4), noise(2, 3, 3, 4), noise(4)
    average, variance = noise(4), tf.square(noise(4)) + 0.5
    out = {}
    for training in (True, False):
        g = raw.FusedBatchNormGradV3(
            y_backprop=dy, x=x, scale=scale, reserve_space_1=average, reserve_space_2=variance,
            reserve_space_3=tf.zeros([0]), epsilon=0.01, is_training=training)
        for name in ("x_backprop", "scale_backprop", "offset_backprop"):
            # With statistics of the batch as they are: TensorFlow takes the saved ones for it.
            if not training:
                out[name] = getattr(g, name)
    batch = raw.FusedBatchNormV3(
        x=x, scale=scale, offset=noise(4), mean=tf.zeros([0]), variance=tf.zeros([0]), epsilon=0.01)
    g = raw.FusedBatchNormGradV3(
        y_backprop=dy, x=x, scale=scale, reserve_space_1=batch.reserve_space_1,
        reserve_space_2=batch.reserve_space_2, reserve_space_3=batch.reserve_space_3, epsilon=0.01)
    out["batch_x"] = g.x_backprop
    out["batch_scale"] = g.scale_backprop
    old = raw.FusedBatchNorm(x=x, scale=scale, offset=noise(4), mean=average, variance=variance, is_training=False)
    out["old"] = old.y
    return out


def strings():
    s = texts("Hello World", "  aé ", "", "x1")
    return {
        "lower": raw.StringLower(input=s),
        "upper": raw.StringUpper(input=s, encoding="utf-8"),
        "ascii": raw.StringUpper(input=s),
        "strip": raw.StringStrip(input=s),
        "match": raw.StaticRegexFullMatch(input=s, pattern=r"[a-z]\d|.*o.*"),
        "join": raw.StringJoin(inputs=[s, tf.constant("-"), s], separator="/"),
        "bytes": raw.StringLength(input=s),
        "part": raw.Substr(input=texts("Hello World", "  aé "), pos=tf.constant(-3), len=tf.constant(9)),
        "part8": raw.Substr(input=texts("Hello World", "  aé "), pos=[3, 1], len=[2, 3], unit="UTF8_CHAR"),
        "joined": raw.ReduceJoin(inputs=[["a", "b"], ["c", "d"]], reduction_indices=[0], separator="-"),
        "all": raw.ReduceJoin(inputs=[["a", "b"], ["c", "d"]], reduction_indices=[-1, 0], keep_dims=True),
        "chars": raw.StringLength(input=s, unit="UTF8_CHAR"),
        "number": raw.StringToNumber(string_tensor=texts("1.5", " -2e3", ".25")),
        "whole": raw.StringToNumber(string_tensor=texts("15", "-2"), out_type=tf.int64),
    }


def spellings():
    x, m = noise(2, 4, 4, 2), noise(3, 5)
    boxes = tf.constant([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]], tf.float32)
    unique = raw.UniqueWithCounts(x=[4, 1, 4, 7, 1, 4])
    r0, r1 = raw.BroadcastGradientArgs(s0=[2, 1, 3], s1=[4, 3])
    return {
        "reverse": raw.Reverse(tensor=m, dims=[False, True]),
        "mod": raw.Mod(x=m, y=tf.constant(0.7)),
        "l2": raw.L2Loss(t=m),
        "boxes": raw.NonMaxSuppressionV2(boxes=boxes, scores=[0.9, 0.8, 0.7], max_output_size=3, iou_threshold=0.5),
        "unique": unique.y,
        "unique_at": unique.idx,
        "unique_count": unique.count,
        "unique_1": raw.Unique(x=[3.0, 1.0, 3.0]).y,
        "space": raw.SpaceToBatch(input=x, paddings=[[0, 0], [0, 0]], block_size=2),
        "batch": raw.BatchToSpace(input=noise(4, 2, 2, 1), crops=[[0, 1], [0, 0]], block_size=2),
        "quant": raw.FakeQuantWithMinMaxVars(inputs=3 * m, min=-1.0, max=2.0),
        "quant_narrow": raw.FakeQuantWithMinMaxVars(inputs=3 * m, min=-1.0, max=2.0, num_bits=4, narrow_range=True),
        "matmul": raw.BatchMatMulV3(x=noise(2, 3, 4), y=noise(2, 5, 4), Tout=tf.float32, adj_y=True),
        "axes_0": r0,
        "axes_1": r1,
        "erfc": raw.Erfc(x=m),
        "euclid": raw.EuclideanNorm(input=m, axis=[1], keep_dims=True),
        "bias_grad": raw.BiasAddGrad(out_backprop=x),
        "shape": raw.ShapeN(input=[x, m], out_type=tf.int64)[1],
    }


def records():
    feature = tf.train.Feature
    def example(**features):
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    ints = lambda *v: feature(int64_list=tf.train.Int64List(value=v))
    floats = lambda *v: feature(float_list=tf.train.FloatList(value=v))
    bytes_ = lambda *v: feature(bytes_list=tf.train.BytesList(value=v))
    serialized = tf.constant([
        example(label=ints(3), pixels=floats(0.5, -1, 2), words=bytes_(b"a", b"bc"), more=floats(1, 2), extra=floats(3, 1)),
        example(label=ints(-2 ** 60), pixels=floats(4, 5, 6), words=bytes_(), more=floats(), extra=floats(2)),
        example(pixels=floats(7, 8, 9), words=bytes_("é".encode())),
    ])
    parse = dict(
        serialized=serialized, names=[], sparse_keys=["words"], dense_keys=["label", "pixels", "more"],
        ragged_keys=["extra"], dense_defaults=[tf.constant(-1, tf.int64), tf.zeros([0]), tf.constant(9.0)],
        num_sparse=1, sparse_types=[tf.string], ragged_value_types=[tf.float32], ragged_split_types=[tf.int64],
        dense_shapes=[[], [3], [None]])
    many = raw.ParseExampleV2(**parse)
    one = raw.ParseExampleV2(**{**parse, "serialized": serialized[0]})
    old = raw.ParseExample(
        serialized=serialized, names=[], sparse_keys=["words"], dense_keys=["label"],
        dense_defaults=[tf.constant([7], tf.int64)], sparse_types=[tf.string], dense_shapes=[[1]])
    single = raw.ParseSingleExample(
        serialized=serialized[1], dense_defaults=[tf.zeros([0])], num_sparse=1, sparse_keys=["words"],
        dense_keys=["pixels"], sparse_types=[tf.string], dense_shapes=[[3]])
    out = {}
    for name, parsed in (("many", many), ("one", one), ("old", old), ("single", single)):
        for field in parsed._fields:
            for k, t in enumerate(getattr(parsed, field)):
                out[f"{name}_{field}_{k}"] = t
    out["raw"] = raw.DecodeRaw(bytes=texts(b"abcd", b"efgh"), out_type=tf.int16)
    out["raw_big"] = raw.DecodeRaw(bytes=texts(b"abcd"), out_type=tf.int32, little_endian=False)
    return out


def texts2():
    s = texts("a1b22", "x", " two  words here ")
    split = raw.StringSplitV2(input=s, sep=" ")
    white = raw.StringSplitV2(input=s, sep="", maxsplit=1)
    return {
        "static": raw.StaticRegexReplace(input=s, pattern=r"(\d)", rewrite=r"<\1>"),
        "once": raw.RegexReplace(input=s, pattern=r"\s+", rewrite="_", replace_global=False),
        "indices": split.indices, "values": split.values, "shape": split.shape,
        "white_indices": white.indices, "white_values": white.values, "white_shape": white.shape,
        "floats": raw.AsString(input=[1.5, -2e-7, float("inf"), float("nan"), 1234567.0]),
        "short": raw.AsString(input=[1.5, -2e-7, 1e10, 0.0], shortest=True),
        "wide": raw.AsString(input=[5, -17], width=5, fill="0"),
        "scientific": raw.AsString(input=[12345.678, 0.0], scientific=True, precision=2),
        "bools": raw.AsString(input=[True, False]),
    }


def indexed():
    x = noise(3, 5)
    cases = [tf.function(lambda a, k=k: a * k + 1.0).get_concrete_function(tf.TensorSpec([3, 5])) for k in (2.0, 3.0, 5.0)]
    case = lambda i: raw.StatelessCase(
        branch_index=i, input=[x], Tout=[tf.float32], branches=cases, output_shapes=[[3, 5]])[0]
    sparse = dict(a_indices=tf.constant([[0, 1], [2, 0], [2, 2]], tf.int64), a_values=[1.0, 2.0, -3.0],
                  a_shape=tf.constant([4, 3], tf.int64))
    return {
        "stitch": raw.DynamicStitch(indices=[[0, 4], [[3], [1]], 2], data=[[1.0, 2], [[5.0], [6.0]], 7.0]),
        "stitch_rows": raw.DynamicStitch(indices=[[2, 0], [1]], data=[x[:2], x[2:]]),
        "erfinv": raw.Erfinv(x=[-0.999, -0.5, 0.0, 0.1, 0.9, 0.99999]),
        "ndtri": raw.Ndtri(x=[0.01, 0.5, 0.9]),
        "near": raw.ApproximateEqual(x=x, y=x + [[1e-6], [1e-3], [-1e-7]], tolerance=1e-5),
        "top": raw.InTopKV2(predictions=x, targets=[0, 3, 2], k=2),
        "case_0": case(0), "case_1": case(1), "case_2": case(2), "case_9": case(9), "case_minus": case(-4),
        "sparse": raw.SparseTensorDenseMatMul(b=x, **sparse),
        "sparse_adjoint": raw.SparseTensorDenseMatMul(b=noise(4, 2), adjoint_a=True, **sparse),
        "sparse_both": raw.SparseTensorDenseMatMul(b=noise(5, 3), adjoint_b=True, **sparse),
    }


def convolutions():
    x = noise(1, 5, 5, 4)
    one = raw.Conv2D(input=x, filter=noise(3, 3, 1, 8), strides=[1, 2, 2, 1], padding="SAME")
    two = raw.Conv2D(input=x, filter=noise(2, 2, 2, 6), strides=[1, 1, 1, 1], padding="VALID")
    return {"depthwise": one, "groups": two}


def numerics():
    # Made after the others: their noise stays as it was.
    well = noise(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    rhs = noise(2, 3, 2)
    a, b = tf.constant([0.5, 2.0, 3.0, 40.0, 1e-3]), tf.constant([0.5, 3.0, 100.0, 30.0, 2.0])
    x = tf.constant([0.3, 0.5, 0.01, 0.6, 0.2])
    logits, indices = noise(6, 2, 4), tf.constant([[0, 1], [1, 0], [1, 2], [1, 2]], tf.int64)
    out = {
        "beta": raw.Betainc(a=a, b=b, x=x),
        "beta_scalar": raw.Betainc(a=2.0, b=3.0, x=[0.25, 1.0, 0.0]),
        "solve": raw.MatrixSolve(matrix=well, rhs=rhs),
        "solve_adjoint": raw.MatrixSolve(matrix=well, rhs=rhs, adjoint=True),
    }
    sparse = dict(input_indices=indices, input_values=noise(4), input_shape=tf.constant([3, 4], tf.int64))
    for k, axes in enumerate(([0], [1], [-1, 0], [])):
        for op in (raw.SparseReduceSum, raw.SparseReduceMax):
            out[f"{op.__name__}_{k}"] = op(**sparse, reduction_axes=tf.constant(axes, tf.int32), keep_dims=k == 1)
    for name, more in (("all", {}), ("merged", dict(merge_repeated=True)), ("first", dict(blank_index=0))):
        best = raw.CTCGreedyDecoder(inputs=logits, sequence_length=[6, 3], **more)
        for field in best._fields:
            out[f"ctc_{name}_{field}"] = getattr(best, field)
    return out


def colours():
    x = tf.sigmoid(noise(2, 3, 2, 3))
    grey = tf.concat([x[:, :, :1, :1]] * 3, -1)
    black = tf.zeros([1, 1, 3])
    wide = 2 * noise(4, 5)
    hsv = raw.RGBToHSV(images=x)
    return {
        "hsv": hsv,
        "hsv_grey": raw.RGBToHSV(images=grey),
        "hsv_black": raw.RGBToHSV(images=black),
        "rgb": raw.HSVToRGB(images=hsv),
        "rgb_any": raw.HSVToRGB(images=tf.sigmoid(noise(2, 3, 2, 3))),
        "hue": raw.AdjustHue(images=x, delta=0.3),
        "hue_back": raw.AdjustHue(images=x, delta=-0.7),
        "hue_grey": raw.AdjustHue(images=grey, delta=0.3),
        "more": raw.AdjustSaturation(images=x, scale=3.0),
        "less": raw.AdjustSaturation(images=x, scale=0.4),
        "black": raw.AdjustSaturation(images=black, scale=0.4),
        "contrast": raw.AdjustContrastv2(images=noise(2, 3, 2, 3), contrast_factor=1.7),
        "quant": raw.FakeQuantWithMinMaxArgs(inputs=wide, min=-1.1, max=2.3, num_bits=5),
        "quant_default": raw.FakeQuantWithMinMaxArgs(inputs=3 * wide),
        "quant_channels": raw.FakeQuantWithMinMaxVarsPerChannel(
            inputs=wide, min=[-1.0, -0.5, 0.0, -2.0, -0.1], max=[0.5, 1.0, 1.5, 2.0, 0.1], narrow_range=True),
    }


def resized():
    # Made after the others, as numerics are.
    x, small = noise(1, 4, 6, 3), noise(2, 1, 2, 1)
    whole = tf.constant(random.randint(0, 255, (2, 4, 5, 1)), tf.uint8)
    out = {}
    for size in ((3, 4), (7, 9), (4, 6), (1, 11)):
        key = f"{size[0]}x{size[1]}"
        for name, more in (("", {}), ("_corners", dict(align_corners=True)), ("_half", dict(half_pixel_centers=True))):
            cubic = raw.ResizeBicubic(images=x, size=size, **more)
            out[f"cubic_{key}{name}"] = cubic
            out[f"cubic_{key}{name}_grad"] = raw.ResizeBicubicGrad(grads=cubic, original_image=x, **more)
            out[f"cubic_small_{key}{name}"] = raw.ResizeBicubic(images=small, size=size, **more)
        out[f"cubic_whole_{key}"] = raw.ResizeBicubic(images=whole, size=size, half_pixel_centers=True)
        out[f"area_{key}"] = raw.ResizeArea(images=x, size=size)
        out[f"area_whole_{key}"] = raw.ResizeArea(images=whole, size=size)
        out[f"area_corners_{key}"] = raw.ResizeArea(images=x, size=size, align_corners=True)
        out[f"area_small_{key}"] = raw.ResizeArea(images=small, size=size, align_corners=True)
    kernels = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()
    for kernel in kernels:
        for k, (size, scale, move) in enumerate((
                ((2, 3), [0.6, 0.55], [0.0, 0.0]), ((6, 7), [2.1, 1.7], [-0.6, 0.3]), ((3, 5), [0.4, 1.3], [1.2, -3.5]))):
            for antialias in (True, False):
                more = dict(scale=scale, translation=move, kernel_type=kernel, antialias=antialias)
                y = raw.ScaleAndTranslate(images=x, size=size, **more)
                key = f"{kernel}_{k}_{'smooth' if antialias else 'rough'}"
                out[key] = y
                if kernel in ("triangle", "lanczos3"):
                    out[f"{key}_grad"] = raw.ScaleAndTranslateGrad(grads=y, original_image=x, **more)
    out["whole"] = raw.ScaleAndTranslate(images=whole, size=[3, 3], scale=[0.75, 0.5], translation=[0.0, 0.0])
    return out


def framed():
    corners = random.uniform(-0.2, 1.2, (2, 9, 1, 4)).astype(np.float32)
    of_classes = random.uniform(0, 1, (2, 9, 3, 4)).astype(np.float32)
    scores = random.permutation(54).reshape(2, 9, 3).astype(np.float32) / 54
    overlaps = random.uniform(0, 1, (9, 9)).astype(np.float32)
    out = {}
    for name, boxes in (("shared", corners), ("own", of_classes)):
        for k, more in enumerate((
                {}, dict(pad_per_class=True), dict(clip_boxes=False), dict(max_total_size=4), dict(score_threshold=0.7, pad_per_class=True))):
            limits = dict(max_output_size_per_class=3, max_total_size=12, iou_threshold=0.2, score_threshold=0.1)
            found = raw.CombinedNonMaxSuppression(boxes=boxes, scores=scores, **{**limits, **more})
            for field in found._fields:
                out[f"{name}_{k}_{field}"] = getattr(found, field)
    for k, (most, limit, least) in enumerate(((9, 0.5, 0.0), (3, 0.3, 0.1), (9, 0.1, 0.4))):
        out[f"overlaps_{k}"] = raw.NonMaxSuppressionWithOverlaps(
            overlaps=overlaps, scores=scores[0, :, 0], max_output_size=most, overlap_threshold=limit, score_threshold=least)
    for depth in (1, 3, 4):
        images = noise(1, 7, 8, depth)
        out[f"drawn_{depth}"] = raw.DrawBoundingBoxes(images=images, boxes=corners[:1, :, 0])
        out[f"coloured_{depth}"] = raw.DrawBoundingBoxesV2(images=images, boxes=corners[:1, :, 0], colors=noise(3, 4))
        out[f"uncoloured_{depth}"] = raw.DrawBoundingBoxesV2(images=images, boxes=corners[:1, :, 0], colors=tf.zeros([0, 4]))
    return out


def kept():
    # Few places, so that boxes overlap by a half, or wholly.
    boxes = random.randint(0, 5, (12, 4)).astype(np.float32) / 4
    scores = random.permutation(12).astype(np.float32) / 12
    out = {}
    for k, (most, limit, sigma) in enumerate(((12, 0.5, 0.0), (20, 0.5, 0.5), (12, 0.0, 0.2), (5, 1.0, 1.0), (20, 0.25, 0.0))):
        for pads in (False, True):
            four = raw.NonMaxSuppressionV4(
                boxes=boxes, scores=scores, max_output_size=most, iou_threshold=limit, score_threshold=0.05,
                pad_to_max_output_size=pads)
            five = raw.NonMaxSuppressionV5(
                boxes=boxes, scores=scores, max_output_size=most, iou_threshold=limit, score_threshold=0.05,
                soft_nms_sigma=sigma, pad_to_max_output_size=pads)
            for found, name in ((four, "four"), (five, "five")):
                for field in found._fields:
                    out[f"{name}_{k}_{pads}_{field}"] = getattr(found, field)
        out[f"three_{k}"] = raw.NonMaxSuppressionV3(
            boxes=boxes, scores=scores, max_output_size=most, iou_threshold=limit, score_threshold=0.05)
    return out


def levels():
    x = 3 * noise(4, 5)
    low, high = [-1.0, -0.5, 0.0, -2.0, -0.1], [0.5, 1.0, 1.5, 2.0, 0.1]
    out = {}
    cases = [
        dict(), dict(num_bits=4), dict(num_bits=4, narrow_range=True), dict(num_bits=5, signed_input=False),
        dict(num_bits=3, round_mode="HALF_UP"), dict(num_bits=6, axis=0), dict(num_bits=4, axis=1, signed_input=False)]
    for k, more in enumerate(cases):
        ends = dict(input_min=-1.1, input_max=2.3) if "axis" not in more else dict(
            input_min=tf.zeros([x.shape[more["axis"]]]), input_max=tf.zeros([x.shape[more["axis"]]]))
        bits, old = more.get("num_bits", 8), {key: v for key, v in more.items() if key not in ("num_bits", "round_mode")}
        for given in (False, True) if "axis" not in more else (False,):
            for op in (raw.QuantizeAndDequantizeV2, raw.QuantizeAndDequantizeV4):
                out[f"{op.__name__}_{k}_{given}"] = op(input=x, **ends, range_given=given, **more)
            out[f"V3_{k}_{given}"] = raw.QuantizeAndDequantizeV3(input=x, **ends, num_bits=bits, range_given=given, **old)
    for k, (a, b) in enumerate(((0.0, 0.0), (-3.0, 0.0), (0.0, 3.0), (-9.0, 0.5), (0.5, 1.0))):
        out[f"ends_{k}"] = raw.QuantizeAndDequantizeV2(input=x, input_min=a, input_max=b, num_bits=4, range_given=True)
    for narrow in (False, True):
        # TensorFlow's other versions take no ranges of channels.
        out[f"channels_{narrow}"] = raw.QuantizeAndDequantizeV3(
            input=x, input_min=low, input_max=high, num_bits=4, axis=1, narrow_range=narrow)
    backprops = raw.QuantizeAndDequantizeV4Grad(gradients=noise(4, 5), input=x, input_min=-2.0, input_max=1.5)
    by_channel = raw.QuantizeAndDequantizeV4Grad(gradients=noise(4, 5), input=x, input_min=low, input_max=high, axis=1)
    for field in backprops._fields:
        out[field], out[f"channels_{field}"] = getattr(backprops, field), getattr(by_channel, field)
    return out


def unicodes():
    utf8 = texts(b"h\xc3\xa9\xf0\x9f\x98\x80", b"", b"a\xffb\x80\xe2\x82", b"\xed\xa0\x80x\xc0\x80y\xf8\x88\x80z\xf4\x90\x80", b"\r\x7f\xc2\x85\xe2\x82x")
    cases = {
        "utf8": dict(input=utf8, input_encoding="UTF-8"),
        "ignore": dict(input=utf8, input_encoding="UTF-8", errors="ignore", replace_control_characters=True),
        "mark": dict(input=utf8, input_encoding="UTF-8", replacement_char=63, replace_control_characters=True),
        "utf16": dict(input=texts(b"\0a\xd8\x3d\xde\0\0b", b"\0a\xd8", b"\xd8\0\0x", b"\xdc\0\0y"), input_encoding="UTF-16-BE"),
        "utf32": dict(input=texts(b"\0\0\0a\0\x11\0\0\0\x01\xf6\0", b"\0\0\xd8\0\0\0"), input_encoding="UTF-32-BE"),
        "latin": dict(input=texts(b"a\xe9\x80"), input_encoding="ISO-8859-1"),
        "ascii": dict(input=texts(b"a\xe9"), input_encoding="US-ASCII"),
    }
    out = {}
    for name, case in cases.items():
        found = raw.UnicodeDecodeWithOffsets(**case)
        for field in found._fields:
            out[f"{name}_{field}"] = getattr(found, field)
    out["plain"] = raw.UnicodeDecode(input=[["a", "b"], ["c", ""]], input_encoding="UTF-8").row_splits
    return out


def formats():
    x = tf.constant([3.25, -2.5, 0.125, 1e22, -1e-7, 0.0, -0.0, float("inf"), float("-inf"), float("nan"), 99.5, 1234567.0], tf.float64)
    out = {}
    for k, more in enumerate((
            {}, dict(precision=0), dict(precision=1), dict(precision=2), dict(scientific=True, precision=0),
            dict(scientific=True), dict(shortest=True), dict(shortest=True, precision=0), dict(shortest=True, precision=17),
            dict(width=12, fill="+", precision=1), dict(width=12, fill="-", precision=0), dict(width=12, fill="0"),
            dict(width=12, fill=" ", shortest=True), dict(width=12, fill="#", precision=0), dict(fill="#", shortest=True),
            dict(fill="#", scientific=True, precision=0), dict(width=12), dict(fill="+"), dict(precision=30))):
        out[f"real_{k}"] = raw.AsString(input=x, **more)
        out[f"single_{k}"] = raw.AsString(input=tf.cast(x, tf.float32), **more)
        out[f"complex_{k}"] = raw.AsString(input=tf.constant([1.5 - 2.5j, 3.25 + 0.5j], tf.complex64), **more)
    for k, more in enumerate((dict(width=5, fill="0"), dict(width=5, fill="+"), dict(width=5, fill="-"), dict(width=4), {})):
        out[f"whole_{k}"] = raw.AsString(input=[5, -17], **more)
        out[f"wide_{k}"] = raw.AsString(input=tf.constant([2 ** 62 + 1, -3], tf.int64), **more)
        out[f"bytes_{k}"] = raw.AsString(input=tf.constant([5, 200], tf.uint8), **more)
        out[f"text_{k}"] = raw.AsString(input=["a", "bcdefg"], **more)
        out[f"bool_{k}"] = raw.AsString(input=[True, False], **more)
    for dtype in (tf.float16, tf.bfloat16):
        out[dtype.name] = raw.AsString(input=tf.constant([1.3, 2.5], dtype), precision=4)
    return out


def codes():
    data = texts(b"\xfb\xff", b"", b"abc", b"a", bytes(range(40)), b"12345678", b"hello world")
    plain, padded_ = raw.EncodeBase64(input=data), raw.EncodeBase64(input=data, pad=True)
    split = dict(input_values=[104, 233, 0x1F600, 0xD800, -1, 0xFFFE, 0x110000, 66], input_splits=tf.constant([0, 3, 3, 6, 8], tf.int64))
    out = {"plain": plain, "padded": padded_}
    for name, text in (("plain", plain), ("padded", padded_)):
        out[f"{name}_same"] = raw.EncodeBase64(input=raw.DecodeBase64(input=text))
    for buckets in (7, 1000003, 2 ** 53 - 1):
        number = lambda t: raw.AsString(input=t)
        out[f"legacy_{buckets}"] = number(raw.StringToHashBucket(string_tensor=data, num_buckets=buckets))
        for k, key in enumerate(([1, 2], [-1, 2 ** 50 + 3])):
            out[f"strong_{buckets}_{k}"] = number(raw.StringToHashBucketStrong(input=data, num_buckets=buckets, key=key))
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        for errors in ("replace", "ignore"):
            # In base64: the fixture holds texts.
            out[f"{encoding}_{errors}".replace("-", "_")] = raw.EncodeBase64(
                input=raw.UnicodeEncode(**split, output_encoding=encoding, errors=errors))
    out["mark"] = raw.UnicodeEncode(
        input_values=[0xD800, 65], input_splits=[0, 1, 2], output_encoding="UTF-8", replacement_char=63)
    for k, x in enumerate((noise(2, 3), tf.constant([[1, -2]], tf.int64), texts("a", "bc" * 80), tf.constant([True, False]),
                           tf.constant([1.5], tf.float16), tf.constant([1.5], tf.bfloat16), tf.constant(5, tf.uint8),
                           tf.zeros([0, 3]), tf.constant([1 + 2j], tf.complex64), tf.constant([2 ** 63 + 1], tf.uint64),
                           tf.zeros([300]))):
        serialized = raw.SerializeTensor(tensor=x)
        out[f"bytes_{k}"] = raw.EncodeBase64(input=serialized)
        if x.dtype != tf.complex64 and x.dtype != tf.uint64:
            parsed = raw.ParseTensor(serialized=serialized, out_type=x.dtype)
            out[f"parsed_{k}"] = tf.cast(parsed, tf.float32) if x.dtype.is_floating else parsed
    for name, dtype, proto in lists_of_values():
        out[f"list_{name}"] = raw.ParseTensor(serialized=tf.constant(proto), out_type=dtype)
    return out


def lists_of_values():
    """Tensors whose values stand in lists, the last of which is repeated."""
    from tensorflow.core.framework import tensor_pb2
    for name, dtype, field in (
            ("float", tf.float32, dict(float_val=[1.5, 2])), ("double", tf.float64, dict(double_val=[0.1])),
            ("int", tf.int32, dict(int_val=[-5, 7])), ("small", tf.int8, dict(int_val=[-5])),
            ("long", tf.int64, dict(int64_val=[-2 ** 40, 3])), ("bool", tf.bool, dict(bool_val=[True])),
            ("half", tf.float16, dict(half_val=[15872])), ("text", tf.string, dict(string_val=[b"x", b"yz"])),
            ("unsigned", tf.uint32, dict(uint32_val=[2 ** 32 - 1])), ("more", tf.int32, dict(int_val=[1, 2, 3, 4, 5])),
            ("none", tf.float32, {})):
        proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, **field)
        for size in (1, 3):
            proto.tensor_shape.dim.add().size = size
        yield name, dtype, proto.SerializeToString()


def csv():
    cases = [
        (["1,2.5,a", '-3,,"b,""c"""', " +7 ,1e3,"], [[0], [9.0], ["z"]], {}),
        (["NA,1", "2,NA"], [[7], tf.constant([8], tf.int64)], dict(na_value="NA")),
        ([["a;b"], ["c;"]], [[""], ["-"]], dict(field_delim=";")),
        (["a,b,c", "d,e,"], [["-"], ["-"]], dict(select_cols=[0, 2])),
        (["\r\na,b", "\n,"], [["-"], ["-"]], {}),
        (['a"b,c'], [[""], [""]], dict(use_quote_delim=False)),
        (["inf,-inf,.5,1e400"], [[1.0]] * 4, {}),
        (["9223372036854775807,2147483647,0.1"], [tf.constant([1], tf.int64), [1], tf.constant([1.0], tf.float64)], {}),
    ]
    out = {}
    for k, (records_, defaults, more) in enumerate(cases):
        for i, t in enumerate(raw.DecodeCSV(records=records_, record_defaults=defaults, **more)):
            out[f"{k}_{i}"] = t if t.dtype == tf.string else raw.AsString(input=t)
    return out


def philox():
    out = {"alg": raw.StatelessRandomGetAlg()}
    number = lambda t: raw.AsString(input=t)
    for k, seed in enumerate(([1, 2], [-7, 2 ** 40], [0, 0])):
        key, counter = raw.StatelessRandomGetKeyCounter(seed=tf.constant(seed, tf.int64))
        all_ = raw.StatelessRandomGetKeyCounterAlg(seed=tf.constant(seed, tf.int64))
        out[f"key_{k}"], out[f"counter_{k}"], out[f"both_{k}"] = number(key), number(counter), number(all_.counter)
        state = dict(key=key, counter=counter, alg=(1, 3, 1)[k])
        for shape in ([], [5], [3, 7], [0, 2], [1001]) if k == 0 else ([3, 7],):
            name = f"{k}_{'x'.join(map(str, shape))}"
            for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
                for op in (raw.StatelessRandomUniformV2, raw.StatelessRandomNormalV2, raw.StatelessTruncatedNormalV2):
                    if shape != [1001] or dtype == tf.float32:
                        t = op(shape=tf.constant(shape, tf.int32), dtype=dtype, **state)
                        out[f"{op.__name__}_{dtype.name}_{name}"] = tf.cast(t, tf.float64)
            for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
                if shape != [1001]:
                    dims = tf.constant(shape, tf.int64)
                    out[f"full_{dtype.name}_{name}"] = number(raw.StatelessRandomUniformFullIntV2(shape=dims, dtype=dtype, **state))
                    if dtype in (tf.int32, tf.int64):
                        out[f"ints_{dtype.name}_{name}"] = number(raw.StatelessRandomUniformIntV2(
                            shape=dims, minval=tf.constant(-5, dtype), maxval=tf.constant(2 ** 31 - 1, dtype), **state))
    # A counter that carries into its upper half.
    far = dict(key=tf.constant([5], tf.uint64), counter=tf.constant([2 ** 64 - 2, 9], tf.uint64), alg=1)
    out["carry"] = raw.StatelessRandomUniformV2(shape=[20], **far)
    out["carry_cut"] = raw.StatelessTruncatedNormalV2(shape=[20], **far)
    return out


def sparses():
    wide = lambda x: tf.constant(x, tf.int64)
    a = (wide([[0, 1], [1, 0], [1, 2], [2, 1]]), noise(4), wide([3, 4]))
    b = (wide([[0, 1], [1, 2], [2, 3]]), noise(3), wide([3, 4]))
    mixed = (wide([[2, 1], [0, 1], [1, 2], [1, 0], [0, 0]]), noise(5), wide([3, 4]))
    out = {}
    def put(name, found):
        for field in found._fields:
            out[f"{name}_{field}"] = getattr(found, field)
    for k, thresh in enumerate((0.0, 0.5, 3.0)):
        put(f"add_{k}", raw.SparseAdd(
            a_indices=a[0], a_values=a[1], a_shape=a[2], b_indices=b[0], b_values=b[1], b_shape=b[2], thresh=thresh))
    put("add_cancels", raw.SparseAdd(
        a_indices=a[0], a_values=a[1], a_shape=a[2], b_indices=a[0], b_values=-a[1], b_shape=a[2], thresh=1e-3))
    for axis in (0, 1, -1):
        many = [a, b, a]
        put(f"concat_{axis}".replace("-", "minus"), raw.SparseConcat(
            indices=[t[0] for t in many], values=[t[1] for t in many], shapes=[t[2] for t in many], concat_dim=axis))
    put("concat_texts", raw.SparseConcat(
        indices=[a[0], b[0]], values=[texts("p", "q", "r", "s"), texts("x", "y", "z")], shapes=[a[2], wide([5, 4])], concat_dim=0))
    for k, (start, size) in enumerate((([0, 0], [3, 4]), ([1, 1], [2, 2]), ([1, 0], [9, 9]), ([2, 3], [1, 1]), ([0, 5], [2, 2]), ([0, 0], [0, 2]))):
        put(f"slice_{k}", raw.SparseSlice(indices=a[0], values=a[1], shape=a[2], start=wide(start), size=wide(size)))
    put("sorted", raw.SparseReorder(input_indices=mixed[0], input_values=mixed[1], input_shape=mixed[2]))
    put("sorted_texts", raw.SparseReorder(
        input_indices=mixed[0], input_values=texts("a", "b", "c", "d", "e"), input_shape=mixed[2]))
    for k, dense in enumerate((noise(3, 4), noise(4), noise(3, 1), noise(1, 4), tf.constant(2.0), noise(1))):
        for op in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseAdd, raw.SparseDenseCwiseDiv):
            out[f"{op.__name__}_{k}"] = op(sp_indices=a[0], sp_values=a[1], sp_shape=a[2], dense=dense)
    out["dense"] = raw.SparseTensorDenseAdd(a_indices=a[0], a_values=a[1], a_shape=a[2], b=noise(3, 4))
    put("filled", raw.SparseFillEmptyRows(indices=b[0], values=b[1], dense_shape=wide([5, 4]), default_value=-1.0))
    put("reshaped", raw.SparseReshape(input_indices=a[0], input_shape=a[2], new_shape=wide([2, -1])))
    out["to_dense"] = raw.SparseToDense(sparse_indices=a[0], output_shape=a[2], sparse_values=a[1], default_value=7.0)
    for name, data in (("rows", noise(5, 3)), ("list", noise(6)), ("cube", noise(5, 2, 2))):
        at, ids = [0, 4, 4, 2, 1], [0, 0, 2, 2, 2]
        for op in (raw.SparseSegmentSum, raw.SparseSegmentMean, raw.SparseSegmentSqrtN):
            out[f"{op.__name__}_{name}"] = op(data=data, indices=at, segment_ids=ids)
        for op in (raw.SparseSegmentSumWithNumSegments, raw.SparseSegmentMeanWithNumSegments, raw.SparseSegmentSqrtNWithNumSegments):
            out[f"{op.__name__}_{name}"] = op(data=data, indices=wide(at), segment_ids=ids, num_segments=5)
    return out


def values(x):
    if x.dtype.kind in "OS":
        return [v.decode("utf-8") for v in x.ravel()]
    if x.dtype == np.float32 and np.isfinite(x).all():
        return [float(f"{v:.7g}") for v in x.ravel()]
    return x.ravel().tolist()


def main():
    graph = tf.Graph()
    with graph.as_default():
        made = {f"{f.__name__}/{key}": tf.identity(t, name=f"{f.__name__}_{key}")
                for f in (lists, arrays, norms, strings, spellings, convolutions, records, texts2, indexed, numerics, unicodes, colours, kept, resized, framed, levels, formats, codes, csv, philox, sparses) for key, t in f().items()}
        with tf.compat.v1.Session(graph=graph) as session:
            results = session.run(made)
    with open(os.path.join(FOLDER, "ops.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())
    cases = [{"tensor": made[key].name, "shape": list(np.shape(y)), "values": values(np.asarray(y))}
             for key, y in results.items()]
    with open(os.path.join(FOLDER, "ops.json"), "w") as f:
        json.dump(cases, f, ensure_ascii=False)


main()
