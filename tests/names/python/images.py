"""Windows and boxes of images."""

import numpy as np
import tensorflow as tf
from goldens import case

rng = np.random.default_rng(4)


def glimpses():
    image = np.arange(60, dtype=np.float32).reshape([2, 5, 6, 1])
    for centered in [True, False]:
        for normalized in [True, False]:
            for offsets in [[[0, 0], [0.3, -0.4]], [[-1, 1], [2.5, 1.5]], [[-2, -3], [1, 0.5]]]:
                for size in [[3, 3], [7, 8]]:
                    at = np.float32(offsets)
                    case(
                        "image.extractGlimpse",
                        lambda x, at: tf.image.extract_glimpse(x, size, at, centered, normalized, "zero"),
                        [image, at],
                        ours=[tf.constant(image), size, tf.constant(at), {"centered": centered, "normalized": normalized, "noise": "zero"}],
                    )


def boxes():
    for seed in [[1, 2], [7, -3], [2**31 - 1, 5]]:
        for size, given, more in [
            ([100, 80, 3], [[[0.1, 0.2, 0.5, 0.6], [0.5, 0.5, 0.9, 1.0]]], {}),
            ([33, 64, 1], [[[0.0, 0.0, 1.0, 1.0]]], {"min_object_covered": 0.5}),
            ([64, 64, 3], [[[0.4, 0.4, 0.6, 0.6]]], {"min_object_covered": 1.0, "aspect_ratio_range": [0.5, 2.0], "area_range": [0.1, 0.9]}),
            ([64, 64, 3], [[[0.4, 0.4, 0.6, 0.6]]], {"min_object_covered": 1.0, "area_range": [0.05, 0.06], "max_attempts": 3}),
            ([5, 7, 3], np.zeros([1, 0, 4]), {"use_image_if_no_bounding_boxes": True}),
        ]:
            names = {"min_object_covered": "minObjectCovered", "aspect_ratio_range": "aspectRatioRange", "area_range": "areaRange", "max_attempts": "maxAttempts", "use_image_if_no_bounding_boxes": "useImageIfNoBoundingBoxes"}
            size, given, s = np.int32(size), np.float32(given), np.int32(seed)
            case(
                "image.statelessSampleDistortedBoundingBox",
                lambda n, b, s: tf.image.stateless_sample_distorted_bounding_box(n, b, s, **more),
                [size, given, s],
                ours=[tf.constant(size), tf.constant(given), tf.constant(s), {names[k]: v for k, v in more.items()}],
            )


def proposals():
    """TensorFlow has a kernel for GPUs alone: its steps with its own boxes and suppression."""
    for images, height, width, count, most in [(2, 3, 4, 2, 5), (1, 1, 1, 1, 3), (1, 4, 4, 3, 8)]:
        scores = rng.permutation(images * height * width * count).reshape([images, height, width, count]).astype(np.float32) / 64
        deltas = rng.uniform(-0.5, 0.5, [images, height, width, 4 * count]).astype(np.float32)
        info = np.float32([[60, 50, 1.5, 0, 0], [40, 70, 1, 0, 0]])[:images]
        start = rng.uniform(0, 40, [height, width, count, 2])
        anchors = np.concatenate([start, start + rng.uniform(4, 30, start.shape)], -1).reshape([height, width, -1]).astype(np.float32)

        def run(scores, deltas, info, anchors):
            rois, marks = [], []
            for b in range(images):
                a = tf.reshape(anchors, [-1, 4])
                d = tf.reshape(deltas[b], [-1, 4])
                extent, middle = a[:, 2:] - a[:, :2], (a[:, 2:] + a[:, :2]) / 2
                middle, extent = middle + extent * d[:, :2], extent * tf.exp(tf.minimum(d[:, 2:], np.log(1000 / 16)))
                ends = tf.clip_by_value(tf.concat([middle - extent / 2, middle + extent / 2], 1), 0, tf.tile(info[b, :2], [2])[None])
                mark, at = tf.math.top_k(tf.reshape(scores[b], [-1]), min(9, height * width * count))
                ends = tf.gather(ends, at)
                kept = tf.reduce_min(ends[:, 2:] - ends[:, :2], 1) >= 4 * info[b, 2]
                ends, mark = ends[kept], mark[kept]
                best = tf.image.non_max_suppression(ends, mark, most, 0.5)
                fill = most - tf.size(best)
                rois.append(tf.pad(tf.gather(ends, best), [[0, fill], [0, 0]]))
                marks.append(tf.pad(tf.gather(mark, best), [[0, fill]]))
            return tf.stack(rois), tf.stack(marks)

        given = [scores, deltas, info, anchors]
        case("image.generateBoundingBoxProposals", run, given, ours=[*map(tf.constant, given), {"nmsThreshold": 0.5, "preNmsTopn": 9, "minSize": 4, "postNmsTopn": most}])


def write():
    for part in [glimpses, boxes, proposals]:
        part()
