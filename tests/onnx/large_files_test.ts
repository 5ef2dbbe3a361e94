/** Files of many bytes: their elements are read one by one, from memory, files, streams and servers, with ranges and without. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { inspectOnnx, loadOnnx, type LoadOnnxOptions } from "@weft/weft/onnx";
import { splitModel } from "../../src/onnx/file/split_model.ts";
import { ByteFlow } from "../../src/onnx/file/byte_flow.ts";
import { model, node, tensor, value } from "./make_model.ts";

const SIZE = 600, BYTES = 4 * SIZE * SIZE;
const w = Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(i));
const table = Int32Array.from({ length: 20000 }, (_, i) => i * i % 7919);

/** Returns `y = x · w` and rows of a table; `w` may be in another file. */
function fileOf(elements: Parameters<typeof tensor>[2] = w): Uint8Array {
  return model({
    nodes: [node("MatMul", ["x", "w"], ["y"]), node("Gather", ["table", "i"], ["z"])],
    inputs: [value("x", "float32", ["n", SIZE]), value("i", "int64", ["m"])],
    outputs: [value("y", "float32", ["n", SIZE]), value("z", "int32", ["m"])],
    // The second name moves what follows to an odd place.
    initialisers: [tensor("w", [SIZE, SIZE], elements), tensor("table", [20000], table)],
  });
}

const FILE = fileOf();

async function check(source: Parameters<typeof loadOnnx>[0], options: LoadOnnxOptions = {}) {
  const m = await loadOnnx(source, options);
  const x = Float32Array.from({ length: SIZE }, (_, i) => i === 3 ? 2 : 0);
  const { y, z } = await m.run({ x: tf.tensor(x, [1, SIZE]), i: [5, 19999] });
  assertEquals((await (y as tf.Tensor).data())[7], 2 * w[3 * SIZE + 7]);
  assertEquals([...await (z as tf.Tensor).data()], [table[5], table[19999]]);
  if (options.trainable !== false) {
    assertEquals(await m.variables.w.data(), w);
    const { externalData } = options,
      again = await inspectOnnx(
        source instanceof ReadableStream ? FILE : source,
        externalData === undefined ? {} : { externalData },
      );
    assertEquals(again.ops, { Gather: 1, MatMul: 1 });
  }
  m.dispose();
}

function streamOf(bytes: Uint8Array, each: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(to) {
      if (at === bytes.length) return to.close();
      to.enqueue(bytes.slice(at, at += Math.min(each, bytes.length - at)));
    },
  });
}

/** A request that a server answered. */
interface Asked {
  readonly path: string;
  readonly range: string | null;
  readonly given: number;
}

/** Runs `use` beside a server of files; under `/ranges/` it gives ranges. */
async function serving(
  files: Readonly<Record<string, Uint8Array>>,
  use: (url: string, asked: Asked[]) => Promise<void>,
): Promise<void> {
  const asked: Asked[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const path = new URL(request.url).pathname, bytes = files[path.split("/").at(-1)!];
    if (bytes === undefined) return new Response(null, { status: 404 });
    const range = request.headers.get("range");
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    const isPart = from !== undefined && path.startsWith("/ranges/");
    const body = isPart ? bytes.slice(Number(from), Number(to) + 1) : bytes;
    asked.push({ path, range, given: body.length });
    const headers = new Headers({ "content-length": String(body.length) });
    const end = Math.min(Number(to), bytes.length - 1);
    if (isPart) headers.set("content-range", `bytes ${from}-${end}/${bytes.length}`);
    return new Response(body as Uint8Array<ArrayBuffer>, { status: isPart ? 206 : 200, headers });
  });
  try {
    await use(`http://127.0.0.1:${server.addr.port}`, asked);
  } finally {
    await server.shutdown();
  }
}

