/** loadSavedModel and saveModel: models that TensorFlow 2.21 wrote, with what it computed (make_fixtures.py). */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as tf from "@weft/weft";
import { loadSavedModel, readGraphDef, saveModel } from "@weft/weft/tf";
import { assertClose } from "./close.ts";
import { testOnDevices } from "../devices.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);

interface Expected {
  readonly signature: string;
  readonly inputs: Record<string, tf.TensorLike>;
  readonly outputs: Record<string, unknown>;
}

function expected(model: string): Expected[] {
  return JSON.parse(Deno.readTextFileSync(new URL(`${model}/expected.json`, FIXTURES)));
}

for (const name of ["module", "cnn", "rnn", "version_1"]) {
  testOnDevices(`loadSavedModel() runs TensorFlow's "${name}"`, async () => {
    const model = await loadSavedModel(new URL(name, FIXTURES));
    for (const { signature, inputs, outputs } of expected(name)) {
      const results = await model.signatures[signature](inputs);
      assertEquals(Object.keys(results).sort(), Object.keys(outputs).sort());
      for (const [key, value] of Object.entries(outputs)) {
        assertClose(await results[key].array(), value, 1e-5, `${signature} ${key}`);
      }
    }
    model.dispose();
  });
}

for (const name of ["cnn", "rnn"]) {
  testOnDevices(`readGraphDef() reads "${name}" frozen, control flow lowered`, async () => {
    const [{ inputs, outputs }] = expected(name);
    const def = await readGraphDef(new URL(`${name}_frozen.pb`, FIXTURES));
    const last = def.node.at(-1)!.name;
    const graph = new tf.Graph();
    const [y] = graph.asDefault(() =>
      tf.importGraphDef(def, { prefix: "", returnElements: [`${last}:0`] })
    ) as tf.Tensor[];
    const [x] = Object.values(inputs);
    const result = await new tf.Session({ graph }).run(y, { feeds: { "x:0": x } }) as tf.NdArray;
    assertClose(result.toArray(), Object.values(outputs)[0], 1e-5, name);
  });
}

Deno.test("loadSavedModel() gives variables as the model names and trains them", async () => {
  const model = await loadSavedModel(new URL("module", FIXTURES));
  assertEquals(
    model.variables.map((v) => [v.name, v.trainable]).sort(),
    [["b", false], ["n", true], ["w", true]],
  );
  model.dispose();
  assert(model.variables.every((v) => v.isDisposed));
  const old = await loadSavedModel(new URL("version_1", FIXTURES));
  assertEquals(old.variables.map((v) => [v.name, v.trainable]).sort(), [["b", false], ["w", true]]);
  old.dispose();
});

