"""Writes image_dtypes.json: what tf.image makes of images of each dtype, or that it refuses them."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

I = tf.image
SCALES = {"bool": (1, 0), "uint8": (1, 0), "int8": (1, 128), "uint16": (250, 0), "int16": (250, 128), "int32": (2**23, 128),
          "uint32": (2**23, 0), "int64": (2**54, 128), "complex64": (0.004, 0)}


def images(dtype):
    """The images of the test: of whole numbers over their range, of floats from 0 to 1."""
    places = np.arange(12) * 97 % 256
    if dtype in ("bfloat16", "float16", "float32", "float64"):
        return tf.cast(tf.constant(places / 256, shape=[2, 2, 3]), dtype)
    scale, less = SCALES[dtype]
    numbers = (places - less) * scale
    return tf.cast(tf.constant(numbers % 2 if dtype == "bool" else numbers, shape=[2, 2, 3]), dtype)


FUNCTIONS = {
    "totalVariation": I.total_variation,
    "rgbToHsv": I.rgb_to_hsv,
    "hsvToRgb": I.hsv_to_rgb,
    "perImageStandardization": I.per_image_standardization,
    "rgbToGrayscale": I.rgb_to_grayscale,
    "rgbToYiq": I.rgb_to_yiq,
    "yiqToRgb": I.yiq_to_rgb,
    "rgbToYuv": I.rgb_to_yuv,
    "yuvToRgb": I.yuv_to_rgb,
    "adjustHue": lambda x: I.adjust_hue(x, 0.2),
    "adjustSaturation": lambda x: I.adjust_saturation(x, 0.5),
    "adjustContrast": lambda x: I.adjust_contrast(x, 0.5),
    "adjustBrightness": lambda x: I.adjust_brightness(x, -0.25),
    "adjustBrightness, much": lambda x: I.adjust_brightness(x, 0.5),
    **{f"convertImageDtype, {to}{', saturated' * s}": lambda x, to=to, s=s: I.convert_image_dtype(x, to, s)
       for to in ("uint8", "int8", "uint16", "int16", "int32", "float32") for s in (False, True)},
}
rows = []
for name, f in FUNCTIONS.items():
    for dtype in [*SCALES, "bfloat16", "float16", "float32", "float64"]:
        # int32 is cut off as in TensorFlow.js.
        if name == "rgbToGrayscale" and dtype in ("bool", "int32", "int64", "complex64"):
            continue
        if name.startswith("convert") and (dtype in ("bool", "complex64", "bfloat16") or not dtype.startswith(("u", "i", "f"))):
            continue
        # Halves do not hold the ends of these.
        if name.startswith(("convertImageDtype, uint16", "convertImageDtype, int32")) and dtype == "float16":
            continue
        # TensorFlow has no kernels for these.
        if name.startswith("convert") and dtype == "uint32" and name.endswith("saturated"):
            continue
        if name.startswith("adjust") and dtype in ("float16", "int64"):
            continue
        try:
            y = f(images(dtype))
            if y.dtype.is_complex:
                continue
            data = np.asarray(tf.cast(y, "float64")).reshape(-1)
            rows.append([name, dtype, y.dtype.name, [float(f"{v:.8g}") for v in data]])
        except Exception:
            rows.append([name, dtype, None, None])
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "image_dtypes.json")
with open(path, "w") as f:
    f.write("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
