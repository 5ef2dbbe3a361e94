"""BMP and GIF files, with the pixels TensorFlow 2.21 decodes of them: fixtures/pictures.json.

usage: python tests/io/make_picture_fixtures.py
"""
import base64
import json
import os
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
random = np.random.RandomState(3)


def bmp(height, width, bits, top_down=False):
    stride = (bits // 8 * width + 3) // 4 * 4
    header = b"BM" + struct.pack("<IHHI", 0, 0, 0, 54) + struct.pack(
        "<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 0, 0, 0, 0, 0, 0)
    return header + random.bytes(stride * height)


def packed(indices, least):
    """The codes of a picture, as any encoder writes them."""
    clear, out, held, bits = 1 << least, bytearray(), 0, 0
    table, width, before = {}, least + 1, ()

    def put(code):
        nonlocal held, bits
        held |= code << bits
        bits += width
        while bits >= 8:
            out.append(held & 255)
            held >>= 8
            bits -= 8

    def start():
        nonlocal table, width
        table, width = {(i,): i for i in range(clear)}, least + 1

    start()
    put(clear)
    size = clear + 2
    for index in indices:
        longer = before + (int(index),)
        if longer in table:
            before = longer
            continue
        put(table[before])
        if size < 4096:
            table[longer] = size
            size += 1
            if size > 1 << width and width < 12:
                width += 1
        else:
            put(clear)
            start()
            size = clear + 2
        before = longer[-1:]
    if before:
        put(table[before])
    put(clear + 1)
    if bits:
        out.append(held & 255)
    return bytes(out)


def blocks(data):
    return b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


def frame(indices, left=0, top=0, colors=None, interlaced=False, clear=None, bits=2):
    height, width = indices.shape
    out = b""
    if clear is not None:
        out += b"\x21\xf9\x04" + bytes([1, 0, 0, clear]) + b"\0"
    flags = (0x40 if interlaced else 0) | (0x80 | (bits - 1) if colors is not None else 0)
    out += b"\x2c" + struct.pack("<HHHHB", left, top, width, height, flags)
    if colors is not None:
        out += colors.astype(np.uint8).tobytes()
    if interlaced:
        indices = np.concatenate([indices[a::b] for a, b in ((0, 8), (4, 8), (2, 4), (1, 2))])
    return out + bytes([max(2, bits)]) + blocks(packed(indices.ravel(), max(2, bits)))


def gif(width, height, frames, bits=2):
    colors = random.randint(0, 256, (1 << bits, 3)).astype(np.uint8)
    return (b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | (bits - 1), 0, 0) + colors.tobytes() +
            b"\x21\xfe" + blocks(b"a comment") + b"".join(frames) + b"\x3b")


def picture(height, width, bits=2):
    return random.randint(0, 1 << bits, (height, width))


FILES = {
    "gray": ("bmp", bmp(3, 5, 8)), "colors": ("bmp", bmp(4, 3, 24)), "opacity": ("bmp", bmp(2, 3, 32)),
    "top down": ("bmp", bmp(3, 2, 24, True)),
    "one frame": ("gif", gif(5, 4, [frame(picture(4, 5))])),
    "interlaced": ("gif", gif(3, 13, [frame(picture(13, 3), interlaced=True)])),
    "frames over each other": ("gif", gif(5, 4, [
        frame(picture(4, 5)), frame(picture(2, 3), 1, 2), frame(picture(4, 5), clear=1),
        frame(picture(3, 2), 3, 1, random.randint(0, 256, (8, 3)), bits=3, clear=2)])),
    "a small first frame": ("gif", gif(6, 5, [frame(picture(2, 3), 2, 1), frame(picture(5, 6), clear=0)])),
    "a larger canvas": ("gif", gif(9, 8, [frame(picture(2, 3), 1, 1)])),
    "flat": ("gif", gif(40, 40, [frame(np.zeros((40, 40), int))])),
    "many codes": ("gif", gif(90, 80, [frame(picture(80, 90, 8), bits=8, colors=random.randint(0, 256, (256, 3)))])),
}


def main():
    cases = []
    for name, (kind, data) in FILES.items():
        y = (tf.io.decode_bmp if kind == "bmp" else tf.io.decode_gif)(data).numpy()
        case = {"name": name, "kind": kind, "file": base64.b64encode(data).decode(), "shape": list(y.shape)}
        case["pixels"] = base64.b64encode(y.tobytes()).decode()
        cases.append(case)
    with open(os.path.join(FOLDER, "pictures.json"), "w") as f:
        json.dump(cases, f)


main()
