/** Weights of TensorFlow.js models: quantized, sharded, strings; files from disk and from a server. */

import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { affine, joined, model, node, type, weight } from "./models.ts";

type Spec = NonNullable<tf.ModelArtifacts["weightSpecs"]>[number];

/** A model that gives its weights. */
function given(spec: Omit<Spec, "name">, bytes: ArrayBuffer, dtype = "FLOAT"): tf.ModelArtifacts {
  return {
    ...model([weight("w", dtype), node("Identity", "y", ["w"], { T: type(dtype) })]),
    weightSpecs: [{ name: "w", ...spec }],
    weightData: bytes,
  };
}

async function valuesOf(artifacts: tf.ModelArtifacts): Promise<unknown> {
  const m = await tf.loadGraphModel(artifacts);
  const y = m.execute({}, "y") as tf.Tensor;
  const values = await y.array();
  m.dispose();
  return values;
}

const CASES: [string, Omit<Spec, "name" | "shape">, ArrayBufferView, unknown, string?][] = [
  ["float32", { dtype: "float32" }, Float32Array.of(1.5, -2, 3), [1.5, -2, 3]],
  ["int32", { dtype: "int32" }, Int32Array.of(1, -2, 1 << 30), [1, -2, 1 << 30], "INT32"],
  ["bool", { dtype: "bool" }, Uint8Array.of(1, 0, 1), [true, false, true], "BOOL"],
  [
    "uint8",
    { dtype: "float32", quantization: { dtype: "uint8", scale: 0.5, min: -1 } },
    Uint8Array.of(0, 3, 255),
    [-1, 0.5, 126.5],
  ],
  [
    "uint16",
    { dtype: "float32", quantization: { dtype: "uint16", scale: 0.25, min: 2 } },
    Uint16Array.of(0, 1, 65535),
    [2, 2.25, 16385.75],
  ],
  [
    "uint8 integers",
    { dtype: "int32", quantization: { dtype: "uint8", scale: 1.4, min: -1 } },
    Uint8Array.of(0, 1, 2),
    [-1, 0, 2],
    "INT32",
  ],
  [
    "float16",
    { dtype: "float32", quantization: { dtype: "float16" } },
    // 1, the least subnormal number, minus infinity.
    Uint16Array.of(0x3c00, 0x0001, 0xfc00),
    [1, 2 ** -24, -Infinity],
  ],
];

for (const [name, spec, bytes, values, dtype] of CASES) {
  testOnDevices(`weights stored as ${name} are read`, async () => {
    const artifacts = given({ ...spec, shape: [3] }, joined(bytes), dtype);
    // A GPU computes with subnormal numbers as it likes, and reads them as they are.
    assertEquals(await valuesOf(artifacts), values);
  });
}

Deno.test("weights that are strings are read, whatever their bytes are", async () => {
  const string = (...bytes: number[]) =>
    joined(Uint32Array.of(bytes.length), Uint8Array.from(bytes));
  const all = [string(104, 105), string(), string(0xc3, 0xa9)].map((b) => new Uint8Array(b));
  const artifacts = given({ shape: [3], dtype: "string" }, joined(...all), "STRING");
  assertEquals(await valuesOf(artifacts), ["hi", "", "é"]);
});

Deno.test("weights lie anywhere in the shards", async () => {
  const bytes = new Uint8Array(joined(Uint8Array.of(1), Float32Array.of(2, 3), Uint8Array.of(9)));
  const artifacts: tf.ModelArtifacts = {
    ...model([
      weight("odd", "BOOL"),
      weight("w"),
      weight("q"),
      node("Mul", "y", ["w", "q"]),
    ]),
    weightSpecs: [
      { name: "odd", shape: [], dtype: "bool" },
      { name: "w", shape: [2], dtype: "float32" },
      {
        name: "q",
        shape: [],
        dtype: "float32",
        quantization: { dtype: "uint8", scale: 1, min: 0 },
      },
    ],
  };
  for (const cut of [0, 1, 2, 5, 9, 10]) {
    const weightData = [bytes.slice(0, cut).buffer, bytes.slice(cut).buffer];
    assertEquals(await valuesOf({ ...artifacts, weightData }), [18, 27], `cut at ${cut}`);
  }
});