Deno.test("loadOnnx() reads large initialisers from memory, a file, a stream and a server", async () => {
  const odd = new Uint8Array(FILE.length + 1);
  odd.set(FILE, 1);
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, FILE);
    for (const trainable of [true, false]) {
      await check(FILE, { trainable });
      await check(odd.subarray(1), { trainable });
      await check(path, { trainable });
      await check(new URL(`file://${path}`), { trainable });
      await check(streamOf(FILE, 40_009), { trainable });
      await serving({ m: FILE }, (url) => check(`${url}/m`, { trainable }));
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("loadOnnx() reads external data of a server by ranges, or whole", async () => {
  // Elements that no tensor has lie around those of w.
  const data = new Uint8Array(3 * BYTES);
  data.set(new Uint8Array(w.buffer), BYTES);
  const m = fileOf({ location: "w.bin", offset: BYTES, length: BYTES });
  await serving({ "m.onnx": m, "w.bin": data }, async (url, asked) => {
    for (const folder of ["ranges", "whole"]) {
      asked.length = 0;
      await check(`${url}/${folder}/m.onnx`);
      const given = asked.filter(({ path }) => path.endsWith("w.bin"));
      // Inspection reads it as well.
      const most = folder === "ranges" ? 2 * (BYTES + 2 ** 20) : 4 * data.length;
      assert(given.reduce((n, { given }) => n + given, 0) <= most, JSON.stringify(given));
    }
    await assertRejects(() => loadOnnx(`${url}/none`), tf.errors.NotFoundError, "404");
    await assertRejects(
      () => loadOnnx(m, { externalData: { "w.bin": `${url}/ranges/none` } }),
      tf.errors.NotFoundError,
    );
    await check(m, { externalData: { "w.bin": `${url}/ranges/w.bin` } });
  });
});

Deno.test("loadOnnx() tells progress from 0 to 1 in order", async () => {
  await serving({ m: FILE }, async (url) => {
    const told: number[] = [];
    await check(`${url}/m`, { onProgress: (fraction) => told.push(fraction) });
    assertEquals([told[0], told.at(-1)], [0, 1]);
    assert(told.length > 2 && told.every((f, i) => i === 0 || f >= told[i - 1]), String(told));
  });
});

Deno.test("loadOnnx() refuses files that end too soon, and frees what it had made", async () => {
  const before = tf.memory().numTensors;
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  const answering = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(4096));
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${FILE.length}\r\n\r\n`;
      await connection.write(new TextEncoder().encode(head));
      await connection.write(FILE.subarray(0, 60_000));
      connection.close();
    }
  })();
  await assertRejects(() => loadOnnx(`http://127.0.0.1:${port}/m`), tf.errors.DataLossError);
  listener.close();
  await answering;
  for (const length of [FILE.length - 1, BYTES, 100]) {
    const cut = FILE.subarray(0, length);
    await assertRejects(() => loadOnnx(streamOf(cut, 65_536)), tf.errors.DataLossError);
    await assertRejects(() => loadOnnx(cut), tf.errors.DataLossError);
  }
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, FILE.subarray(0, FILE.length - 1));
    await assertRejects(() => loadOnnx(path), tf.errors.DataLossError);
  } finally {
    await Deno.remove(path);
  }
  // The second of two tensors is not there.
  const m = model({
    nodes: [node("Mul", ["a", "b"], ["y"])],
    inputs: [],
    outputs: [value("y", "float32", [20000])],
    initialisers: ["a", "b"].map((name, i) =>
      tensor(name, [20000], { location: "d", offset: 80_000 * i, length: 80_000 })
    ),
  });
  const short = { d: new Uint8Array(120_000) };
  await assertRejects(() => loadOnnx(m, { externalData: short }), tf.errors.DataLossError);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("loadOnnx() ends where its signal is aborted", async () => {
  const reason = new Error("enough"), aborted = AbortSignal.abort(reason);
  const rejects = async (load: () => Promise<unknown>): Promise<void> => {
    assertEquals(await load().then(() => null, (e) => e), reason);
  };
  await rejects(() => loadOnnx(FILE, { signal: aborted }));
  const during = new AbortController();
  let parts = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(to) {
      if (parts++ === 2) during.abort(reason);
      to.enqueue(FILE.slice(1000 * parts - 1000, 1000 * parts));
    },
  }, { highWaterMark: 0 });
  await rejects(() => loadOnnx(stream, { signal: during.signal }));
  await serving({ m: FILE }, async (url) => {
    const controller = new AbortController();
    await rejects(() =>
      loadOnnx(`${url}/m`, {
        signal: controller.signal,
        onProgress: (fraction) => fraction > 0 && controller.abort(reason),
      })
    );
  });
});

Deno.test("splitModel() leaves out the elements of large initialisers alone", async () => {
  for (const each of [1 << 20, 4099]) {
    const stream = streamOf(FILE, each).getReader();
    const flow = ByteFlow.ofStream(async () => (await stream.read()).value ?? null);
    const { bytes, later } = await splitModel(flow);
    assertEquals([...later.keys()], [0, 1]);
    assert(bytes.length < 1000, `${bytes.length} bytes are left`);
    assertEquals((await later.get(0)!.read()).length, BYTES);
  }
});
