/** TensorFlow 1's graph world where it is more than numbers: what is refused, sessions, savers, frozen graphs. */

import * as tf from "@weft/weft";
import "@weft/weft/tf";
import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1;
const { getVariable, variableScope } = v1;
const inGraph = <T>(build: () => T): T => new tf.Graph().asDefault(build);

function plain(v: unknown): unknown {
  return v instanceof tf.NdArray ? v.toArray() : Array.isArray(v) ? v.map(plain) : v;
}

Deno.test("getVariable() refuses what does not fit its scope, in TensorFlow's words", () => {
  assertThrows(() => getVariable("w", { shape: [1] }), tf.RuntimeError, "eager execution");
  inGraph(() => {
    const w = getVariable("w", { shape: [2] });
    const refused: [() => unknown, string][] = [
      [() => getVariable("w", { shape: [2] }), "Variable w already exists, disallowed."],
      [() => variableScope("", { reuse: true }, () => getVariable("v")), "does not exist"],
      [
        () => variableScope("", { reuse: true }, () => getVariable("w", { shape: [3] })),
        "Trying to share variable w, but specified shape (3,) and found shape (2,)",
      ],
      [
        () => variableScope("", { reuse: true }, () => getVariable("w", { dtype: "int32" })),
        "specified dtype int32 and found dtype float32",
      ],
      [() => getVariable("u"), "Shape of a new variable (u) must be fully defined"],
      [() => getVariable("u", { shape: [1], initializer: [1] }), "do not specify shape"],
      [() => getVariable("u", { shape: [], dtype: "string" }), "An initializer for variable u"],
      [() => variableScope(null, () => 0), "defaultName"],
    ];
    for (const [fn, text] of refused) assertThrows(fn, tf.ValueError, text);
    assertStrictEquals(variableScope("", { reuse: v1.AUTO_REUSE }, () => getVariable("w")), w);
    assertThrows(() => getVariable("u", { shapes: [1] } as never), TypeError, "shape");
    assertEquals(v1.globalVariables().length, 1);
  });
});

Deno.test("scopes hand on what variables take from them", () => {
  inGraph(() => {
    const made = variableScope(
      "a",
      { initializer: v1.onesInitializer(), dtype: "float64" },
      (scope) => {
        scope.reuseVariables();
        assertThrows(() => getVariable("w", { shape: [1] }), tf.ValueError, "does not exist");
        return scope;
      },
    );
    assertEquals([made.name, made.reuse, made.originalNameScope], ["a", true, "a/"]);
    const again = variableScope("a", () => variableScope("b", () => v1.getVariableScope()));
    assertEquals([again.name, again.reuse, again.originalNameScope], ["a/b", false, "a_1/b/"]);
    variableScope("a", () => getVariable("w", { shape: [1] }));
    assertEquals(made.globalVariables().map((v) => v.name), ["a/w"]);
    assertEquals(v1.trainableVariables("b").length, 0);
  });
});

Deno.test("getRandomSeed() tells the seeds that an op would have", () => {
  const { setRandomSeed, getRandomSeed } = tf.compat.v1;
  try {
    setRandomSeed(null);
    assertEquals([getRandomSeed(), getRandomSeed(5)], [[null, null], [87654321, 5]]);
    setRandomSeed(3);
    assertEquals(getRandomSeed(5), [3, 5]);
    assertEquals(getRandomSeed()[0], 3);
    // Two zeros would mean no seed.
    setRandomSeed(0);
    assertEquals([getRandomSeed(0), getRandomSeed(1)], [[0, 2 ** 31 - 1], [0, 1]]);
    setRandomSeed(1);
    assertEquals(getRandomSeed(0), [1, 0]);
  } finally {
    setRandomSeed(null);
  }
});

testOnDevices("initializers spread values as they say", async () => {
  const fans: [string, tf.Tensor, number][] = inGraph(() => {
    const shape = [64, 32];
    return [
      ["glorot uniform", v1.glorotUniformInitializer(1)(shape), 2 / 96],
      ["glorot normal", v1.glorotNormalInitializer(2)(shape), 2 / 96],
      [
        "scaled",
        v1.varianceScalingInitializer({ scale: 2, distribution: "untruncated_normal", seed: 3 })(
          shape,
        ),
        2 / 64,
      ],
      ["normal", v1.randomNormalInitializer(0, 0.5, 4)(shape), 0.25],
      ["uniform", v1.randomUniformInitializer(-3, 3, 5)(shape), 3],
    ];
  });
  const sess = new tf.Session({ graph: fans[0][1].graph as tf.Graph });
  for (const [name, t, variance] of fans) {
    const { data } = await sess.run(t) as tf.NdArray;
    const found = [...data as Float32Array].reduce((a, x) => a + x * x, 0) / data.length;
    assert(Math.abs(found / variance - 1) < 0.15, `${name}: ${found}, wanted ${variance}`);
  }
  assertThrows(() => v1.varianceScalingInitializer({ scale: 0 }), tf.ValueError, "positive float");
});

