"""Writes fixtures/augmentations.json: what Keras's layers make of images and of given random numbers, and what policies of no strength make."""

import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf

L = keras.layers
rng = np.random.default_rng(7)
IMAGES = rng.integers(0, 256, size=(2, 6, 7, 3)).astype(np.float32)
# Steps of few levels, as pictures have.
WIDE = (np.floor(rng.uniform(size=(2, 24, 22, 1)) * 6) * 50).astype(np.float32)
NOISE = rng.normal(size=(2, 24, 22)).round(3).astype(np.float32)
told = []


def tell(layer, draws, given, images=IMAGES, **more):
    result = layer.transform_images(tf.constant(images), given, training=True)
    told.append({
        "name": type(layer).__name__,
        "config": layer.get_config(),
        "draws": {k: np.asarray(v).tolist() for k, v in draws.items()},
        "images": "wide" if images is WIDE else "small",
        "result": np.asarray(result).astype(float).round(3).tolist(),
        **more,
    })


def each(*numbers):
    return np.asarray(numbers, np.float32).reshape(-1, 1, 1, 1)


for factor in ([0.2, -0.4], [0.5, -0.03]):
    tell(L.RandomHue(0.5), {"factor": each(*factor)}, {"factor": np.float32(factor)})
tell(L.RandomSaturation(0.5), {"factor": each(0.3, 2.5)}, {"factor": np.float32([0.3, 2.5])})
tell(L.RandomSaturation(0.5), {"factor": each(-0.3, 0.9)}, {"factor": np.float32([-0.3, 0.9])})
tell(L.RandomColorDegeneration(0.5), {"factor": each(0.7, -0.2)}, {"factor": each(0.7, -0.2)})
turns = np.array([True, False]).reshape(2, 1, 1, 1)
tell(L.RandomGrayscale(), {"apply": turns}, tf.constant(turns))
tell(L.RandomInvert(), {"apply": turns}, {"apply_inversion": tf.constant([True, False])})
tell(L.RandomPosterization(4), {"step": each(8, 64)}, {"shift_factor": tf.constant([3, 6], "uint8")})
solar = {"added": each(30, 100), "limit": each(90, 200)}
given = {"additions": solar["added"], "thresholds": solar["limit"]}
tell(L.Solarization(0.5, 0.5), solar, given)
tell(L.Solarization(0.5, 0.5, value_range=(-50, 400)), solar, given)
tell(L.RandomSharpness(0.5), {"factor": each(0.1, 0.9)}, {"factor": np.float32([0.1, 0.9])})
for size in ((3, 3), (5, 3), (3, 5)):
    given = {"should_apply_blur": tf.constant([True, False]), "blur_factor": tf.constant([0.6, 0.9])}
    tell(L.RandomGaussianBlur(kernel_size=size), {"apply": turns, "sigma": [0.6, 0.9]}, given)

SHEAR = np.float32([[0.23, -0.13], [-0.37, 0.31]])
for settings in ({}, {"fill_mode": "constant", "fill_value": 9.0, "interpolation": "nearest"}, {"fill_mode": "wrap"}):
    tell(L.RandomShear(0.4, 0.4, **settings), {"across": SHEAR[:, :1], "down": SHEAR[:, 1:]}, {"shear_factor": SHEAR})
PART = rng.uniform(-0.4, 0.4, size=(2, 4, 2)).round(3).astype(np.float32)
start = np.repeat(np.float32([[[0, 0], [6, 0], [0, 5], [6, 5]]]), 2, 0)
for settings in ({}, {"fill_value": 7.0, "interpolation": "nearest"}):
    layer = L.RandomPerspective(scale=0.8, **settings)
    given = {"apply_perspective": tf.constant([True, True]), "start_points": start, "end_points": start + start * PART}
    tell(layer, {"apply": turns | True, "part": PART}, given)

tell(L.RandomCrop(3, 4), {"top": 2, "left": 1}, (2, 1), shape=[None, 3, 4, 3])
for height, width in ((6, 5), (9, 8), (8, 3)):
    layer = L.RandomCrop(height, width)
    tell(layer, {}, layer.get_random_transformation(IMAGES), shape=[None, height, width, 3])
ENDS = [np.float32(n) for n in ([1.2, 0.0], [4.0, 6.5], [0.5, 2.0], [3.01, 5.2])]
BOX = {k: v.reshape(2, 1, 1, 1) for k, v in zip(("left", "right", "top", "bottom"), ENDS)}
erasing = L.RandomErasing(fill_value=(3.0, 300.0, 50.0))
given = {"apply_erasing": tf.constant([True, False]), "batch_masks": erasing._generate_batch_mask(IMAGES.shape, ENDS)}
given["fill_value"] = erasing._get_fill_value(IMAGES, IMAGES.shape, None)
tell(erasing, {"apply": turns, "filling": [3, 255, 50], **BOX}, given)
cut = L.CutMix()
given = {"permutation_order": tf.constant([1, 0]), "batch_masks": cut._generate_batch_mask(IMAGES.shape, ENDS)[0]}
tell(cut, {"order": [1, 0], **BOX}, given)
tell(L.MixUp(), {"order": [1, 0], "weight": each(0.25, 0.9)}, {"mix_weight": np.float32([0.25, 0.9]), "permutation_order": [1, 0]})
for settings in ({}, {"value_range": (-10, 300)}, {"bins": 16}):
    tell(L.Equalization(**settings), {}, None)

normal = tf.random.stateless_normal
tf.random.stateless_normal = lambda **_: tf.constant(NOISE)
for mode in ("reflect", "wrap", "nearest", "constant"):
    layer = L.RandomElasticTransform(fill_mode=mode, fill_value=11.0, interpolation="nearest" if mode == "wrap" else "bilinear")
    given = {"apply_transform": tf.constant([True, True]), "distortion_factor": tf.constant(0.9), "seed": 1}
    tell(layer, {"apply": turns | True, "strength": 0.9, "noise": NOISE}, given, WIDE)
tf.random.stateless_normal = normal

# Without strength, five layers of a policy still change images.
still = {
    "Solarization": L.Solarization(0.0, 0.0),
    "RandomPosterization": L.RandomPosterization(1),
    "AutoContrast": L.AutoContrast(),
    "RandomSharpness": L.RandomSharpness(0.0),
    "Equalization": L.Equalization(),
}
ends = {k: np.asarray(l(IMAGES, training=True)).astype(float).round(3).tolist() for k, l in still.items()}
lists = {
    "RandAugment": L.RandAugment(num_ops=1, factor=0.0).get_config(),
    "AugMix": L.AugMix(num_chains=1, chain_depth=1, factor=0.0).get_config(),
}
jitter = L.RandomColorJitter((0, 255), (0.25, 0.25), None, (0.25, 0.25), (0.0, 0.0))
jittered = np.asarray(jitter(IMAGES, training=True)).astype(float).round(3).tolist()
policies = {"ends": ends, "configs": lists, "jitter": {"config": jitter.get_config(), "result": jittered}}

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "augmentations.json")
with open(path, "w") as f:
    out = {"small": IMAGES.astype(int).tolist(), "wide": WIDE.astype(int).tolist(), "layers": told, "policies": policies}
    json.dump(out, f, default=str, separators=(",", ":"))