Deno.test("loadGraphModel() refuses weights that are not there or make no sense", async () => {
  const four = new ArrayBuffer(4);
  const cases: [Omit<Spec, "name">, new (...args: never[]) => Error, string][] = [
    [{ shape: [2], dtype: "float32" }, tf.errors.DataLossError, "weight w: the files end before"],
    [{ shape: [2 ** 40], dtype: "float32" }, tf.errors.DataLossError, "the files end before"],
    [{ shape: [-1], dtype: "float32" }, tf.ValueError, "its shape is [-1]"],
    [{ shape: [1], dtype: "float7" }, tf.errors.DataLossError, "float7"],
    [{ shape: [2], dtype: "string" }, tf.errors.DataLossError, "the files end before"],
    [
      { shape: [1], dtype: "bool", quantization: { dtype: "uint8", scale: 1, min: 0 } },
      tf.ValueError,
      "bool is not stored quantized",
    ],
    [
      { shape: [1], dtype: "float32", quantization: { dtype: "uint8" } },
      tf.ValueError,
      "no scale and min",
    ],
    [
      { shape: [1], dtype: "float32", quantization: { dtype: "int4" as "uint8" } },
      tf.ValueError,
      "wanted uint8, uint16 or float16",
    ],
  ];
  for (const [spec, error, text] of cases) {
    await assertRejects(() => tf.loadGraphModel(given(spec, four)), error, text);
  }
  const twice = given({ shape: [], dtype: "float32" }, new ArrayBuffer(8));
  const [w] = twice.weightSpecs!;
  await assertRejects(
    () => tf.loadGraphModel({ ...twice, weightSpecs: [w, w] }),
    tf.ValueError,
    '"w" is there twice',
  );
});

/** The model of two weights as files, each weight cut in two. */
function files(): Record<string, Uint8Array> {
  const { weightSpecs, weightData, ...rest } = affine();
  const bytes = new Uint8Array(weightData as ArrayBuffer);
  const json = {
    ...rest,
    weightsManifest: [
      { paths: ["a-1.bin", "a-2.bin"], weights: weightSpecs!.slice(0, 1) },
      { paths: ["b.bin"], weights: weightSpecs!.slice(1) },
    ],
  };
  return {
    "model.json": new TextEncoder().encode(JSON.stringify(json)),
    "a-1.bin": bytes.slice(0, 3),
    "a-2.bin": bytes.slice(3, 8),
    "b.bin": bytes.slice(8),
  };
}

async function written(): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const [name, bytes] of Object.entries(files())) {
    await Deno.writeFile(`${folder}/${name}`, bytes);
  }
  return folder;
}

Deno.test("loadGraphModel() reads files, by path and by URL, and tells how far it is", async () => {
  const folder = await written();
  for (const source of [`${folder}/model.json`, new URL(`file://${folder}/model.json`)]) {
    const seen: number[] = [];
    const m = await tf.loadGraphModel(source, { onProgress: (f) => seen.push(f) });
    assertEquals((m.predict([[1, 1]]) as tf.Tensor).arraySync(), [[12, 23]]);
    assertEquals(seen, [0, 1 / 3, 2 / 3, 1]);
    assertEquals(m.modelUrl, String(source));
    m.dispose();
  }
});

Deno.test("loadGraphModel() reads a server's files, signed URLs too", async () => {
  const all = files(), asked: string[] = [];
  await using server = Deno.serve({ port: 0, onListen() {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(search);
    const bytes = all[pathname.slice(3)];
    return bytes === undefined
      ? new Response("no", { status: 404 })
      : new Response(bytes as Uint8Array<ArrayBuffer>);
  });
  const base = `http://localhost:${server.addr.port}`;
  const m = await tf.loadGraphModel(`${base}/m/model.json?key=7`);
  assertEquals((m.predict([[1, 1]]) as tf.Tensor).arraySync(), [[12, 23]]);
  assertEquals(asked, ["?key=7", "?key=7", "?key=7", "?key=7"]);
  m.dispose();
  await assertRejects(
    () => tf.loadGraphModel(`${base}/m/other.json`),
    tf.errors.NotFoundError,
    "the server answered 404",
  );
});

Deno.test("loadGraphModel() names the file that is missing or broken", async () => {
  const folder = await written();
  await Deno.remove(`${folder}/b.bin`);
  const load = () => tf.loadGraphModel(`${folder}/model.json`);
  await assertRejects(load, tf.errors.NotFoundError, "b.bin");
  await Deno.writeFile(`${folder}/b.bin`, new Uint8Array(7));
  await assertRejects(load, tf.errors.DataLossError, `${folder}/model.json: `);
  await Deno.writeTextFile(`${folder}/model.json`, "{");
  await assertRejects(load, tf.errors.DataLossError, "it is no JSON");
  for (const text of ["null", "[]", "7", '{"modelTopology":null}']) {
    await Deno.writeTextFile(`${folder}/model.json`, text);
    await assertRejects(load, tf.errors.DataLossError, "it has no graph");
  }
});

Deno.test("a handler's load() gives the model", async () => {
  const m = await tf.loadGraphModel({ load: () => Promise.resolve(affine()) });
  assertEquals(m.inputs.length, 1);
  m.dispose();
});
