/** Files of servers: paths in pages, servers that do not answer. */

import * as tf from "@weft/weft";
import { inspectOnnx } from "@weft/weft/onnx";
import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";

/** Runs `fn` with the globals of a page at an address in the place of this runtime's. */
async function asPage(href: string, fn: () => Promise<void>): Promise<void> {
  const own = ["process", "location"].map((key) =>
    [key, Object.getOwnPropertyDescriptor(globalThis, key)] as const
  );
  const put = (key: string, value: unknown) =>
    Object.defineProperty(globalThis, key, { value, configurable: true, writable: true });
  put("process", undefined);
  put("location", { href });
  try {
    await fn();
  } finally {
    for (const [key, given] of own) {
      if (given) Object.defineProperty(globalThis, key, given);
      else delete (globalThis as Record<string, unknown>)[key];
    }
  }
}

const MODEL = {
  modelTopology: {
    node: [
      { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: {} } } },
      { name: "w", op: "Const", attr: { dtype: { type: "DT_FLOAT" } } },
      { name: "y", op: "Mul", input: ["x", "w"], attr: { T: { type: "DT_FLOAT" } } },
    ],
  },
  weightsManifest: [{
    paths: ["w.bin"],
    weights: [{ name: "w", shape: [], dtype: "float32" }],
  }],
};

Deno.test("a path in a page is relative to the page, for models, data and what lies beside them", async () => {
  const asked: string[] = [];
  const files: Record<string, BodyInit> = {
    "/app/models/model.json": JSON.stringify(MODEL),
    "/app/models/w.bin": new Float32Array([3]),
    "/rows.csv": "a,b\n1,2\n",
    "/app/page.json": "<!doctype html><html></html>",
  };
  const v = tf.variable([0, 0]);
  const weights = await tf.io.serializeVariables({ v: tf.variable([1, 2]) });
  files["/app/w.safetensors"] = weights as Uint8Array<ArrayBuffer>;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const file = files[pathname];
    return file === undefined ? new Response(null, { status: 404 }) : new Response(file);
  });
  const { port } = server.addr;
  try {
    await asPage(`http://127.0.0.1:${port}/app/index.html`, async () => {
      const model = await tf.loadGraphModel("models/model.json");
      assertEquals(await (model.predict(tf.scalar(2)) as tf.Tensor).array(), 6);
      model.dispose();
      const rows = tf.data.csv("/rows.csv", { columns: { a: "float32", b: "float32" } });
      assertEquals((await rows.toArray()).map(({ b }) => b.item()), [2]);
      await tf.io.loadVariables("w.safetensors", { v });
      assertEquals(await v.array(), [1, 2]);
      await assertRejects(
        () => tf.io.loadVariables("none.safetensors", { v }),
        tf.errors.NotFoundError,
        "/app/none.safetensors: the server answered 404",
      );
      await assertRejects(
        () => tf.loadGraphModel("none.json"),
        tf.errors.NotFoundError,
        `Cannot read http://127.0.0.1:${port}/app/none.json: the server answered 404`,
      );
      const { error } = await tf.loadGraphModel("http://127.0.0.1:1/model.json").then(
        () => ({ error: null }),
        (error: Error) => ({ error }),
      );
      assertInstanceOf(error, tf.errors.UnavailableError);
      assertStringIncludes(
        error.message,
        `a server of another origin must answer and allow http://127.0.0.1:${port} in`,
      );
      await assertRejects(
        () => tf.loadGraphModel("page.json"),
        tf.errors.DataLossError,
        "it is no JSON: it looks like a page of HTML",
      );
      await assertRejects(() => inspectOnnx("./m.onnx"), tf.errors.NotFoundError, "/app/m.onnx");
      await assertRejects(
        () => tf.io.saveVariables("w.safetensors", { w: tf.variable(1) }),
        tf.errors.UnimplementedError,
        "this runtime has none",
      );
    });
  } finally {
    await server.shutdown();
  }
  assertEquals(asked.slice(0, 3), ["/app/models/model.json", "/app/models/w.bin", "/rows.csv"]);
});

Deno.test("a server that does not answer is an UnavailableError with its address", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(),
  );
  const url = `http://127.0.0.1:${server.addr.port}/model`;
  await server.shutdown();
  const refused = (read: () => Promise<unknown>) =>
    assertRejects(read, tf.errors.UnavailableError, `Cannot read ${url}`);
  await refused(() => tf.loadGraphModel(url));
  await refused(() => inspectOnnx(url));
  await refused(() => tf.data.textLines(url).toArray());
  await refused(() => tf.data.textLines(url, { compression: "GZIP" }).toArray());
  const stopped = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => inspectOnnx(url, { signal: stopped } as never), Error, "enough");
});