testOnDevices(
  "sessions are fed by maps, and evaluate tensors where they are the default",
  async () => {
    const graph = new tf.Graph();
    const { x, y, v, inc } = graph.asDefault(() => {
      const x = v1.placeholder("float32", [], "x"), v = v1.variable(1);
      return { x, v, y: tf.add(tf.mul(x, 2), v), inc: v.assignAdd(x)! };
    });
    await assertRejects(() => y.eval(), tf.ValueError, "No default session is registered");
    const sess = new v1.InteractiveSession({ graph });
    await v.initializer!.run();
    assertEquals(await y.eval(new Map([[x, 3]])), 7);
    assertEquals(await inc.eval({ "x:0": 4 }), 5);
    assertEquals(await v.eval(), 5);
    const call = sess.makeCallable([y, v], [x]);
    assertEquals(plain(await call(10)), [25, 5]);
    await assertRejects(() => call(), TypeError, "Feed list length 1");
    assertEquals(await sess.run(y, { feedDict: new Map([[x, 1]]) }), 7);
    for (const partial of [() => sess.partialRunSetup([y]), () => sess.partialRun(null, y)]) {
      assertThrows(partial, tf.errors.UnimplementedError, "call run() with all fetches");
    }
    const other = new v1.Session({ graph: new tf.Graph() });
    await other.asDefault(() =>
      assertRejects(() => y.eval(), tf.ValueError, "different from the session's graph")
    );
    assertStrictEquals(v1.getDefaultSession(), sess);
    const second = new tf.Session({ graph }), zero = new Map([[x, 0]]);
    await assertRejects(() => y.eval(zero, second), tf.errors.FailedPreconditionError);
    await v.initializer!.run({}, second);
    assertEquals([await y.eval(zero, second), await y.eval(zero)], [1, 5]);
    await sess.close();
    assertEquals(v1.getDefaultSession(), null);
  },
);

testOnDevices("a Saver writes and reads what TensorFlow does", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_saver_" });
  try {
    const build = () => {
      const w = getVariable("w", { initializer: [1, 2] });
      const n = v1.variable(7, { name: "n", dtype: "int64" });
      return { w, n, saver: new v1.train.Saver(null, { maxToKeep: 2 }) };
    };
    const graph = new tf.Graph(), { w, n, saver } = graph.asDefault(build);
    const sess = new v1.Session({ graph });
    await assertRejects(() => saver.save(sess, `${folder}/m`), tf.errors.FailedPreconditionError);
    await sess.run([w.initializer!, n.initializer!]);
    for (const globalStep of [1, 2, 3]) await saver.save(sess, `${folder}/m`, { globalStep });
    assertEquals(await saver.save(sess, `${folder}/m`, { globalStep: n }), `${folder}/m-7`);
    assertEquals(
      await Deno.readTextFile(`${folder}/checkpoint`),
      ["model_checkpoint_path", "all_model_checkpoint_paths", "all_model_checkpoint_paths"]
        .map((key, i) => `${key}: "${folder}/m-${[7, 3, 7][i]}"\n`).join(""),
    );
    const latest = await v1.train.latestCheckpoint(folder);
    assertEquals(latest, `${folder}/m-7`);
    const fresh = new tf.Graph(), parts = fresh.asDefault(build);
    const other = new v1.Session({ graph: fresh });
    await parts.saver.restore(other, latest!);
    assertEquals(plain(await other.run([parts.w, parts.n])), [[1, 2], 7n]);
    const wrong = fresh.asDefault(() => {
      const bad = getVariable("bad", { initializer: [1, 2, 3] });
      return [new v1.train.Saver([bad]), new v1.train.Saver({ w: bad })];
    });
    await assertRejects(() => wrong[0].restore(other, latest!), tf.errors.NotFoundError, "Key bad");
    await assertRejects(() => wrong[1].restore(other, latest!), tf.ValueError, "float32[3]");
    await assertRejects(() => saver.restore(sess, `${folder}/none`), tf.errors.NotFoundError);
    assertEquals(await v1.train.latestCheckpoint(`${folder}/none`), null);
    assertThrows(() => inGraph(() => new v1.train.Saver()), tf.ValueError, "No variables to save");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a Saver names the import that it needs", async () => {
  const { checkpointFormat } = await import("../../src/library/io/checkpoint/format.ts");
  const before = checkpointFormat.provide(null);
  try {
    const [graph, saver] = inGraph(() => [v1.variable(1).graph, new v1.train.Saver()] as const);
    await assertRejects(
      () => saver.save(new v1.Session({ graph }), "m"),
      tf.errors.UnimplementedError,
      'import "@weft/weft/tf"',
    );
  } finally {
    checkpointFormat.provide(before);
  }
});

