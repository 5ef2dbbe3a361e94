/** Both protocols of createHandler: what they answer, and what they refuse. */
import * as tf from "@weft/weft";
import { encodeOnnx, loadOnnx } from "@weft/weft/onnx";
import { createHandler } from "@weft/weft/serve";
import { assert, assertEquals, assertMatch, assertNotMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { ask, several, square } from "./models.ts";

testOnDevices("predict takes rows and columns as TensorFlow Serving does", async () => {
  const { fetch } = createHandler({ models: { square: square().f, several: several() } });
  const rows = await ask(fetch, "/v1/models/square:predict", { instances: [[1, 2], [3, 4]] });
  assertEquals([rows.status, await rows.json()], [200, { predictions: [[1, 4], [9, 16]] }]);
  const columns = await ask(fetch, "/v1/models/square/versions/1:predict", { inputs: [[5, 6]] });
  assertEquals(await columns.json(), { outputs: [[25, 36]] });
  const named = await ask(fetch, "/v1/models/several:predict", {
    instances: [{ text: "a", n: 1, flag: true }, { text: { b64: "/w==" }, n: 2, flag: false }],
  });
  assertEquals(await named.json(), {
    predictions: [{ text: "a", sum: 2, flag: false }, {
      text: { b64: "/w==" },
      sum: 4,
      flag: true,
    }],
  });
});

testOnDevices("models of ONNX are served as they are", async () => {
  const f = tf.function((x: tf.Tensor) => ({ y: tf.square(x) }), {
    inputSignature: [tf.TensorSpec([null, 2], "float32", "x")],
  });
  const { fetch } = createHandler({
    models: { square: await loadOnnx(encodeOnnx(f)) },
    batching: { maxRows: 4 },
  });
  const rows = await ask(fetch, "/v1/models/square:predict", { instances: [[1, 2], [3, 4]] });
  assertEquals([rows.status, await rows.json()], [200, { predictions: [[1, 4], [9, 16]] }]);
  const told = await (await fetch(new Request("http://localhost/v2/models/square"))).json();
  assertEquals(told.inputs, [{ name: "x", datatype: "FP32", shape: [-1, 2] }]);
  const wrong = await ask(fetch, "/v1/models/square:predict", { instances: [[1, 2, 3]] });
  assertEquals([wrong.status, (await wrong.json()).error], [
    400,
    'Cannot take input "x" of square: its shape is [1,3], wanted [?,2]',
  ]);
});

Deno.test("predict keeps 64-bit integers and numbers that JSON has not", async () => {
  const { fetch } = createHandler({ models: { square: square().f, several: several() } });
  const long = await ask(
    fetch,
    "/v1/models/several:predict",
    `{"inputs": {"text": ["1234567890123456789 NaN"], "n": [2305843009213693953], "flag": [0]}}`,
  );
  assertEquals(
    await long.text(),
    `{"outputs":{"text":["1234567890123456789 NaN"],"sum":[4611686018427387906],"flag":[true]}}`,
  );
  const special = await ask(
    fetch,
    "/v1/models/square:predict",
    `{"signature_name": "serving_default", "instances": [[NaN, -Infinity], [1e30, 2]]}`,
  );
  assertEquals(await special.text(), `{"predictions":[[NaN,Infinity],[Infinity,4]]}`);
});

testOnDevices("what a body throws is answered with its text, without a stack", async () => {
  const failing = tf.function((x: tf.Tensor) =>
    tf.numpyFunction(
      (_: tf.NdArray): tf.NdArray => {
        throw new TypeError("These rows are\nno pictures");
      },
      [x],
      "float32",
    ), { inputSignature: [tf.TensorSpec([null, 2], "float32", "x")] });
  const { fetch } = createHandler({ models: { failing } });
  const metadata = await (await ask(fetch, "/v2/models/failing")).json();
  assertEquals(metadata.outputs.map(({ name }: { name: string }) => name), ["output_0"]);
  const answer = await ask(fetch, "/v1/models/failing:predict", { instances: [[1, 2]] });
  const { error } = await answer.json();
  assertEquals(answer.status, 400);
  assertMatch(error, /^TypeError: These rows are\nno pictures\n/);
  assertMatch(error, /\[\[\{\{node PyFunc\}\}\]\]/);
  assertNotMatch(error, /handler_test|https?:|file:/);
});

testOnDevices("infer answers in JSON and in bytes", async () => {
  const { fetch } = createHandler({ models: { square: square().f, several: several() } });
  const input = { name: "x", shape: [1, 2], datatype: "FP32" };
  const json = await ask(fetch, "/v2/models/square/infer", {
    id: "7",
    inputs: [{ ...input, data: [3, 4] }],
  });
  assertEquals(await json.json(), {
    id: "7",
    model_name: "square",
    model_version: "1",
    outputs: [{ name: "y", datatype: "FP32", shape: [1, 2], data: [9, 16] }],
  });
  const head = new TextEncoder().encode(JSON.stringify({
    inputs: [{ ...input, parameters: { binary_data_size: 8 } }],
    outputs: [{ name: "y", parameters: { binary_data: true } }],
  }));
  const body = new Uint8Array([...head, ...new Uint8Array(new Float32Array([0.1, 5]).buffer)]);
  const binary = await ask(fetch, "/v2/models/square/infer", body, {
    "inference-header-content-length": `${head.length}`,
  });
  const bytes = new Uint8Array(await binary.arrayBuffer());
  const length = Number(binary.headers.get("inference-header-content-length"));
  assertEquals(JSON.parse(new TextDecoder().decode(bytes.subarray(0, length))).outputs[0], {
    name: "y",
    datatype: "FP32",
    shape: [1, 2],
    parameters: { binary_data_size: 8 },
  });
  const y = new Float32Array(bytes.slice(length).buffer);
  using x = tf.tensor([[0.1, 5]]);
  using local = tf.square(x);
  assertEquals(y, local.dataSync() as Float32Array, "a local call gives the same bits");
});

Deno.test("models tell what they are", async () => {
  const { f } = square();
  const { fetch } = createHandler({ models: { square: { versions: { 3: f, 12: f } } } });
  const get = async (path: string): Promise<unknown> => await (await ask(fetch, path)).json();
  assertEquals(await get("/v2/models/square"), {
    name: "square",
    versions: ["12", "3"],
    platform: "weft",
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 2] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [-1, 2] }],
  });
  assertEquals(await get("/v2/models"), { models: ["square"] });
  assertEquals(await get("/v2/health/live"), { live: true });
  assertEquals(await get("/v2/models/square/versions/3/ready"), { name: "square", ready: true });
  assertEquals(await get("/v1/models/square/versions/3"), {
    model_version_status: [{
      version: "3",
      state: "AVAILABLE",
      status: { error_code: "OK", error_message: "" },
    }],
  });
  const { model_spec, metadata } = await get("/v1/models/square/metadata") as {
    model_spec: unknown;
    metadata: { signature_def: { signature_def: Record<string, { inputs: { x: unknown } }> } };
  };
  assertEquals(model_spec, { name: "square", signature_name: "", version: "12" });
  assertEquals(metadata.signature_def.signature_def.serving_default.inputs.x, {
    dtype: "DT_FLOAT",
    tensor_shape: {
      dim: [{ size: "-1", name: "" }, { size: "2", name: "" }],
      unknown_rank: false,
    },
    name: "x:0",
  });
});

