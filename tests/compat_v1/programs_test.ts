/**
 * Small programs of TensorFlow 1's graph world, as its guides have them: what they give is what TensorFlow gave (`goldens.json`, written by
 * `python/goldens.py` from the same programs in Python).
 */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1;
const { getVariable, variableScope } = v1;

/** The runs in order: fetches and feeds. */
type Run = readonly [unknown, (readonly (readonly [tf.Tensor, tf.TensorLike])[])?];

/** Allowed difference of float32 numbers from TensorFlow's, relative to one plus their size. */
const NEAR = 2e-6;

const x3 = [1, 2, -3];
const constant = v1.constantInitializer;
const init = () => v1.globalVariablesInitializer();
const feed = (...pairs: [tf.Tensor, tf.TensorLike][]) => pairs;
/** The gradients of a sum, none of them null. */
const grads = (y: tf.Tensor, xs: tf.Tensor[]): tf.Tensor[] =>
  tf.gradients(y, xs).map((g) => g ?? tf.scalar(NaN));

const PROGRAMS: Record<string, () => readonly Run[]> = {
  "a counter": () => {
    const state = v1.variable(0, { name: "counter" });
    const update = v1.assign(state, tf.add(state, 1));
    return [[init()], [state], [update], [update], [state]];
  },
  "assignments give new values": () => {
    const v = getVariable("v", { initializer: x3 });
    const x = v1.placeholder("float32", [3]);
    const added = v1.assignAdd(v, x)!, taken = v1.assignSub(v, [1, 1, 1])!;
    return [[init()], [added, feed([x, [1, 1, 1]])], [taken], [tf.mul(added, 2), feed([x, x3])]];
  },
  "a variable that is fed": () => {
    const v = getVariable("v", { initializer: x3 });
    return [[init()], [v, feed([v, [7, 8, 9]])], [v]];
  },
  "variables shared by scopes": () => {
    const layer = (x: tf.Tensor) => {
      const w = getVariable("w", { shape: [2, 2], initializer: constant([1, 2, 3, 4]) });
      const b = getVariable("b", { shape: [2], initializer: v1.onesInitializer() });
      return tf.add(tf.matMul(x, w), b);
    };
    const x = v1.placeholder("float32", [1, 2]);
    const once = variableScope("layer", () => layer(x));
    const twice = variableScope("layer", { reuse: true }, () => layer(once));
    const other = variableScope("layer2", { reuse: v1.AUTO_REUSE }, () => layer(twice));
    const names = v1.globalVariables().map((v) => v.name).join();
    return [[init()], [[once, twice, other], feed([x, [[1, -1]]])], [tf.tensor(names)]];
  },
  "scopes within scopes": () => {
    const names = variableScope("a", (a) => {
      const v = getVariable("v", { shape: [1] }).name;
      const y = tf.neg(1).name;
      const inner = variableScope(
        "b",
        () => [getVariable("v", { shape: [1] }).name, tf.neg(1).name],
      );
      const again = variableScope(
        a,
        { reuse: true },
        () => [getVariable("v").name, tf.neg(1).name],
      );
      return [v, y, ...inner, ...again];
    });
    const free = [1, 2].map(() =>
      variableScope(null, { defaultName: "unit" }, () => getVariable("v", { shape: [1] }).name)
    );
    return [[tf.tensor([...names, ...free].join())]];
  },
  "a penalty for weights": () => {
    const regularizer = (w: tf.Tensor) => tf.mul(tf.sum(tf.square(w)), 0.5);
    variableScope("net", { regularizer, initializer: constant(3) }, () => {
      getVariable("w", { shape: [2] });
      getVariable("b", { initializer: [1], regularizer: (b) => tf.sum(b) });
    });
    const losses = v1.getCollection(v1.GraphKeys.REGULARIZATION_LOSSES) as tf.Tensor[];
    return [[init()], [losses]];
  },
  "a line fitted by gradient descent": () => {
    const x = v1.placeholder("float32", [null]), y = v1.placeholder("float32", [null]);
    const w = v1.variable(0.3, { name: "w" }), b = v1.variable(-0.3, { name: "b" });
    const loss = tf.sum(tf.square(tf.sub(tf.add(tf.mul(w, x), b), y)));
    const train = new v1.train.GradientDescentOptimizer(0.01).minimize(loss);
    const data = feed([x, [1, 2, 3, 4]], [y, [0, -1, -2, -3]]);
    return [[init()], ...Array<Run>(5).fill([train, data]), [[w, b, loss], data]];
  },
  ...Object.fromEntries(
    Object.entries({
      Momentum: () => new v1.train.MomentumOptimizer(0.1, 0.9),
      Nesterov: () => new v1.train.MomentumOptimizer(0.1, 0.9, false, "Momentum", true),
      Adagrad: () => new v1.train.AdagradOptimizer(0.1),
      Adadelta: () => new v1.train.AdadeltaOptimizer(1),
      RMSProp: () => new v1.train.RMSPropOptimizer(0.1, 0.9, 0.5),
      "centered RMSProp": () => new v1.train.RMSPropOptimizer(0.1, 0.9, 0, 1e-10, false, true),
      Adam: () => new v1.train.AdamOptimizer(0.1),
    }).map(([name, make]) => [`${name} in a graph`, () => {
      const w = getVariable("w", { initializer: x3 });
      const step = make().minimize(tf.sum(tf.square(w)));
      const names = v1.globalVariables().map((v) => v.name).join();
      return [[init()], [step], [step], [step], [w], [tf.tensor(names)]] as Run[];
    }]),
  ),
  "a step count and a rate that follows it": () => {
    const step = v1.train.getOrCreateGlobalStep(), w = getVariable("w", { initializer: x3 });
    const rate = v1.train.exponentialDecay(0.1, step, 2, 0.5, true);
    const optimizer = new v1.train.GradientDescentOptimizer(rate);
    const train = optimizer.minimize(tf.sum(tf.square(w)), { globalStep: step });
    return [[init()], [train], [train], [train], [[w, step, rate]]];
  },
  "gradients clipped by their norm": () => {
    const w = getVariable("w", { initializer: x3 }), b = getVariable("b", { initializer: [4] });
    const optimizer = new v1.train.GradientDescentOptimizer(1);
    const pairs = optimizer.computeGradients(tf.add(tf.sum(tf.square(w)), tf.sum(tf.mul(b, 3))));
    const [clipped, norm] = tf.clipByGlobalNorm(pairs.map(([g]) => g), 2);
    const train = optimizer.applyGradients(pairs.map(([, v], i) => [clipped[i], v]));
    return [[init()], [[norm, ...clipped as tf.Tensor[]]], [train], [[w, b]]];
  },
  "clips and their gradients": () => {
    const x = v1.placeholder("float32", [3]);
    const value = tf.clipByValue(x, -1, 1.5), norm = tf.clipByNorm(x, 2);
    const weights = [1, 2, 3];
    const of = (y: tf.Tensor) => grads(tf.sum(tf.mul(y, weights)), [x])[0];
    const fetches = [value, norm, of(value), of(norm)];
    return [[fetches, feed([x, x3])], [fetches, feed([x, [0.5, -1, 1.5]])], [
      fetches,
      feed([x, [0, 0, 0]]),
    ]];
  },
  "control dependencies and groups": () => {
    const a = v1.variable(1, { name: "a" }), b = v1.variable(10, { name: "b" });
    const both = tf.group(a.assignAdd(1), b.assignAdd(10))!;
    const after = tf.controlDependencies([both], () => tf.add(a, b));
    const [p, q] = tf.tuple([tf.mul(a, 2), tf.mul(b, 2)], { controlInputs: [tf.noOp()!] });
    return [[init()], [both], [[a, b]], [after], [tf.noOp()], [[p, q]]].map((r) =>
      r as unknown as Run
    );
  },
  "one of several cases": () => {
    const x = v1.placeholder("float32", []), i = v1.placeholder("int32", []);
    const y = tf.case([
      [tf.less(x, 1), () => tf.scalar(17)],
      [tf.greater(x, 10), () => tf.mul(x, 2)],
    ], { default: () => tf.neg(x), exclusive: true });
    const z = tf.switchCase(i, [() => tf.mul(x, 1), () => tf.mul(x, 10), () => tf.mul(x, 100)]);
    const [dy] = grads(y, [x]), [dz] = grads(z, [x]);
    return [[0, 1], [5, 0], [11, 2], [7, -3]].map(([a, b]) =>
      [[y, z, dy, dz], feed([x, a], [i, b])] as Run
    );
  },
  "a loop with TensorFlow 1's options": () => {
    const w = getVariable("w", { initializer: 2 });
    const loop = (backProp: boolean) =>
      tf.whileLoop(
        (i) => tf.less(i, 4),
        (i, y) => [tf.add(i, 1), tf.mul(y, w)],
        [tf.scalar(0, "int32"), tf.scalar(1)],
        { parallelIterations: 10, swapMemory: false, backProp, name: "powers" },
      )[1];
    const y = loop(true), stopped = loop(false);
    return [[init()], [[y, stopped, ...grads(tf.add(y, tf.mul(stopped, w)), [w.handle])]]];
  },
  "second derivatives": () => {
    const x = v1.placeholder("float32", [2, 2]), y = v1.placeholder("float32", [3]);
    const h = tf.hessians(tf.add(tf.sum(tf.pow(x, 3)), tf.sum(tf.prod(y))), [x, y]);
    return [[h, feed([x, [[1, 2], [3, 4]]], [y, x3])]];
  },
  "products over pairs of axes": () => {
    const a = tf.reshape(tf.range(0, 24), [2, 3, 4]), b = tf.reshape(tf.range(0, 12), [4, 3]);
    return [[[
      tf.tensordot(a, b, 1),
      tf.tensordot(a, b, [[1, 2], [1, 0]]),
      tf.tensordot(a, b, [-1, 0]),
      tf.tensordot(b, [1, 2], 0),
    ]]];
  },
  "a gradient of one's own": () => {
    const x = v1.placeholder("float32", [3]);
    const y = tf.gradientOverrideMap({ Square: "weft_test/Half" }, () => tf.square(x));
    const z = tf.square(x);
    return [[[y, ...grads(tf.sum(y), [x]), ...grads(tf.sum(z), [x])], feed([x, x3])]];
  },
  "values that may be fed": () => {
    const x = v1.placeholderWithDefault([1, 2], [2]);
    const y = tf.mul(x, 2);
    return [[y], [y, feed([x, [5, 6]])], [[x, y], feed([y, [0, 0]])]];
  },
  "initial values that depend on others": () => {
    const a = v1.variable(() => tf.mul([1, 2], 3), { name: "a" });
    const b = getVariable("b", { shape: [2], initializer: () => tf.add(a.initialValue!, 1) });
    const c = v1.variable(5, {
      name: "c",
      trainable: false,
      collections: [v1.GraphKeys.LOCAL_VARIABLES],
    });
    const names = [v1.globalVariables(), v1.trainableVariables(), v1.localVariables()]
      .map((list) => list.map((v) => v.name).join(" ")).join("; ");
    return [
      [init()],
      [v1.localVariablesInitializer()],
      [[a, b, c]],
      [v1.isVariableInitialized(a)],
      [
        tf.tensor(names),
      ],
    ];
  },
  "nests of fetches": () => {
    const a = tf.constant(1, "float32", [], "a"), b = tf.constant([2, 3], "float32", [2], "b");
    const nest = [a, [b, [a, b]]];
    return [[nest], ["a:0"], [["b:0", a]], [[]], [a.op]];
  },
  "branches that assign": () => {
    const v = v1.variable(1), x = v1.placeholder("float32", []);
    const y = tf.cond(tf.greater(x, 0), () => v1.assignAdd(v, x)!, () => v1.assign(v, 0)!);
    return [[init()], [y, feed([x, 2])], [v], [y, feed([x, -1])], [v]];
  },
  "a loop that assigns": () => {
    const v = v1.variable(0);
    const turns = tf.whileLoop(
      (i) => tf.less(i, 5),
      (i) => tf.controlDependencies([v.assignAdd(tf.cast(i, "float32"))!], () => [tf.add(i, 1)]),
      [tf.scalar(0, "int32")],
    );
    return [[init()], [turns[0]], [v], [turns[0]], [v]];
  },
  "a loop whose rows double": () => {
    const loop = tf.whileLoop((i) => tf.less(i, 100), (i, x) => [tf.add(i, 1), tf.concat([x, x])], [
      tf.scalar(0, "int32"),
      tf.ones([1, 2]),
    ], { shapeInvariants: [[], [null, 2]], maximumIterations: 3, parallelIterations: 1 });
    return [[loop]];
  },
  "what scopes hand on": () => {
    const [v, w, u] = variableScope("a", { initializer: constant(3), dtype: "float64" }, () => [
      getVariable("v", { shape: [2] }),
      ...variableScope("b", { initializer: v1.onesInitializer() }, () => [
        getVariable("w", { shape: [1] }),
        getVariable("u", { shape: [1], initializer: v1.zerosInitializer(), dtype: "float32" }),
      ]),
    ]);
    return [[init()], [[v, w, u]], [tf.tensor([v, w, u].map((x) => x.dtype).join())]];
  },
  "a scope that is entered again": () => {
    const names = [0, 1].flatMap(() =>
      variableScope("s", { reuse: v1.AUTO_REUSE }, () => [
        getVariable("v", { shape: [1] }).name,
        v1.variable(1, { name: "w" }).name,
        tf.nameScope("t", () => getVariable("e", { shape: [1] }).name),
        tf.nameScope("t", () => v1.variable(1, { name: "f" }).name),
        tf.constant(1, "float32", [], "c").name,
      ])
    );
    return [[tf.tensor(names.join())]];
  },
  "gradients that are given, stopped and missing": () => {
    const x = v1.placeholder("float32", [2]), z = v1.placeholder("float32", [2]);
    const y = tf.mul(tf.mul(x, x), 3), w = tf.mul(x, 2), q = tf.mul(w, x);
    const found = [
      ...tf.gradients(y, [x], { gradYs: [[1, 10]] }),
      ...tf.gradients(y, [z], { unconnectedGradients: "zero" }),
      ...tf.gradients(q, [x, w], { stopGradients: [w] }),
      ...tf.gradients([y, q], [x, x]),
    ] as tf.Tensor[];
    return [[found, feed([x, [1, 2]], [z, [5, 6]])]];
  },
  "a gradient for a script of version 1": () => {
    const x = v1.placeholder("float32", [2]);
    const z = tf.gradientOverrideMap({ PyFunc: "weft_test/Thrice" }, () =>
      v1.pyFunc(
        (a: tf.NdArray, b: tf.NdArray) => a.map((e) => Number(e) * Number(b)),
        [x, 2],
        "float32",
      ));
    z.setShape([2]);
    return [[[z, ...grads(tf.sum(z), [x])], feed([x, [1, 2]])]];
  },
  "some variables are trained": () => {
    const v = getVariable("a/v", { initializer: 1 }), w = getVariable("b/w", { initializer: 2 });
    const loss = tf.mul(tf.mul(v, v), w), optimizer = new v1.train.GradientDescentOptimizer(0.1);
    const train = optimizer.minimize(loss, { varList: v1.trainableVariables("b") });
    const found = optimizer.computeGradients(loss, { varList: [v, w] });
    return [[init()], [train], [[v, w]], [found.map(([g]) => g)]];
  },
  "what an optimizer keeps": () => {
    const v = getVariable("v", { initializer: [1, -2] });
    const kept = [
      new v1.train.AdamOptimizer(0.1),
      new v1.train.RMSPropOptimizer(0.1, 0.9, 0.5),
      new v1.train.GradientDescentOptimizer(0.1),
    ].map((o) => {
      o.minimize(tf.sum(tf.square(v)));
      return o.variables().map((s) => s.name).join(" ");
    });
    return [[tf.tensor(kept.join("; "))]];
  },
  "a graph that is imported around a tensor": () => {
    const graph = new tf.Graph();
    graph.asDefault(() => {
      const x = v1.placeholder("float32", [2], "x");
      return v1.variable(() => tf.mul(x, 2), { name: "unused" }) && tf.add(x, x);
    });
    const def = graph.toGraphDef(), a = tf.constant([5, 6]);
    const named = (options: tf.ImportOptions): tf.Tensor =>
      tf.importGraphDef(def, { ...options, returnElements: ["AddV2:0"] })[0] as tf.Tensor;
    const y = named({ inputMap: { "x:0": a }, prefix: "m" });
    const z = named({ inputMap: { x: tf.add(a, 1) } });
    return [[[y, z]], [tf.tensor([y.name, z.name].join())]];
  },
};