testOnDevices("a frozen graph has constants for variables", async () => {
  const graph = new tf.Graph();
  const init = graph.asDefault(() => {
    const x = v1.placeholder("float32", [2], "x"), w = getVariable("w", { initializer: [1, 2] });
    tf.nameScope("y", () => tf.mul(x, w));
    tf.nameScope("z", () => w.assignAdd(x));
    return v1.globalVariablesInitializer();
  });
  const sess = new v1.Session({ graph }), def = graph.toGraphDef();
  const { convertVariablesToConstants, extractSubGraph } = v1.graphUtil;
  await assertRejects(
    () => convertVariablesToConstants(sess, def, ["y/Mul"]),
    tf.errors.FailedPreconditionError,
  );
  await sess.run(init);
  const frozen = await convertVariablesToConstants(sess, def, ["y/Mul"]);
  assertEquals(frozen.node.map((n) => `${n.name} ${n.op}`), [
    "x Placeholder",
    "w Const",
    "y/ReadVariableOp Identity",
    "y/Mul Mul",
  ]);
  const again = new tf.Graph();
  again.asDefault(() => tf.importGraphDef(frozen, { prefix: "" }));
  const out = await new tf.Session({ graph: again }).run("y/Mul:0", { feeds: { "x:0": [3, 4] } });
  assertEquals(plain(out), [3, 8]);
  await assertRejects(
    () => convertVariablesToConstants(sess, def, ["z/AssignAddVariableOp"]),
    tf.errors.UnimplementedError,
    "uses a variable itself",
  );
  assertThrows(() => extractSubGraph(def, ["nothing"]), tf.ValueError, "nothing is not in graph");
});

testOnDevices("groups, cases and checks do their work in eager mode too", () => {
  assertEquals([tf.noOp(), tf.group(null), tf.Assert(true, ["fine"])], [null, null, null]);
  const a = tf.scalar(1);
  assertStrictEquals(tf.tuple([a, null])[0], a);
  assertThrows(() => tf.tuple([null]), tf.ValueError, "at least one Tensor");
  assertThrows(
    () => tf.case([[false, () => a]]),
    tf.errors.InvalidArgumentError,
    "None of the conditions evaluated as True",
  );
  assertThrows(
    () => tf.case([[true, () => a], [true, () => a]], { exclusive: true }),
    tf.errors.InvalidArgumentError,
    "More than one condition",
  );
  assertThrows(() => tf.case([]), tf.ValueError, "at least one pair");
  assertThrows(() => tf.switchCase(0, []), tf.ValueError, "at least one function");
  const long = tf.range(0, 5);
  assertThrows(() => tf.Assert(false, [long], -1), tf.errors.InvalidArgumentError, "[0 1 2 3 4]");
});

testOnDevices("a check in tf.function fails the call", () => {
  const root = tf.function((x: tf.Tensor) => {
    tf.Assert(tf.greaterEqual(x, 0), ["negative:", x]);
    return tf.sqrt(x);
  });
  assertEquals(root(tf.scalar(9)).item(), 3);
  assertThrows(() => root(tf.scalar(-1)), tf.errors.InvalidArgumentError, "[negative:] [-1]");
});

Deno.test("a gradient's name is asked for where it is used", () => {
  inGraph(() => {
    const x = tf.placeholder("float32", []);
    const y = tf.gradientOverrideMap({ Neg: "weft_test/None" }, () => tf.neg(x));
    assertThrows(() => tf.gradients(y, x), tf.LookupError, "no entry for: weft_test/None");
  });
  const one = tf.registerGradient("weft_test/Once", () => null);
  assertStrictEquals(tf.registerGradient("weft_test/Once", one), one);
  assertThrows(
    () => tf.registerGradient("weft_test/Once", () => null),
    tf.errors.AlreadyExistsError,
    "two gradients",
  );
});

