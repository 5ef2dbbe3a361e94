/** Blocks of README and guides as they are printed, in Node, in Chromium, and beside the files that they name. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { stop } from "esbuild";
import { findChromium, type PageFile, runPage } from "../../tools/browser.ts";
import { capture } from "../../tools/command.ts";
import { blocksOf } from "../../tools/doc_test.ts";
import { list, ROOT } from "../../tools/files.ts";
import { findNode } from "../../tools/node.ts";
import { packageFolder } from "../../tools/npm.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { putPackage } from "../built.ts";
import { moduleOf, portableExamples } from "./hosts.ts";

const node = await findNode(), chromium = await findChromium();
const FILES = ["README.md", ...list("docs", ".md")];
const TIMEOUT_MS = 300_000;
const MAP = new URL("tests/npm_only/import_map.json", ROOT).pathname;
const FLAGS = ["run", "-A", "--no-check", "--no-lock", "--no-config", "--import-map", MAP];

let home = "";

Deno.test.beforeAll(async () => {
  home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_printed_" }));
  await putPackage(`${home}/weft`, { types: false });
  await Deno.mkdir(`${home}/node_modules/@weft`, { recursive: true });
  await Deno.symlink(`${home}/weft`, `${home}/node_modules/@weft/weft`, { type: "dir" });
});

Deno.test.afterAll(async () => {
  await stop();
  await Deno.remove(home, { recursive: true });
});

async function run(program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await capture(program, args, {
    timeoutMs: TIMEOUT_MS,
    cwd: home,
  });
  assertEquals(code, 0, stderr);
  return stdout.trim();
}

/** Runs a program of Deno in the folder of the test. */
async function inDeno(text: string): Promise<string> {
  await Deno.writeTextFile(`${home}/main.ts`, text);
  return await run(Deno.execPath(), ...FLAGS, "main.ts");
}

/** The one block of a document that begins so, of those that are not run by themselves. */
function block(file: string, first: string): string {
  const found = blocksOf(file).filter(({ text, isRun }) => !isRun && text.startsWith(first));
  assertEquals(found.length, 1, `${file}: ${first}`);
  return found[0]!.text;
}

const examples = portableExamples(FILES, "page"), inNode = portableExamples(FILES, "node");

Deno.test("most examples ask nothing of Deno", () => {
  assert(examples.length >= 40, `${examples.length}`);
  for (const file of ["README.md", "docs/getting_started.md"]) {
    const count = examples.filter(({ place }) => place.startsWith(`${file}:`)).length;
    assertEquals(count, blocksOf(file).filter(({ isRun }) => isRun).length, file);
  }
});

Deno.test({
  name: "examples of README and guides print in Node what they say",
  ignore: node === null,
  async fn() {
    for (const [i, example] of inNode.entries()) {
      await Deno.writeTextFile(`${home}/example_${i}.mjs`, await moduleOf(example));
    }
    // Node has arrays of float16 from 24 on.
    const told = inNode.map(({ place, body }) => [place, body.includes("float16")]);
    await Deno.writeTextFile(
      `${home}/main.mjs`,
      `const wrong = [];
      for (const [i, [place, isHalf]] of ${JSON.stringify(told)}.entries()) {
        if (isHalf && typeof Float16Array === "undefined") continue;
        await import("./example_" + i + ".mjs").catch((error) => wrong.push(place + ": " + error.stack));
      }
      console.log("\\n@" + JSON.stringify(wrong));
      process.exit();`,
    );
    const wrote = await run(node!, "main.mjs");
    assertEquals(JSON.parse(wrote.slice(wrote.lastIndexOf("\n@") + 2)), []);
  },
});

const script = (body: string): PageFile => ({ type: "text/javascript", body });

/** Runs a page beside the package, until it sends null; gives what it sent before. */
async function inPage(
  html: string,
  files: readonly (readonly [string, PageFile])[],
): Promise<unknown[]> {
  const sent: unknown[] = [];
  const ofPackage = [...Deno.readDirSync(`${home}/weft`)].filter(({ name }) => name.endsWith(".js"))
    .map(({ name }) =>
      [`/weft/${name}`, script(Deno.readTextFileSync(`${home}/weft/${name}`))] as const
    );
  await runPage(chromium!, {
    files: new Map([["/", { type: "text/html", body: html }], ...files, ...ofPackage]),
    isolated: false,
  }, (message) => sent.push(message));
  return sent;
}

const SEND = `const send = (m) => fetch("/message", { method: "POST", body: JSON.stringify(m) });`;