/** The fault, the path, the body, the status and a part of the message. */
const REFUSED: readonly (readonly [string, string, unknown, number, string])[] = [
  ["no model", "/v1/models/none:predict", {}, 404, 'Cannot find a model "none"'],
  ["no version", "/v1/models/m/versions/9:predict", {}, 404, "Cannot find version 9"],
  ["no path", "/v3", undefined, 404, "Cannot find /v3"],
  ["classify", "/v1/models/m:classify", {}, 400, "Cannot classify"],
  ["no JSON", "/v1/models/m:predict", "{", 400, "Cannot read the request's JSON"],
  ["no object", "/v1/models/m:predict", [], 400, "wanted a JSON object"],
  ["neither rows nor columns", "/v1/models/m:predict", {}, 400, 'wanted one of "instances"'],
  ["no rows", "/v1/models/m:predict", { instances: [] }, 400, "at least one row"],
  ["ragged", "/v1/models/m:predict", { inputs: [[1, 2], [3]] }, 400, "different lengths"],
  ["ragged deeper", "/v1/models/m:predict", { inputs: [[1, [2]]] }, 400, "different lengths"],
  ["a string", "/v1/models/m:predict", { inputs: [["a", 2]] }, 400, 'element 0 is "a"'],
  ["null", "/v1/models/m:predict", { inputs: [[null, 2]] }, 400, "element 0 is null"],
  ["a shape", "/v1/models/m:predict", { inputs: [[1, 2, 3]] }, 400, "wanted [?,2]"],
  ["an input", "/v1/models/m:predict", { inputs: { z: 1 } }, 400, '"z" is unknown'],
  ["an input missing", "/v1/models/s:predict", { inputs: { n: [1] } }, 400, "is missing"],
  ["several unnamed", "/v1/models/s:predict", { inputs: [1] }, 400, "Cannot tell inputs apart"],
  ["a signature", "/v1/models/m:predict", { signature_name: "f", inputs: [] }, 400, "no signature"],
  [
    "a fraction",
    "/v1/models/s:predict",
    {
      inputs: { text: ["a"], n: [0.5], flag: [true] },
    },
    400,
    "element 0 is 0.5, wanted int64",
  ],
  [
    "no base64",
    "/v1/models/s:predict",
    {
      inputs: { text: [{ b64: "?" }], n: [1], flag: [true] },
    },
    400,
    "is not base64",
  ],
  [
    "rows that differ",
    "/v1/models/s:predict",
    {
      instances: [{ text: "a", n: 1, flag: true }, { text: "a", n: 1 }],
    },
    400,
    "Cannot read instance 1",
  ],
  ["no inputs", "/v2/models/m/infer", {}, 400, 'wanted a list "inputs"'],
  ["no name", "/v2/models/m/infer", { inputs: [{}] }, 400, "input 0 has no name"],
  ["no shape", "/v2/models/m/infer", { inputs: [{ name: "x", shape: [-1] }] }, 400, "a shape"],
  [
    "a datatype",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1, 2], datatype: "FP99", data: [1, 2] }],
    },
    400,
    "wanted a datatype of",
  ],
  [
    "another datatype",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1, 2], datatype: "INT8", data: [1, 2] }],
    },
    400,
    "wanted FP32",
  ],
  [
    "too few values",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1, 2], datatype: "FP32", data: [1] }],
    },
    400,
    "it has 1 values",
  ],
  [
    "bytes that are not there",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1, 2], datatype: "FP32", parameters: { binary_data_size: 8 } }],
    },
    400,
    "it has 0 bytes",
  ],
  [
    "twice",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1] }, { name: "x", shape: [1] }],
    },
    400,
    "there twice",
  ],
  [
    "an output",
    "/v2/models/m/infer",
    {
      inputs: [{ name: "x", shape: [1, 2], datatype: "FP32", data: [1, 2] }],
      outputs: [{ name: "z" }],
    },
    400,
    'Cannot give output "z"',
  ],
];