Deno.test("loadSavedModel() gives variables of Keras' exports that have a use, and trains no statistics", async () => {
  const model = await loadSavedModel(new URL("cnn", FIXTURES));
  assert(model.variables.every((v) => !v.isDisposed));
  const ofNorm = model.variables.filter((v) => v.name.includes("batch_normalization"));
  assertEquals(
    ofNorm.map((v) => [v.name.replace(/.*\//, ""), v.trainable]).sort(),
    [["beta_1", true], ["gamma_1", true], ["moving_mean_1", false], ["moving_variance_1", false]],
  );
  model.dispose();
});

Deno.test("signatures and methods of Keras' exports read the same variables", async () => {
  for (const name of ["cnn", "rnn"]) {
    const model = await loadSavedModel(new URL(name, FIXTURES));
    const [{ signature, inputs }] = expected(name), x = Object.values(inputs)[0];
    assert(new Set(model.variables).size === model.variables.length);
    const both = async (): Promise<unknown[]> => {
      const [y] = Object.values(await model.signatures[signature](inputs));
      const z = await model.methods.serve!(tf.tensor(x as number[])) as tf.Tensor;
      return [await y!.array(), await z.array()];
    };
    const [y, z] = await both();
    assertClose(z, y, 1e-6, name);
    for (const list of ["variables", "trainable_variables"]) {
      for (const v of Object.values(model.root.children[list]!.variables)) {
        assert(model.variables.includes(v), `${list}: ${v.name}`);
        if (v.dtype === "float32") v.assign(tf.mul(v, 0.5));
      }
    }
    const [after, afterwards] = await both();
    assertClose(afterwards, after, 1e-6, name);
    assert(JSON.stringify(after) !== JSON.stringify(y), name);
    assertStringIncludes(Deno.inspect(model.root), "LoadedObject { serve(), ");
    const text = Deno.inspect(model);
    assertStringIncludes(text, `/${name}: ${model.variables.length} variables, serve()`);
    assertStringIncludes(text, `\n  ${signature}: `);
    model.dispose();
  }
});

testOnDevices("a loaded model can be trained", async () => {
  const model = await loadSavedModel(new URL("version_1", FIXTURES));
  const w = model.variables.find((v) => v.name.startsWith("w"))!;
  using tape = new tf.GradientTape();
  const { y } = await model.signatures.serving_default({ x: [[1, 2]] });
  const dw = tape.gradient(y, w) as tf.Tensor;
  assertEquals(await dw.array(), [[1], [2]]);
  model.dispose();
});

Deno.test("loadSavedModel() refuses what is not there", async () => {
  await assertRejects(
    () => loadSavedModel("/no/such/model"),
    tf.errors.NotFoundError,
    "no such file",
  );
  await assertRejects(
    () => loadSavedModel(new URL("module", FIXTURES), { tags: ["train"] }),
    tf.ValueError,
    "no meta graph with tags [train], only with [serve]",
  );
  for (
    const [path, words] of [
      ["m/x.keras", "loadKeras() of @weft/weft/keras reads models of Keras"],
      ["m/saved_model.pb", "wanted the folder that holds saved_model.pb"],
      ["m/x.onnx", "loadOnnx() of @weft/weft/onnx reads models of ONNX"],
      ["m/frozen.pb", "readGraphDef() reads a graph"],
      ["m/model.json", "tf.loadGraphModel() reads a model of TensorFlow.js"],
    ] as const
  ) {
    await assertRejects(
      () => loadSavedModel(path),
      tf.errors.NotFoundError,
      `Cannot load ${path}: ${words}`,
    );
  }
  const model = await loadSavedModel(new URL("module", FIXTURES));
  await assertRejects(
    () => model.signatures.serving_default(tf.scalar(1) as never),
    tf.ValueError,
    'wanted an object with "x", received a tensor of dtype float32',
  );
  await assertRejects(
    () => model.signatures.serving_default({ z: 1 }),
    tf.ValueError,
    'it takes "x", "x" is missing, "z" is unknown',
  );
  model.dispose();
});

Deno.test("loadSavedModel() names TensorFlow's chunked form", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeFile(`${folder}/saved_model.cpb`, new Uint8Array(4));
  await assertRejects(
    () => loadSavedModel(folder),
    tf.errors.UnimplementedError,
    "saved_model.cpb",
  );
});

testOnDevices("saveModel() writes what loadSavedModel() reads", async () => {
  using w = tf.variable([[1, 2], [3, 4]], true, "save/w");
  using b = tf.variable([0.5, 0.25], false, "save/b");
  const x = tf.TensorSpec([null, 2], "float32", "x"), s = tf.TensorSpec([], "float32", "s");
  const serve = tf.function(
    (x: tf.Tensor) => ({ y: tf.relu(tf.add(tf.matMul(x, w), b)) }),
    { inputSignature: [x] },
  );
  const double = tf.function((s: tf.Tensor) => {
    const [, y] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 5),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, 2)],
      [tf.scalar(0, "int32"), s],
    ) as tf.Tensor[];
    return { y };
  }, { inputSignature: [s] });
  const folder = await Deno.makeTempDir();
  await saveModel(folder, { signatures: { serving_default: serve, double } });
  const model = await loadSavedModel(folder);
  const { y } = await model.signatures.serving_default({ x: [[1, 1], [-1, -2]] });
  assertClose(await y.array(), [[4.5, 6.25], [0, 0]], 1e-6, "y");
  // As an object has them that TensorFlow saves: a method for each signature, and variables.
  const { methods, children } = model.root;
  assertEquals(methods.serving_default.traces, ["(float32[?,2])"]);
  const called = await methods.serving_default([[1, 1]]) as { y: tf.Tensor };
  assertClose(await called.y.array(), [[4.5, 6.25]], 1e-6, "y of the method");
  assertEquals(Object.values(children.variables.variables), model.variables);
  assertEquals(Object.values(children.trainable_variables.variables).length, 1);
  assertEquals(await (await model.signatures.double({ s: 3 })).y.array(), 96);
  assertEquals(model.variables.map((v) => v.trainable), [true, false]);
  model.dispose();
});

