/** Each block of code in README and guides runs as it is printed, or stands here with the reason why not. */

import { assert, assertEquals } from "@std/assert";
import { blocksOf, examplesOf } from "../../tools/doc_test.ts";
import { exists, list } from "../../tools/files.ts";

/** Documents by the first line of those of their blocks that `deno task ok doc-test` leaves out, and why. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "README.md": {
    "deno add jsr:@weft/weft       # Deno":
      "nothing is published; tests/package_test.ts installs what would be",
    "npx --yes deno@2.9 task demo   # trains a CNN on MNIST: a graph with two script ops, learning from real data":
      "fetches Deno; tests/examples/mnist_test.ts and tests/site/served.ts run what they start",
  },
  "docs/browsers_and_node.md": {
    '<script type="importmap">': "tests/documents/printed_test.ts shows it in Chromium",
    "{": "tests/documents/printed_test.ts has a page import by it",
    "const camera = await tf.data.webcam(video, { resizeWidth: 224, resizeHeight: 224 }); // a <video>; asks the user":
      "wants a camera and a drop; tests/data/capture_test.ts has a made camera, tests/site/models_test.ts drops files",
    'import * as tf from "@weft/weft";': "tests/documents/printed_test.ts runs it in a worker",
    'import { create, globals } from "webgpu"; // npm install webgpu':
      "the package is native code for GPUs that are there, and fetches it; no test has it",
  },
  "docs/data.md": {
    'const Tout = tf.TensorSpec([64, 64, 3], "float32");':
      "tests/documents/printed_test.ts runs it beside a module of that name",
  },
  "docs/from_tensorflow_js.md": {
    'import * as tf from "@tensorflow/tfjs-core";':
      "tests/tfjs_core/installed_test.ts trains layers over what npm installs by the overrides",
    "{":
      "names files that are made by hand; tests/tfjs_core/installed_test.ts has what npm makes of it",
  },
  "docs/getting_started.md": {
    "deno add jsr:@weft/weft       # Deno":
      "nothing is published; tests/package_test.ts installs what would be",
    "npm install ./weft-weft-0.1.0.tgz @bufbuild/protobuf   # the packed file: Node, bundlers and Deno":
      "tests/package_test.ts runs what is installed so",
  },
  "docs/in_a_page.md": {
    "const done = (request) =>":
      "wants the IndexedDB of a page; the block of docs/save_and_load.md restores the same bytes",
    'import * as tf from "@weft/weft";':
      "wants elements of a page; tests/onnx/load_test.ts runs models so, tests/browser has pixels",
  },
  "docs/models.md": {
    "const step = tf.function((x: tf.Tensor, labels: tf.Tensor) =>":
      "wants a model of these names; tests/tf/objects_test.ts trains one by these calls",
    'import * as tf from "@weft/weft";':
      "tests/documents/printed_test.ts runs it beside models of these names",
    'import * as tf from "@tensorflow/tfjs-core";':
      "wants the overrides; tests/tfjs_core/keras/text_layers_test.ts runs it over this library's core",
    'import * as tfl from "@tensorflow/tfjs-layers";':
      "asks an address that is an example; tests/tfjs_core/keras/keras_test.ts loads files by these calls",
  },
  "docs/ort.md": {
    "{": "tests/ort/packages_test.ts installs packages by these overrides",
    '<script type="importmap">': "tests/ort/pages_test.ts has pages of these packages",
    "export default {": "a setting of Vite; tests/ort/pages_test.ts bundles by the same names",
    "const session = await ort.InferenceSession.create(url, {":
      "wants a decoder and a GPU; tests/ort/memory_test.ts takes these options",
  },
  "docs/serve.md": {
    "deno run -A jsr:@weft/weft/serve exported/ --port=8501":
      "nothing is published; tests/serve/command_test.ts starts it with these options",
    'import { createHandler } from "@weft/weft/serve";':
      "tests/documents/printed_test.ts runs it over a stand-in for the adapter",
    'import express from "express";':
      "tests/documents/printed_test.ts runs it over a stand-in for Express",
    "import json, urllib.request as http":
      "a program of Python's; tests/serve/command_test.ts sends the same request",
    "FROM denoland/deno:2.9.0": "nothing is published, and tests have no containers",
  },
};

for (const file of ["README.md", ...list("docs", ".md")]) {
  Deno.test(`each block of ${file} runs, or says why not`, () => {
    const blocks = blocksOf(file), reasons = ELSEWHERE[file] ?? {};
    const left = blocks.filter(({ isRun }) => !isRun).map(({ text }) => text.split("\n")[0]!);
    assertEquals([...new Set(left)].sort(), Object.keys(reasons).sort());
    assertEquals(examplesOf(file).length + left.length, blocks.length);
    for (const reason of Object.values(reasons)) {
      for (const [test] of reason.matchAll(/tests\/[\w/]+\.ts/g)) assert(exists(test), test);
    }
  });
}