Deno.test("requests that say something wrong are refused with what it is", async (t) => {
  const { fetch } = createHandler({ models: { m: square().f, s: several() } });
  for (const [name, path, body, status, message] of REFUSED) {
    await t.step(name, async () => {
      const answer = await ask(fetch, path, body);
      const { error } = await answer.json();
      assertEquals(answer.status, status, error);
      assert(error.includes(message), error);
    });
  }
});

Deno.test("requests are refused by method, length, coding and token", async () => {
  const { fetch } = createHandler({
    models: { m: square().f },
    maxBodyBytes: 100,
    token: "secret",
  });
  const auth = { authorization: "Bearer secret" };
  const path = "/v1/models/m:predict";
  const long = { instances: [Array(100).fill(1)] };
  const get = await ask(fetch, path, undefined, auth);
  assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
  assertEquals((await ask(fetch, path, long, auth)).status, 413);
  const coded = { ...auth, "content-encoding": "br" };
  assertEquals((await ask(fetch, path, {}, coded)).status, 415);
  assertEquals((await ask(fetch, path, {})).status, 401);
  assertEquals((await ask(fetch, path, {}, { authorization: "Bearer secreT" })).status, 401);
  assertEquals((await ask(fetch, "/v2/health/ready")).status, 200, "health needs no token");
  assertEquals((await ask(fetch, path, { instances: [[1, 2]] }, auth)).status, 200);
  const zipped = new Blob(["[".repeat(1e6)]).stream().pipeThrough(new CompressionStream("gzip"));
  const bomb = new Uint8Array(await new Response(zipped).arrayBuffer());
  const bounded = createHandler({ models: { m: square().f }, maxBodyBytes: 10_000 });
  assert(bomb.length < 10_000);
  const answer = await ask(bounded.fetch, path, bomb, { "content-encoding": "gzip" });
  assertEquals(answer.status, 413, "its length counts after decompression");
});

