/** Files that models name: those of their own folder, and no others unless the caller allows them. */

import { filesWithin } from "../../src/tensorflow/graph_def/files_within.ts";
import * as tf from "@weft/weft";
import { loadSavedModel, saveModel } from "@weft/weft/tf";
import * as tfc from "@weft/weft/tfjs-core";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { fileWithin } from "../../src/library/io/within.ts";
import { AssetFileDefSchema, SavedModelSchema } from "../../src/tensorflow/proto/saved_model_pb.ts";

const { PermissionDeniedError } = tf.errors;

Deno.test("fileWithin() takes what lies under a folder by its name, and nothing else", () => {
  const folder = "https://host/a/";
  const table: [string, string[], string[]][] = [
    [
      folder,
      ["https://host/a/b", "https://host/a/b/c?q", "https://host/a/../a/b", "data:,x"],
      [
        "https://host/b",
        "https://host/ab",
        "https://host/a/../b",
        "https://host/a/%2e%2e/b",
        "https://host.other/a/b",
        "https://host:8443/a/b",
        "http://host/a/b",
        "https://user@other/a/b",
        "file:///a/b",
        "/a/b",
        "b",
        "blob:https://host/a/b",
      ],
    ],
    ["/a/", ["/a/b", "/a/./b/c", "/a/b/../c", "file:///a/b", "/a"], [
      "/ab",
      "/a/../b",
      "/a/b/../../c",
      "file:///b",
      "file:///a/%2e%2e/b",
      "a/b",
      "../a/b",
      "https://host/a/b",
    ]],
    ["", ["b", "./b", "a/../b"], ["../b", "a/../../b", "/b", "file:///b"]],
    ["../a/", ["../a/b"], ["../b", "../../a/b", "../a/../b", "a/b"]],
    ["file:///a%20b/", ["/a b/c", "file:///a%20b/c"], ["/a/c", "/a b/../c"]],
    ["C:\\models\\", ["C:\\models\\a", "C:/models/a"], ["C:\\a", "D:\\models\\a"]],
  ];
  for (const [root, inside, outside] of table) {
    for (const file of inside) assertEquals(fileWithin(file, [root]), file);
    for (const file of outside) {
      assertThrows(() => fileWithin(file, [root]), PermissionDeniedError, file);
    }
  }
});

/** A folder with a secret, served with a model beside it. */
async function withServer(
  work: (at: { folder: string; url: string; secret: string }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "weft_places_" });
  const secret = `${folder}/secret.bin`;
  await Deno.writeFile(secret, new Uint8Array(new Float32Array([41, 42]).buffer));
  await Deno.mkdir(`${folder}/model/assets`, { recursive: true });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    try {
      return new Response(await Deno.readFile(folder + new URL(request.url).pathname));
    } catch {
      return new Response(null, { status: 404 });
    }
  });
  try {
    await work({ folder, url: `http://127.0.0.1:${server.addr.port}`, secret });
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
}

function graphModel(shard: string): string {
  const type = { type: "DT_FLOAT" };
  return JSON.stringify({
    format: "graph-model",
    modelTopology: {
      node: [
        { name: "x", op: "Placeholder", attr: { dtype: type } },
        { name: "w", op: "Const", attr: { dtype: type } },
        { name: "y", op: "AddV2", input: ["x", "w"], attr: { T: type } },
      ],
    },
    weightsManifest: [{
      paths: [shard],
      weights: [{ name: "w", shape: [2], dtype: "float32" }],
    }],
  });
}