Deno.test("saveModel() writes a model of version 1 where two outputs are one", async () => {
  using w = tf.variable([2], true, "save/v1");
  const twice = tf.function((x: tf.Tensor) => {
    const y = tf.mul(x, w);
    return { y, z: y };
  }, { inputSignature: [tf.TensorSpec([1], "float32", "x")] });
  const folder = await Deno.makeTempDir();
  await saveModel(folder, { signatures: { twice } });
  const model = await loadSavedModel(folder);
  assertEquals(Object.keys(model.methods), []);
  const { y, z } = await model.signatures.twice({ x: [3] });
  assertEquals([await y.array(), await z.array()], [[6], [6]]);
  model.dispose();
});

Deno.test("saveModel() refuses what cannot be a signature", async () => {
  const unnamed = tf.function((x: tf.Tensor) => ({ y: x }), {
    inputSignature: [tf.TensorSpec([])],
  });
  const folder = await Deno.makeTempDir();
  const save = (f: unknown) => () => saveModel(folder, { signatures: { f: f as typeof unnamed } });
  await assertRejects(save(unnamed), tf.ValueError, "input 0 has no name");
  const flat = tf.function((x: tf.Tensor) => x, {
    inputSignature: [tf.TensorSpec([], "float32", "x")],
  });
  await assertRejects(save(flat), tf.ValueError, "must return a record of tensors");
  await assertRejects(() => saveModel(folder, { signatures: {} }), tf.ValueError, "no signatures");
});

testOnDevices("saveModel() writes scripts without a name where it may", async () => {
  const folder = await Deno.makeTempDir();
  const triple = (x: tf.NdArray): tf.NdArray => x.map((v) => 3 * Number(v));
  const f = tf.function((x: tf.Tensor) => ({
    y: tf.add(tf.numpyFunction(triple, [x], "float32"), tf.pyFunction(tf.square, [x], "float32")),
  }), { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const signatures = { serve: f };
  await assertRejects(
    () => saveModel(folder, { signatures }),
    tf.ValueError,
    "or pass { allowAnonymousScripts: true }",
  );
  await saveModel(folder, { signatures, allowAnonymousScripts: true });
  const call = async (options: Parameters<typeof loadSavedModel>[1]): Promise<unknown> => {
    const model = await loadSavedModel(folder, options);
    return await (await model.signatures.serve({ x: [1, 2] })).y.array();
  };
  assertEquals(await call({}), [4, 10]);
  const text = await Deno.readTextFile(`${folder}/assets.extra/script_ops.json`);
  const { scripts } = JSON.parse(text) as { scripts: { token: string; op: string }[] };
  const named = Object.fromEntries(
    scripts.map(({ token, op }) => [token, op === "PyFunc" ? triple : tf.neg]),
  );
  // As another process does.
  assertEquals(await call({ scripts: named }), [2, 4]);
  await assertRejects(
    () => saveModel(folder, { signatures, allowAnonymousScript: true } as never),
    TypeError,
    'did you mean "allowAnonymousScripts"?',
  );
});