Deno.test("createHandler() refuses what cannot be served", () => {
  const f = square().f;
  for (
    const [options, message] of [
      [{ models: { "a/b": f } }, 'Cannot serve a model as "a/b"'],
      [{ models: { a: 1 } }, 'Cannot serve "a": wanted a model or a tf.function'],
      [{ models: { a: {} } }, "it has no signatures"],
      [{ models: { a: { versions: { x: f } } } }, 'Cannot serve version "x"'],
      [{ models: { a: f }, timeoutMs: 0 }, "Cannot serve with timeoutMs 0"],
      [{ models: { a: f }, batch: {} }, "batch"],
      [{
        models: {
          a: tf.function((x: tf.Tensor) => ({ x }), {
            inputSignature: [tf.TensorSpec([], "int32")],
          }),
        },
      }, "input 0 of its function has no name"],
      [{
        models: {
          a: tf.function((x: tf.Tensor) => [x], {
            inputSignature: [tf.TensorSpec([], "int32", "x")],
          }),
        },
      }, "must return a tensor or a record of tensors"],
      [{}, "Argument 'models' passed to 'createHandler' must be an object of models"],
      [{ models: null }, "Argument 'models' passed to 'createHandler'"],
      [{ models: {} }, "Cannot serve no models"],
      [undefined, "Missing arguments of createHandler"],
    ] as const
  ) assertThrows(() => createHandler(options as never), Error, message);
});

Deno.test("a handler answers what is no URL, lists its models at /, and takes bearer tokens in any case", async () => {
  const { fetch } = createHandler({ models: { a: square().f, b: square().f }, token: "t" });
  const bad = { url: "http://a b/v2/health/live", method: "GET", headers: new Headers() };
  assertEquals((await fetch(bad as unknown as Request)).status, 400);
  for (const scheme of ["Bearer", "bearer", "BEARER "]) {
    const answer = await ask(fetch, "/", undefined, { authorization: `${scheme} t` });
    assertEquals(await answer.json(), { models: ["a", "b"] });
  }
  for (const authorization of ["t", "Basic t", "Bearer", "Bearer T", "Bearert", "bearer t x"]) {
    assertEquals((await ask(fetch, "/", undefined, { authorization })).status, 401, authorization);
  }
  assertThrows(
    () => createHandler({ models: { square: square().f }, token: "" }),
    tf.errors.ValueError,
    "empty token",
  );
});

Deno.test("bodies are bounded together: 429 beyond, until some are answered", async () => {
  const { fetch } = createHandler({
    models: { m: square().f },
    maxBodyBytes: 1000,
    maxBodiesBytes: 2500,
  });
  const ends: (() => void)[] = [];
  /** A body of 900 bytes whose end is held back. */
  const begin = (): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(" ".repeat(880)));
        ends.push(() => {
          controller.enqueue(new TextEncoder().encode('{"instances":[[1,2]]}'));
          controller.close();
        });
      },
    });
    return fetch(new Request("http://localhost/v1/models/m:predict", { method: "POST", body }));
  };
  const first = [begin(), begin()];
  assertEquals((await begin()).status, 429);
  for (const end of ends.slice(0, 2)) end();
  for (const answer of await Promise.all(first)) assertEquals(answer.status, 200);
  const last = begin();
  ends.at(-1)!();
  assertEquals((await last).status, 200);
});