Deno.test({
  name: "examples of README and guides print in Chromium what they say",
  ignore: chromium === null,
  async fn() {
    const files = await Promise.all(
      examples.map(async (example, i) =>
        [`/example_${i}.js`, script(await moduleOf(example))] as const
      ),
    );
    const names = ["", "/eager", "/ops"].map((name) => [
      `@weft/weft${name}`,
      `/weft${name || "/mod"}.js`,
    ]);
    const page = `<!DOCTYPE html><script type="importmap">${
      JSON.stringify({ imports: Object.fromEntries(names) })
    }</script><script type="module">${SEND}
    for (const [i, place] of ${JSON.stringify(examples.map(({ place }) => place))}.entries()) {
      await import("./example_" + i + ".js").catch((error) => send(place + ": " + error.stack));
      await send(i);
    }
    await send(null);</script>`;
    const sent = await inPage(page, files);
    assertEquals(sent.filter((m) => typeof m === "string"), []);
    assertEquals(sent.length, examples.length);
  },
});

Deno.test({
  name: "the page without a bundler runs as it is printed",
  ignore: chromium === null,
  async fn() {
    const printed = block("docs/browsers_and_node.md", '<script type="importmap">');
    const page = `<!DOCTYPE html><script>${SEND}
      addEventListener("error", (event) => send(String(event.message)).then(() => send(null)));
      console.log = (...values) => send(values.map(String)).then(() => send(null));
      </script>${printed}`;
    const [line] = await inPage(page, []);
    assertMatch(String(line), /^(cpu|webgpu),2,3$/);
  },
});

/** The modules of the package that reads and writes models' files, by their paths there. */
async function protobuf(): Promise<[path: string, text: string][]> {
  const folder = new URL("dist/esm/", await packageFolder("@bufbuild/protobuf"));
  const read = async (under: string): Promise<[string, string][]> => {
    const parts = await Array.fromAsync(
      Deno.readDir(new URL(under, folder)),
      async ({ name, isDirectory }): Promise<[string, string][]> => {
        if (isDirectory) return await read(`${under}${name}/`);
        if (!name.endsWith(".js")) return [];
        return [[`${under}${name}`, await Deno.readTextFile(new URL(under + name, folder))]];
      },
    );
    return parts.flat();
  };
  return await read("");
}

Deno.test({
  name: "a page without a bundler writes and reads models of others by the map of the guide",
  ignore: chromium === null,
  async fn() {
    const page = `<!DOCTYPE html><script type="importmap">${
      block("docs/browsers_and_node.md", "{")
    }</script><script>${SEND}
      addEventListener("error", (event) => send(String(event.message)).then(() => send(null)));
      addEventListener("unhandledrejection", (event) => send(String(event.reason)).then(() => send(null)));
      </script><script type="module">
      import * as tf from "@weft/weft";
      import { encodeOnnx, loadOnnx } from "@weft/weft/onnx";
      import { encodeGraphDef, readGraphDef } from "@weft/weft/tf";
      const f = tf.function((x) => ({ y: tf.mul(x, 2) }), { inputSignature: [tf.TensorSpec([2], "float32", "x")] });
      const model = await loadOnnx(await encodeOnnx(f));
      const { y } = await model.run({ x: [1, 2] });
      const graph = new tf.Graph();
      graph.asDefault(() => tf.square(tf.placeholder("float32", [2], "x")));
      const { node } = await readGraphDef(encodeGraphDef(graph.toGraphDef()));
      await send([await y.array(), node.map(({ op }) => op)]);
      await send(null);</script>`;
    const files = (await protobuf()).map(([path, text]) =>
      [`/protobuf/${path}`, script(text)] as const
    );
    assertEquals(await inPage(page, files), [[[2, 4], ["Placeholder", "Square"]]]);
  },
});

Deno.test("the worker of the guide answers", async () => {
  const text = block("docs/browsers_and_node.md", 'import * as tf from "@weft/weft";');
  await Deno.writeTextFile(
    `${home}/worker.js`,
    text.replace(/: tf\.Tensor| as MessageEvent<number\[\]>/g, ""),
  );
  const wrote = await inDeno(`
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => (console.log(data), worker.terminate());
    worker.postMessage([1, 1]);`);
  assertEquals(wrote, "Float32Array(2) [ 0.5, 0.5 ]");
});

Deno.test("the workers of the guide about data make images of files", async () => {
  const text = block("docs/data.md", "const Tout");
  await Deno.writeTextFile(
    `${home}/augment.ts`,
    `export const augment = (bytes: { at(i: number): Uint8Array }) =>
      ({ shape: [64, 64, 3], data: new Float32Array(64 * 64 * 3).fill(bytes.at(0)[0]!) });`,
  );
  for (const i of [1, 2]) await Deno.writeFile(`${home}/${i}.jpg`, Uint8Array.of(i));
  const wrote = await inDeno(`import * as tf from "@weft/weft";
    import { augment } from "./augment.ts";
    const files = tf.data.listFiles("*.jpg");
    ${text}
    for await (const image of images) console.log(image.shape.join(), tf.max(image).item());
    Deno.exit();`);
  assertEquals(wrote.split("\n").sort(), ["64,64,3 1", "64,64,3 2"]);
});

