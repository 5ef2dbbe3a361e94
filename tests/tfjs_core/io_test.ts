/** `tf.io` of the TensorFlow.js entry: bytes of weights, handlers of memory, files, servers and local storage. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

// First: whichever is loaded first is the engine that bundled copies of TensorFlow.js find.
import * as tfjs from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@weft/weft/tfjs-core";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { Any } from "../script/helpers.ts";

// Without it TensorFlow.js gives advice about Node on the console.
tfjs.enableProdMode();

const { io } = tf;
type Artifacts = tf.io.ModelArtifacts;

const TENSORS: readonly (readonly [name: string, values: Any, shape: number[], dtype: Any])[] = [
  ["w", [1, -2, 0.5, 3e38], [2, 2], "float32"],
  ["n", [1, -7], [2], "int32"],
  ["b", [true, false, true], [3], "bool"],
  ["s", ["weft", "", "naïve"], [3], "string"],
  ["none", [], [0, 2], "float32"],
];

function tensorsOf(lib: Any): Record<string, Any> {
  const entries = TENSORS.map((
    [name, values, shape, dtype],
  ) => [name, lib.tensor(values, shape, dtype)]);
  return { ...Object.fromEntries(entries), c: lib.complex([1, 2], [3, 4]) };
}

/** A model as it is saved. */
async function artifacts(): Promise<Artifacts> {
  const { data, specs } = await io.encodeWeights(tensorsOf(tf));
  return {
    modelTopology: { class_name: "Sequential", config: [] },
    weightSpecs: specs,
    weightData: data,
    format: "layers-model",
    generatedBy: "a test",
    convertedBy: null,
    userDefinedMetadata: { note: { a: 1 } },
  };
}

/** Returns a model with its bytes in one piece. */
function plain({ weightData, ...rest }: Artifacts): unknown {
  const known = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
  return [Object.fromEntries(known), [
    ...new Uint8Array(tf.io.CompositeArrayBuffer.join(weightData!)),
  ]];
}

Deno.test("encodeWeights() writes the bytes that TensorFlow.js writes, and decodeWeights() reads them", async () => {
  await tfjs.setBackend("cpu");
  await tf.setBackend("cpu");
  const wanted = await tfjs.io.encodeWeights(tensorsOf(tfjs), "model");
  const found = await io.encodeWeights(tensorsOf(tf), "model");
  assertEquals(found.specs, wanted.specs as Any);
  assertEquals(new Uint8Array(found.data), new Uint8Array(wanted.data));

  // In pieces that end within elements.
  const pieces = [found.data.slice(0, 5), found.data.slice(5, 6), found.data.slice(6)];
  for (const data of [found.data, pieces]) {
    const decoded = io.decodeWeights(data, found.specs);
    for (const [name, tensor] of Object.entries(tensorsOf(tf))) {
      assertEquals([decoded[name].dtype, decoded[name].shape], [tensor.dtype, tensor.shape]);
      assertEquals(await decoded[name].array(), await tensor.array());
    }
  }
  const stream = new ReadableStream<ArrayBuffer>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const streamed = await io.decodeWeightsStream(stream, found.specs);
  assertEquals(await streamed.s.array(), ["weft", "", "naïve"] as Any);
});

Deno.test("decodeWeights() makes quantized weights what they stand for", async () => {
  const specs: Any[] = [
    {
      name: "q",
      shape: [3],
      dtype: "float32",
      quantization: { dtype: "uint8", scale: 0.5, min: -1 },
    },
    { name: "h", shape: [2], dtype: "float32", quantization: { dtype: "float16" } },
  ];
  const bytes = new Uint8Array([0, 2, 255, 0, 0x3c, 0, 0xc0]);
  const { q, h } = io.decodeWeights(bytes.buffer, specs);
  assertEquals([await q.array(), await h.array()] as Any, [[-1, 0, 126.5], [1, -2]]);
  assertThrows(() => io.decodeWeights(new ArrayBuffer(2), specs));
});

