/** convertModel: each form of a model into each other computes the same. */
import * as tf from "@weft/weft";
import { loadSavedModel, readGraphDef, saveModel } from "@weft/weft/tf";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { convertModel, freezeModel } from "../../src/tensorflow/files/convert.ts";
import { assertClose } from "./close.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url).pathname;

type Call = (inputs: Readonly<Record<string, tf.TensorLike>>) => Promise<readonly tf.NdArray[]>;

/** Returns a call of a model in a file of any form; outputs in the order of their names. */
async function callOf(path: string, signature: string): Promise<Call> {
  if (path.endsWith(".json")) {
    const model = await tf.loadGraphModel(path);
    const keys = Object.entries(model.modelSignature.outputs ?? {}).sort();
    return async (inputs) => {
      const names = keys.map(([, { name }]) => name);
      const results = [await model.executeAsync(inputs, names)].flat();
      return await Promise.all(results.map((t) => t.ndarray()));
    };
  }
  if (path.endsWith(".pb")) {
    const { def, inputs: specs, outputs } = await freezeModel(path);
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
    const names = Object.entries(outputs).sort().map(([, { tensor }]) => tensor);
    return async (inputs) => {
      const feeds = Object.fromEntries(
        Object.entries(inputs).map(([key, value]) => [specs[key].tensor, value]),
      );
      return (await new tf.Session({ graph }).run(names, { feeds }) as unknown[]).map((v) =>
        v instanceof tf.NdArray ? v : tf.tensor(v as number).ndarraySync()
      );
    };
  }
  const model = await loadSavedModel(path);
  return async (inputs) => {
    const results = await (model.signatures[signature] ??
      model.signatures.serving_default)(inputs);
    const sorted = Object.entries(results).sort();
    return await Promise.all(sorted.map(([, t]) => t.ndarray()));
  };
}

for (const name of ["cnn", "rnn", "module", "version_1"]) {
  Deno.test(`convertModel() writes "${name}" in every form, and from each of these in the others`, async () => {
    const [{ signature, inputs }] = JSON.parse(
      await Deno.readTextFile(`${FIXTURES}${name}/expected.json`),
    );
    const folder = await Deno.makeTempDir({ prefix: "weft_convert_" });
    const expected = await (await callOf(`${FIXTURES}${name}`, signature))(inputs);
    let made = 0;
    const check = async (from: string, to: string): Promise<string> => {
      await Deno.mkdir(`${folder}/${++made}`);
      const path = `${folder}/${made}/${to}`;
      await convertModel(from, path, { signature: made <= 3 ? signature : "serving_default" });
      const results = await (await callOf(path, "serving_default"))(inputs);
      assertEquals(results.length, expected.length);
      for (const [k, y] of results.entries()) {
        assertClose(y.toArray(), expected[k].toArray(), 1e-6, `${from} to ${to}`);
      }
      return path;
    };
    const [pb, json, saved] = [
      await check(`${FIXTURES}${name}`, "frozen.pb"),
      await check(`${FIXTURES}${name}`, "model.json"),
      await check(`${FIXTURES}${name}`, "saved"),
    ];
    await check(pb, "model.json");
    await check(pb, "saved");
    await check(json, "frozen.pb");
    await check(json, "saved");
    await check(saved, "model.json");
    await Deno.remove(folder, { recursive: true });
  });
}

Deno.test("convertModel() keeps what lookup tables hold", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_tables_" });
  try {
    for (const to of ["frozen.pb", "saved"]) {
      await convertModel(`${FIXTURES}module`, `${folder}/${to}`, { signature: "look" });
    }
    const model = await loadSavedModel(`${folder}/saved`);
    for (let run = 0; run < 2; run++) {
      const { v } = await model.signatures.serving_default({ k: ["b", "zz", "a"] });
      assertEquals(v.arraySync(), [2n, -1n, 1n] as never);
    }
    model.dispose();
    const def = await readGraphDef(`${folder}/frozen.pb`), graph = new tf.Graph();
    const y = def.node.at(-1)!.name;
    graph.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
    await using session = new tf.Session({ graph });
    const found = await session.run(`${y}:0`, { feeds: { "k:0": ["b", "zz", "a"] } }) as tf.NdArray;
    assertEquals(found.toArray(), [2n, -1n, 1n] as never);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("convertModel() refuses what it cannot name or find", async () => {
  const from = `${FIXTURES}module`;
  await assertRejects(
    () => convertModel(from, "/tmp/x.onnx"),
    tf.ValueError,
    "Cannot convert to /tmp/x.onnx: wanted FILE.pb, model.json or the name of a folder",
  );
  await assertRejects(
    () => convertModel(from, "/tmp/x.pb", { signature: "none" }),
    tf.ValueError,
    'it has no signature "none", wanted one of',
  );
});

Deno.test("weights of dtypes that TensorFlow.js lacks become those it has", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_convert_" });
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const long = tf.cast(tf.constant([2n, 3n], "int64"), "float32");
    const text = tf.constant(["a", "é"], "string");
    return [tf.mul(x, long), tf.identity(text)];
  });
  const def = JSON.parse(JSON.stringify(graph.toGraphDef()));
  const f = tf.function((x: tf.Tensor) => {
    const [y, s] = tf.importGraphDef(def, {
      prefix: "",
      inputMap: { "x:0": x },
      returnElements: ["Mul:0", "Identity:0"],
    }) as tf.Tensor[];
    return { y, s };
  }, { inputSignature: [tf.TensorSpec([2], "float32", "x")] });
  await saveModel(`${folder}/saved`, { signatures: { serving_default: f } });
  await convertModel(`${folder}/saved`, `${folder}/model.json`);
  const json = JSON.parse(await Deno.readTextFile(`${folder}/model.json`));
  const dtypes = json.weightsManifest[0].weights.map((w: { dtype: string }) => w.dtype);
  assert(dtypes.includes("string") && !dtypes.includes("int64"), dtypes.join());
  const model = await tf.loadGraphModel(`${folder}/model.json`);
  const [y, s] = await model.executeAsync({ x: tf.tensor([5, 7]) }, [
    json.signature.outputs.y.name,
    json.signature.outputs.s.name,
  ]) as tf.Tensor[];
  assertEquals([y.arraySync(), s.arraySync()], [[10, 21], ["a", "é"]]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("loadSavedModel() binds scripts by the functions it is given", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_scripts_" });
  const double = tf.registerScript(
    "test.convert_scale@1",
    (x: tf.NdArray) => x.map((v) => Number(v) * 2),
  );
  const f = tf.function((x: tf.Tensor) => {
    const y = tf.numpyFunction(double, [x], "float32") as tf.Tensor;
    return { y };
  }, { inputSignature: [tf.TensorSpec([2], "float32", "x")] });
  await saveModel(folder, { signatures: { serving_default: f } });
  const model = await loadSavedModel(folder, {
    scripts: { "test.convert_scale@1": (x: tf.NdArray) => x.map((v) => Number(v) * 10) },
  });
  const { y } = await model.signatures.serving_default({ x: [1, 2] });
  assertEquals(y.arraySync(), [10, 20]);
  await assertRejects(
    () => loadSavedModel(folder, { script: {} } as never),
    TypeError,
    "scripts",
  );
  await Deno.remove(folder, { recursive: true });
});
