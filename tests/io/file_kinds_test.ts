/** Loaders that get a file of another kind say what it looks like, and none speaks of a format's insides. */

import * as tf from "@weft/weft";
import { loadKeras } from "@weft/weft/keras";
import { loadOnnx } from "@weft/weft/onnx";
import { InferenceSession } from "@weft/weft/ort";
import { loadSavedModel, readGraphDef } from "@weft/weft/tf";
import * as tfl from "@tensorflow/tfjs-layers";
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { kindOfFile } from "../../src/library/io/kinds/file_kinds.ts";
import { writeZip } from "../../src/library/io/zip.ts";

const { DataLossError } = tf.errors;
const text = (s: string) => new TextEncoder().encode(s);
const bytes = (s: string, rest = 300) =>
  new Uint8Array([...Array.from(s, (c) => c.charCodeAt(0)), ...new Uint8Array(rest)]);

const zipped = (...names: string[]) => writeZip(names.map((name) => [name, text("{}")] as const));

/** Files, what they look like, and the loaders that take them. */
const FILES: readonly (readonly [string, Uint8Array, RegExp, ...string[]])[] = [
  ["page.html", text("<!DOCTYPE html>\n<html><title>404</title></html>"), /a page of HTML/],
  ["empty", new Uint8Array(), /an empty file/, "graph"],
  ["pointer", text("version https://git-lfs.github.com/spec/v1\noid sha256:4d\n"), /Git LFS/],
  ["m.h5", bytes("\x89HDF\r\n\x1a\n"), /an HDF5 file \(\.h5\)/, "keras"],
  ["m.tflite", bytes("\x1c\0\0\0TFL3"), /TensorFlow Lite/],
  ["m.pt", zipped("archive/data.pkl", "archive/version"), /PyTorch \(\.pt\)/],
  ["old.pt", bytes("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), /a pickle of Python/],
  ["m.keras", zipped("metadata.json", "config.json"), /Keras \(\.keras\)/, "keras"],
  ["m.safetensors", await tf.io.writeSafetensors({ w: tf.tensor([1]) }), /a safetensors file/],
  ["m.gguf", bytes("GGUF\x03\0\0\0"), /\.gguf/],
  ["a.npy", await tf.io.writeNpy(tf.tensor([1, 2])), /NumPy \(\.npy\)/],
  ["m.gz", bytes("\x1f\x8b\x08\0"), /gzip/],
  ["model.json", text('{"modelTopology": {}}'), /a text of JSON/, "model.json", "graph"],
  ["answer", text("Not found"), /a text that begins with "Not found"/, "graph"],
];

/** Loaders by what they want. */
const LOADERS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  "onnx": (path) => loadOnnx(path),
  "onnx as bytes": async (path) => await loadOnnx(await Deno.readFile(path)),
  "onnx as a stream": async (path) => await loadOnnx((await Deno.open(path)).readable),
  "ort": async (path) => await InferenceSession.create(await Deno.readFile(path)),
  "saved model": async (path) => {
    await Deno.mkdir(`${path}_folder`, { recursive: true });
    await Deno.copyFile(path, `${path}_folder/saved_model.pb`);
    return await loadSavedModel(`${path}_folder`);
  },
  "graph": async (path) => {
    await Deno.copyFile(path, `${path}.pb`);
    return await readGraphDef(`${path}.pb`);
  },
  "model.json": (path) => tf.loadGraphModel(path),
  "keras": (path) => loadKeras(tfl, path),
  "safetensors": async (path) => tf.io.readSafetensors(await Deno.readFile(path)),
  "npy": async (path) => tf.io.readNpy(await Deno.readFile(path)),
};

for (const [loader, load] of Object.entries(LOADERS)) {
  Deno.test(`${loader}: a file of another kind is named for what it looks like`, async () => {
    await tf.setBackend("cpu");
    const folder = await Deno.makeTempDir();
    try {
      for (const [name, content, looks, ...takers] of FILES) {
        const path = `${folder}/${name}`, own = name.endsWith(`.${loader}`);
        if (own || takers.some((taker) => loader.startsWith(taker))) continue;
        await Deno.writeFile(path, content);
        const { message } = await assertRejects(() => load(path), DataLossError);
        // The length of what is there says enough.
        if (/it has 0 bytes/.test(message)) continue;
        assertMatch(message, looks, `${loader}, ${name}`);
        assertEquals(message.match(/looks like/g)?.length, 1, message);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("kindOfFile() knows models, and nothing of bytes that tell nothing", () => {
  assertMatch(kindOfFile(bytes("\x08\x0a\x12\x07pytorch"))!, /ONNX/);
  assertMatch(kindOfFile(bytes("\x08\x01\x12"))!, /SavedModel/);
  assertEquals(kindOfFile(bytes("\xff\xfe\0\x12")), null);
});