Deno.test("a model comes back from memory and from files as it was", async () => {
  const given = await artifacts();
  assertEquals(plain(await io.fromMemory(given).load!()), plain(given));
  assertEquals(plain(io.fromMemorySync(given).load!()), plain(given));

  const folder = await Deno.makeTempDir({ prefix: "weft-model-" });
  try {
    const [handler] = io.getSaveHandlers(`file://${folder}/model`);
    const { modelArtifactsInfo } = await handler.save!(given);
    assertEquals(modelArtifactsInfo.weightDataBytes, (given.weightData as ArrayBuffer).byteLength);
    const [loader] = io.getLoadHandlers(`file://${folder}/model/model.json`);
    assertEquals(plain(await loader.load!()), plain(given));
    await assertRejects(() => io.getLoadHandlers(`file://${folder}/none.json`)[0].load!());
    await Deno.writeTextFile(`${folder}/bad.json`, "{");
    await assertRejects(() => io.fileSystem(`${folder}/bad.json`).load!(), Error, "no JSON");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a model is sent to a server and loaded from it, at once and as a stream", async () => {
  const given = await artifacts();
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    asked.push(pathname + search);
    if (request.method === "POST") {
      for (const [name, file] of await request.formData()) {
        files.set(`/models/${name}`, new Uint8Array(await (file as File).arrayBuffer()));
      }
      return new Response("saved");
    }
    const found = files.get(pathname);
    return found ? new Response(found) : new Response("none", { status: 404 });
  });
  try {
    const url = `http://127.0.0.1:${server.addr.port}/models/model.json?key=1`;
    const [saver] = io.getSaveHandlers(url);
    const { responses } = await saver.save!(given);
    assertEquals(await responses![0].text(), "saved");

    const progress: number[] = [];
    const handler = io.http(url, { onProgress: (fraction) => void progress.push(fraction) });
    assertEquals(plain(await handler.load!()), plain(given));
    assertEquals(progress, [0.5, 1]);
    assertEquals(asked.at(-1), "/models/model.weights.bin?key=1");

    const streamed = await io.http(url, { streamWeights: true }).load!();
    assertEquals(streamed.weightData, undefined);
    const tensors = await io.decodeWeightsStream(
      streamed.getWeightStream!(),
      streamed.weightSpecs!,
    );
    assertEquals(await tensors.n.array(), [1, -7]);

    const { w } = await io.loadWeights(
      [{ paths: ["model.weights.bin"], weights: given.weightSpecs! }],
      new URL("/models", url).href,
      ["w"],
    );
    assertEquals(w.shape, [2, 2]);

    const missing = io.http(new URL("/models/none.json", url).href);
    await assertRejects(() => missing.load!(), Error, "404");
    const refused = io.http(url, {
      fetchFunc: () => Promise.resolve(new Response("", { status: 500 })),
    });
    await assertRejects(() => refused.save!(given), Error, "500");
  } finally {
    await server.shutdown();
  }
});

Deno.test("models chosen as files are loaded, and what does not fit is refused", async () => {
  const given = await artifacts();
  const manifest = [{ paths: ["./w.bin"], weights: given.weightSpecs! }];
  const json = new File([
    JSON.stringify({
      ...given,
      weightData: undefined,
      weightSpecs: undefined,
      weightsManifest: manifest,
    }),
  ], "model.json");
  const bytes = new File([given.weightData as ArrayBuffer], "w.bin");
  assertEquals(plain(await io.browserFiles([json, bytes]).load!()), plain(given));
  await assertRejects(
    () => io.browserFiles([json, new File([], "other.bin")]).load!(),
    Error,
    "w.bin",
  );
  await assertRejects(() => io.browserFiles([json, bytes, bytes]).load!(), Error, "number");
  await assertRejects(
    () => io.browserFiles([new File(["{"], "model.json")]).load!(),
    Error,
    "model.json",
  );
  assertThrows(() => io.browserFiles([]), Error, "at least 1 file");
});

Deno.test("routers are asked in order, and unknown URLs have no handler", () => {
  assertEquals(io.getLoadHandlers("nowhere://model"), []);
  const router = (url: Any) => url === "mine://model" ? io.fromMemory({ modelTopology: {} }) : null;
  io.registerLoadRouter(router);
  assertEquals(io.getLoadHandlers("mine://model").length, 1);
  assertEquals(io.getLoadHandlers("mine://other").length, 0);
});

Deno.test("models are moved by their URLs, and places that do not exist are named", async () => {
  await assertRejects(() => io.removeModel("nowhere"), Error, "scheme");
  await assertRejects(() => io.removeModel("nowhere://x"), Error, "nowhere");
  await assertRejects(() => io.copyModel("mine://a", "mine://a"), Error, "same");
  assertEquals(typeof await io.listModels(), "object");
});

Deno.test("texts read from tensors of the entry are texts", async () => {
  using t = tf.tensor1d(["weft", "naïve"]);
  assertEquals(await t.data() as Any, ["weft", "naïve"]);
  assertEquals(t.dataSync() as Any, ["weft", "naïve"]);
  assertEquals((await t.bytes() as Uint8Array[])[0], new TextEncoder().encode("weft"));
  assertEquals((await t.buffer()).get(1), "naïve");
  const array = await t.ndarray();
  assert(array.data instanceof Array && array.data[0] instanceof Uint8Array);
});
