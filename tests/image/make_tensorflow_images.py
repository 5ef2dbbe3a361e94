"""Writes tensorflow_images.json: what tf.image makes of the images of images_test.ts."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

I = tf.image


def floats(*shape):
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 101 / 101).reshape(shape).astype("float32")


def whole(*shape):
    count = int(np.prod(shape))
    return (np.arange(count) * 97 % 256).reshape(shape).astype("uint8")


x, y = floats(2, 6, 5, 3), floats(2, 6, 5, 3)[::-1].copy()
u = whole(4, 5, 3)
big, other = floats(2, 24, 23, 2), floats(2, 24, 23, 2)[::-1].copy()
boxes = np.array([[[0.1, 0.2, 0.8, 0.9], [0, 0, 0.5, 0.5]], [[0.3, 0.3, 1, 1], [-1, -1, 2, 2]]], "float32")
multi = np.array([[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]], [[0.5, 0.5, 1, 1]]]], "float32")
scores = np.array([[[0.9, 0.2], [0.8, 0.7], [0.4, 0.6]]], "float32")

out = {
    "adjustBrightness": I.adjust_brightness(x, 0.25),
    "adjustBrightness, uint8": I.adjust_brightness(u, 0.25),
    "adjustContrast": I.adjust_contrast(x, 1.5),
    "adjustContrast, uint8": I.adjust_contrast(u, 0.5),
    "adjustHue": I.adjust_hue(x, 0.3),
    "adjustHue, uint8": I.adjust_hue(u, -0.2),
    "adjustSaturation": I.adjust_saturation(x, 1.75),
    "adjustSaturation, uint8": I.adjust_saturation(u, 0.5),
    "adjustGamma": I.adjust_gamma(x, 2.2, 0.75),
    "adjustGamma, uint8": I.adjust_gamma(u, 0.5),
    "rgbToHsv": I.rgb_to_hsv(x),
    "hsvToRgb": I.hsv_to_rgb(x),
    "rgbToYiq": I.rgb_to_yiq(x),
    "yiqToRgb": I.yiq_to_rgb(x),
    "rgbToYuv": I.rgb_to_yuv(x),
    "yuvToRgb": I.yuv_to_rgb(x),
    "convertImageDtype, to uint8": I.convert_image_dtype(x, "uint8"),
    "convertImageDtype, to float32": I.convert_image_dtype(u, "float32"),
    "convertImageDtype, to uint16": I.convert_image_dtype(u, "uint16"),
    "perImageStandardization": I.per_image_standardization(x),
    "perImageStandardization, uint8": I.per_image_standardization(u),
    "rot90": I.rot90(x, 1),
    "rot90, 2": I.rot90(x, 2),
    "rot90, 3": I.rot90(u, 3),
    "transpose": I.transpose(u),
    "centralCrop": I.central_crop(x, 0.6),
    "cropToBoundingBox": I.crop_to_bounding_box(x, 1, 2, 3, 2),
    "padToBoundingBox": I.pad_to_bounding_box(u, 1, 2, 7, 9),
    "resizeWithCropOrPad": I.resize_with_crop_or_pad(x, 3, 8),
    "resizeWithCropOrPad, odd": I.resize_with_crop_or_pad(u, 7, 2),
    "resizeWithPad": I.resize_with_pad(x, 9, 12),
    "resizeWithPad, smaller": I.resize_with_pad(x, 4, 3),
    "totalVariation": I.total_variation(tf.constant(x)),
    "imageGradients": tf.stack(I.image_gradients(tf.constant(x))),
    "sobelEdges": I.sobel_edges(tf.constant(x)),
    "psnr": I.psnr(x, y, 1.0),
    "psnr, uint8": I.psnr(u, u[::-1].copy(), 255),
    "ssim": I.ssim(big, other, 1.0),
    "ssim, small window": I.ssim(x, y, 1.0, filter_size=3, filter_sigma=0.75, k1=0.02, k2=0.05),
    "ssimMultiscale": I.ssim_multiscale(big, other, 1.0, power_factors=(0.3, 0.3, 0.4), filter_size=5),
    "drawBoundingBoxes": I.draw_bounding_boxes(x, boxes, np.array([[1, 0, 0.5], [0.25, 1, 0]], "float32")),
    "nonMaxSuppressionOverlaps": I.non_max_suppression_overlaps(
        np.array([[1, 0.6, 0.2], [0.6, 1, 0.1], [0.2, 0.1, 1]], "float32"), np.array([0.5, 0.7, 0.6], "float32"), 3, 0.5
    ),
    **{f"statelessRandom{name}, seed {seed}": f(seed) for seed in ((1, 2), (-7, 1700000000000)) for name, f in {
        "FlipLeftRight": lambda s: I.stateless_random_flip_left_right(x, s),
        "FlipLeftRight of one": lambda s: I.stateless_random_flip_left_right(u, s),
        "FlipUpDown": lambda s: I.stateless_random_flip_up_down(x, s),
        "FlipUpDown of one": lambda s: I.stateless_random_flip_up_down(u, s),
        "Crop": lambda s: I.stateless_random_crop(x, (1, 3, 2, 3), s),
        "Brightness": lambda s: I.stateless_random_brightness(x, 0.3, s),
        "Contrast": lambda s: I.stateless_random_contrast(x, 0.5, 1.7, s),
        "Hue": lambda s: I.stateless_random_hue(x, 0.4, s),
        "Saturation": lambda s: I.stateless_random_saturation(x, 0.5, 1.7, s),
    }.items()},
    "combinedNonMaxSuppression": I.combined_non_max_suppression(multi, scores, 2, 3, 0.5, 0.3)[1],
    "combinedNonMaxSuppression, boxes": I.combined_non_max_suppression(multi, scores, 2, 3, 0.5, 0.3)[0],
}
out = {k: {"shape": list(v.shape), "dtype": v.dtype.name, "data": np.asarray(v).reshape(-1).astype("float64").round(6).tolist()}
       for k, v in out.items()}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_images.json")
with open(path, "w") as f:
    json.dump(out, f)
    f.write("\n")