Deno.test("optimizers refuse what they cannot train", () => {
  inGraph(() => {
    const optimizer = new v1.train.GradientDescentOptimizer(0.1);
    const x = tf.placeholder("float32", []);
    assertThrows(() => optimizer.minimize(x), tf.ValueError, "No variables to optimize");
    const w = v1.variable(1, { name: "w" });
    assertThrows(() => optimizer.minimize(x), tf.ValueError, "No gradients provided");
    const momentum = new v1.train.MomentumOptimizer(0.1, 0.9);
    momentum.minimize(tf.square(w));
    assertEquals(momentum.getSlot(w, "momentum")?.name, "w/Momentum");
    assertEquals([momentum.getSlotNames(), optimizer.getSlotNames()], [["momentum"], []]);
    const adam = new v1.train.AdamOptimizer(0.1);
    adam.minimize(tf.square(w));
    assertEquals(
      [optimizer, momentum, adam].map((o) => o.variables().map((v) => v.name)),
      [[], ["w/Momentum"], ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]],
    );
    assertThrows(() => new v1.train.AdagradOptimizer(0.1, 0), tf.ValueError, "positive");
    v1.train.createGlobalStep();
    assertThrows(() => v1.train.createGlobalStep(), tf.ValueError, "already exists");
  });
});

Deno.test("collections hold what they are given, by graph and scope", () => {
  inGraph(() => {
    v1.addToCollection("c", { name: "a/x" });
    v1.addToCollection("c", { name: "b/x" });
    assertEquals([v1.getCollection("c").length, v1.getCollection("c", "a").length], [2, 1]);
    v1.getCollectionRef("c").length = 0;
    assertEquals(v1.getCollection("c"), []);
    assertEquals(v1.tablesInitializer().type, "NoOp");
  });
  inGraph(() => assertEquals(v1.getCollection("c"), []));
  assertThrows(() => v1.getDefaultGraph(), tf.RuntimeError, "inside graph.asDefault()");
});

testOnDevices(
  "reportUninitializedVariables() names those without a value, as a session runs it",
  async () => {
    const { missing, one, none, init, local } = inGraph(() => {
      const w = v1.variable(1, { name: "w" });
      const l = v1.variable([1, 2], { name: "l", collections: [v1.GraphKeys.LOCAL_VARIABLES] });
      const missing = v1.reportUninitializedVariables();
      return {
        missing,
        one: v1.reportUninitializedVariables([l], "some"),
        none: v1.reportUninitializedVariables([]),
        init: v1.variablesInitializer([w]),
        local: v1.localVariablesInitializer(),
      };
    });
    assertEquals([missing.dtype, one.name.split("/")[0]], ["string", "some"]);
    await using session = new v1.Session({ graph: missing.graph });
    const names = async (t: tf.Tensor) => (await session.run(t) as tf.NdArray).strings();
    assertEquals([await names(missing), await names(one), await names(none)], [
      ["w", "l"],
      ["l"],
      [],
    ]);
    await session.run(init);
    assertEquals(await names(missing), ["l"]);
    await session.run(local);
    assertEquals([await names(missing), await names(one)], [[], []]);
    assertEquals(tf.portability(missing.graph as tf.Graph), []);
    assertThrows(() => v1.reportUninitializedVariables(), tf.RuntimeError, "graph");
  },
);

Deno.test("tablesInitializer() fills the tables that an imported graph fills", async () => {
  const graph = new tf.Graph();
  const attr = { Tin: { type: "DT_INT64" }, Tout: { type: "DT_FLOAT" } };
  const node = (
    name: string,
    op: string,
    input: string[],
    attr: NonNullable<tf.NodeDefJson["attr"]>,
  ) => ({
    name,
    op,
    input,
    attr,
  });
  const { init } = graph.asDefault(() => {
    tf.constant(
      new tf.NdArray("int64", [2], BigInt64Array.of(3n, 5n)),
      undefined,
      undefined,
      "keys",
    );
    tf.constant([0.5, 0.25], undefined, undefined, "values");
    tf.constant(-1, undefined, undefined, "missing");
    const types = { key_dtype: attr.Tin, value_dtype: attr.Tout };
    const { node: own } = graph.toGraphDef();
    const def = {
      node: [
        ...own,
        node("table", "HashTableV2", [], { ...types, shared_name: { s: btoa("t") } }),
        node("fill", "LookupTableImportV2", ["table", "keys", "values"], attr),
        node("find", "LookupTableFindV2", ["table", "keys", "missing"], attr),
      ],
      versions: { producer: 1 },
    };
    tf.importGraphDef(def, { prefix: "imported" });
    return { init: v1.tablesInitializer() };
  });
  await using session = new v1.Session({ graph });
  await assertRejects(
    () => session.run("imported/find:0"),
    tf.errors.FailedPreconditionError,
    "not initialised",
  );
  assertEquals(await session.run(init), null);
  assertEquals(plain(await session.run("imported/find:0")), [0.5, 0.25]);
});