Deno.test("the calls of the guide about models load models of these names", async () => {
  const text = block("docs/models.md", 'import * as tf from "@weft/weft";');
  await inDeno(`import * as tf from "@weft/weft";
    import { saveModel } from "@weft/weft/tf";
    const w = tf.variable([[1], [2]]);
    const f = tf.function((x: tf.Tensor) => ({ y: tf.matMul(x, w) }), {
      inputSignature: [tf.TensorSpec([null, 2], "float32", "x")],
    });
    await saveModel("exported", { signatures: { serving_default: f, predict: f } });`);
  await Deno.mkdir(`${home}/models/movenet`, { recursive: true });
  const command = new URL("src/tensorflow/mod.ts", ROOT).pathname;
  await run(Deno.execPath(), ...FLAGS, command, "convert", "exported", "models/movenet/model.json");
  const wrote = await inDeno(`const image = [[1, 1]], x = [[3, 4]];
    ${text}
    console.log(JSON.stringify([await keypoints.array(), await y.array()]));`);
  assertEquals(wrote, "[[[3]],[[11]]]");
});

/** Routes and bodies of JSON, as the guide's server takes them from Express. */
const EXPRESS = `import { createServer } from "node:http";
import { Buffer } from "node:buffer";
export default function express() {
  const routes = new Map();
  const answer = async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    request.body = JSON.parse(Buffer.concat(parts).toString());
    response.status = (code) => Object.assign(response, { statusCode: code });
    response.json = (value) => response.end(JSON.stringify(value));
    await routes.get(request.url)(request, response);
  };
  return {
    use() { return this; },
    post: (path, fn) => routes.set(path, fn),
    listen: () => globalThis.server = createServer(answer).listen(0),
  };
}
express.json = () => null;`;

Deno.test({
  name:
    "the server of the guide over Express answers in Node, and says what is wrong with a request",
  ignore: node === null,
  async fn() {
    const text = block("docs/serve.md", "import express");
    await Deno.mkdir(`${home}/node_modules/express`, { recursive: true });
    await Deno.writeTextFile(`${home}/node_modules/express/index.mjs`, EXPRESS);
    await Deno.writeTextFile(
      `${home}/node_modules/express/package.json`,
      JSON.stringify({ name: "express", exports: "./index.mjs" }),
    );
    await Deno.writeTextFile(
      `${home}/server.mjs`,
      `${text}
      const { once } = await import("node:events");
      if (!server.listening) await once(server, "listening");
      for (const instances of [[[1, 2], [3, 4]], [[1, 2, 3]]]) {
        const answer = await fetch(\`http://127.0.0.1:\${server.address().port}/predict\`, {
          method: "POST",
          body: JSON.stringify({ instances }),
        });
        console.log(answer.status, JSON.stringify(await answer.json()));
      }
      process.exit();`,
    );
    const [right, wrong] = (await run(node!, "server.mjs")).split("\n");
    assertEquals(right, '200 {"predictions":[[4],[10]]}');
    assertMatch(wrong!, /^400 \{"error":".*MatMul/);
  },
});

/** The part of the adapter that the guide's server in Node calls. */
const ADAPTER = "export const serve = (options) => globalThis.served = options;";

Deno.test({
  name: "the server of the guide in Node answers for a folder",
  ignore: node === null,
  async fn() {
    const text = block("docs/serve.md", "import { createHandler }");
    await inDeno(`import * as tf from "@weft/weft";
      import { saveModel } from "@weft/weft/tf";
      const f = tf.function((x: tf.Tensor) => ({ y: tf.mul(x, 2) }), {
        inputSignature: [tf.TensorSpec([null], "float32", "x")],
      });
      await saveModel("exported", { signatures: { serving_default: f } });`);
    const modules = `${home}/node_modules`, adapter = `${modules}/@hono/node-server`;
    await Deno.mkdir(adapter, { recursive: true });
    await Deno.writeTextFile(`${adapter}/index.mjs`, ADAPTER);
    await Deno.writeTextFile(`${adapter}/package.json`, JSON.stringify({ exports: "./index.mjs" }));
    await Deno.mkdir(`${modules}/@bufbuild`, { recursive: true });
    await Deno.symlink(
      fromFileUrl(await packageFolder("@bufbuild/protobuf")),
      `${modules}/@bufbuild/protobuf`,
      { type: "dir" },
    );
    await Deno.writeTextFile(
      `${home}/folder.mjs`,
      `${text}
      const { port, fetch: answer } = served;
      const body = JSON.stringify({ instances: [1, 2] });
      const url = \`http://localhost:\${port}/v1/models/exported:predict\`;
      console.log(JSON.stringify(await (await answer(new Request(url, { method: "POST", body }))).json()));
      process.exit();`,
    );
    assertEquals(await run(node!, "folder.mjs"), '{"predictions":[2,4]}');
  },
});