Deno.test("weights of a model are read from its own folder, or from those that the caller names", () =>
  withServer(async ({ folder, url, secret }) => {
    const path = `${folder}/model/model.json`;
    await Deno.copyFile(secret, `${folder}/model/w.bin`);
    const read = async (source: string, alsoFrom: string[] = []) => {
      const model = await tf.loadGraphModel(source, { alsoFrom });
      return (model.predict(tf.tensor([0, 0])) as tf.Tensor).arraySync();
    };
    const layers = (source: string) => tfc.io.getLoadHandlers(source)[0].load!();
    const shards = [
      `file://${secret}`,
      secret,
      "../secret.bin",
      "sub/../../secret.bin",
      "%2e%2e/secret.bin",
      `${url}/secret.bin`,
      "http://localhost:1/w.bin",
    ];
    for (const shard of shards) {
      await Deno.writeTextFile(path, graphModel(shard));
      for (const source of [path, `file://${path}`, `${url}/model/model.json`]) {
        // Beside a path, names are paths: a percent sign stands for itself, and all are appended.
        if (/^[%/]/.test(shard) && source === path) continue;
        await assertRejects(() => read(source), PermissionDeniedError, "alsoFrom");
      }
      if (shard.startsWith("../")) {
        for (const source of [`file://${path}`, `${url}/model/model.json`]) {
          await assertRejects(() => layers(source), PermissionDeniedError);
        }
      }
    }
    await Deno.writeTextFile(path, graphModel("../secret.bin"));
    assertEquals(await read(path, [folder]), [41, 42]);
    assertEquals(await read(`${url}/model/model.json`, [`${url}/`]), [41, 42]);
    await Deno.writeTextFile(path, graphModel(`${url}/secret.bin`));
    assertEquals(await read(path, [url]), [41, 42]);
    await Deno.writeTextFile(path, graphModel("w.bin"));
    for (const source of [path, `file://${path}`, `${url}/model/model.json?signed=1`]) {
      assertEquals(await read(source), [41, 42]);
    }
  }));

Deno.test("assets of a SavedModel lie in its folder", () =>
  withServer(async ({ folder, url }) => {
    const f = tf.function((x: tf.Tensor) => ({ y: tf.neg(x) }), {
      inputSignature: [tf.TensorSpec([], "float32", "x")],
    });
    await saveModel(`${folder}/model`, { signatures: { serving_default: f } });
    const path = `${folder}/model/saved_model.pb`;
    const model = fromBinary(SavedModelSchema, await Deno.readFile(path));
    for (const filename of ["../../secret.bin", "./../../secret.bin", "a/../../../secret.bin"]) {
      model.metaGraphs[0].assetFileDef = [create(AssetFileDefSchema, { filename })];
      await Deno.writeFile(path, toBinary(SavedModelSchema, model));
      for (const source of [`${folder}/model`, `${url}/model`]) {
        await assertRejects(() => loadSavedModel(source), PermissionDeniedError, "secret.bin");
      }
    }
  }));

Deno.test("a model from the network reads files of its own folder alone, in functions of its graph too", () =>
  withServer(async ({ folder, url, secret }) => {
    const read = tf.function((name: tf.Tensor) => tf.io.readFile(name));
    const f = tf.function((name: tf.Tensor) => ({ a: tf.io.readFile(name), b: read(name) }), {
      inputSignature: [tf.TensorSpec([], "string", "name")],
    });
    await saveModel(`${folder}/model`, { signatures: { serving_default: f } });
    const run = async (source: string, name: string, alsoFrom: string[] = []) => {
      const model = await loadSavedModel(source, { alsoFrom });
      const { b } = await model.signatures.serving_default({ name });
      return (await b.data<"string">())[0].length;
    };
    assertEquals(
      await run(`${folder}/model`, secret),
      8,
      "a model on the disk is the user's program",
    );
    await assertRejects(() => run(`${url}/model`, secret), PermissionDeniedError, secret);
    assertEquals(await run(`${url}/model`, secret, [folder]), 8);
    await Deno.writeTextFile(
      `${folder}/model/model.json`,
      JSON.stringify({
        modelTopology: {
          node: [
            { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_STRING" } } },
            { name: "y", op: "ReadFile", input: ["x"] },
          ],
        },
      }),
    );
    const graph = await tf.loadGraphModel(`${url}/model/model.json`);
    await assertRejects(
      async () => await graph.executeAsync(tf.scalar(secret, "string")),
      PermissionDeniedError,
      secret,
    );
  }));

Deno.test("graphs of the network may leave out lists of nothing", () => {
  const bounded = filesWithin({ library: {} } as tf.GraphDefJson, ["http://localhost/"]);
  assertEquals(bounded, { library: {}, node: [] } as unknown as tf.GraphDefJson);
});
