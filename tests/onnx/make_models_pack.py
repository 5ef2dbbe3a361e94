"""Writes fixtures/models.bin.gz from a folder of models: NAME.onnx, and NAME.io.bin with a line of JSON ({tol, sets: [[inputs, outputs]]},
tensors as {d: dtype, s: shape, b: [from, length]}) before the bytes that it points into.

    python tests/onnx/make_models_pack.py FOLDER
"""
import gzip, json, os, sys
import onnx

NAMES = """bert_dynamo bert_fp16 bert_int8_dynamic convnext gru llama_int4 llama_with_past lstm_bidirectional resnet resnet_int8_qdq
scripted_loop_if segmentation t5_encoder unet vad_like vits voice_like whisper_decoder_with_past whisper_encoder""".split()


def main(folder):
    bytes_, tensors, cases = bytearray(), [], []

    def add(data):
        at = len(bytes_)
        bytes_.extend(data)
        return [at, len(data)]

    for name in NAMES:
        file = open(os.path.join(folder, name + ".onnx"), "rb").read()
        graph = onnx.load_from_string(file).graph
        given = {t.name for t in graph.initializer}
        order = [[v.name for v in graph.input if v.name not in given], [v.name for v in graph.output]]
        raw = open(os.path.join(folder, name + ".io.bin"), "rb").read()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        line = raw.index(b"\n")
        head, body = json.loads(raw[:line]), raw[line + 1:]

        def reference(t):
            at, length = t["b"]
            tensors.append({"d": t["d"], "s": t["s"], "b": add(body[at:at + length])})
            return len(tensors) - 1

        sets = [[[reference(side[n]) for n in names] for side, names in zip(pair, order)] for pair in head["sets"]]
        cases.append({"n": name, "m": add(file), "sets": sets, "scale": head["tol"]})
    head = json.dumps({"tensors": tensors, "cases": cases}, separators=(",", ":")).encode()
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "models.bin.gz")
    with open(target, "wb") as out:
        out.write(gzip.compress(head + b"\n" + bytes(bytes_), 9, mtime=0))


main(sys.argv[1])