tf.registerGradient("weft_test/Thrice", (op, dy) => [tf.mul(tf.mul(dy, op.inputs[0]), 3), null]);
tf.registerGradient("weft_test/Half", (_op, dy) => tf.mul(dy, 0.5));

const goldens: Record<string, unknown[]> = JSON.parse(
  await Deno.readTextFile(new URL("goldens.json", import.meta.url)),
);

for (const [name, build] of Object.entries(PROGRAMS)) {
  testOnDevices(`program of version 1: ${name}`, async () => {
    const graph = new tf.Graph();
    const runs = graph.asDefault(build);
    await using sess = new v1.Session({ graph });
    const found: unknown[] = [];
    for (const [fetches, pairs] of runs) {
      found.push(plain(await sess.run(fetches as tf.Tensor[], new Map(pairs ?? []))));
    }
    assertNear(found, goldens[name], name);
  });
}

/** A fetched nest as plain values, texts of strings. */
function plain(v: unknown): unknown {
  if (v instanceof tf.NdArray) return plain(v.toArray());
  if (v instanceof Uint8Array) return new TextDecoder().decode(v);
  if (typeof v === "bigint") return Number(v);
  return Array.isArray(v) ? v.map(plain) : v;
}

function assertNear(found: unknown, wanted: unknown, path: string): void {
  if (Array.isArray(wanted)) {
    assertEquals((found as unknown[]).length, wanted.length, path);
    wanted.forEach((w, i) => assertNear((found as unknown[])[i], w, `${path}[${i}]`));
  } else if (typeof wanted === "number" && typeof found === "number") {
    const isNear = Math.abs(found - wanted) <= NEAR * (1 + Math.abs(wanted));
    assertEquals(isNear ? wanted : found, wanted, path);
  } else assertEquals(found, wanted, path);
}
