/** TensorFlow 1's optimizers: their arguments stand in TensorFlow's positions, and values of other kinds are refused. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

const v1 = tf.compat.v1, { train } = v1;

/** The kind of value that an argument takes. */
type Kind = "rate" | "number" | "flag" | "name" | "names";

/** Arguments by TensorFlow's positions: `inspect.signature` of the classes of `tf.compat.v1.train`. */
const SIGNATURES: Readonly<Record<string, readonly (readonly [name: string, kind: Kind])[]>> = {
  GradientDescentOptimizer: [["learningRate", "rate"], ["useLocking", "flag"], ["name", "name"]],
  MomentumOptimizer: [
    ["learningRate", "rate"],
    ["momentum", "rate"],
    ["useLocking", "flag"],
    ["name", "name"],
    ["useNesterov", "flag"],
  ],
  AdagradOptimizer: [
    ["learningRate", "rate"],
    ["initialAccumulatorValue", "number"],
    ["useLocking", "flag"],
    ["name", "name"],
  ],
  AdadeltaOptimizer: [
    ["learningRate", "rate"],
    ["rho", "rate"],
    ["epsilon", "rate"],
    ["useLocking", "flag"],
    ["name", "name"],
  ],
  RMSPropOptimizer: [
    ["learningRate", "rate"],
    ["decay", "rate"],
    ["momentum", "rate"],
    ["epsilon", "rate"],
    ["useLocking", "flag"],
    ["centered", "flag"],
    ["name", "name"],
  ],
  AdamOptimizer: [
    ["learningRate", "rate"],
    ["beta1", "rate"],
    ["beta2", "rate"],
    ["epsilon", "rate"],
    ["useLocking", "flag"],
    ["name", "name"],
  ],
  FtrlOptimizer: [
    ["learningRate", "rate"],
    ["learningRatePower", "number"],
    ["initialAccumulatorValue", "number"],
    ["l1RegularizationStrength", "number"],
    ["l2RegularizationStrength", "number"],
    ["useLocking", "flag"],
    ["name", "name"],
    ["accumName", "names"],
    ["linearName", "names"],
    ["l2ShrinkageRegularizationStrength", "number"],
    ["beta", "number"],
  ],
  ExponentialMovingAverage: [
    ["decay", "rate"],
    ["numUpdates", "rate"],
    ["zeroDebias", "flag"],
    ["name", "name"],
  ],
};

/** Values of each kind that are right, the first in calls that ask about another argument. */
const RIGHT: Readonly<Record<Kind, readonly unknown[]>> = {
  rate: [0.5, tf.scalar(0.5), () => 0.5],
  number: [0],
  flag: [false, true],
  name: ["given"],
  names: ["given", null],
};

/** Values of every kind. */
const VALUES: readonly unknown[] = ["0.1", {}, [0.1], true, null, () => {}, 3, Symbol("s")];

const KINDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  rate: (value) => typeof value === "number" || typeof value === "function",
  number: (value) => typeof value === "number",
  flag: (value) => typeof value === "boolean",
  name: (value) => typeof value === "string",
  names: (value) => typeof value === "string" || value === null,
};

/** Values that an argument takes for something else: options, or none. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  "FtrlOptimizer.learningRatePower": ["{}", "[0.1]"],
  "FtrlOptimizer.beta": ["null"],
  "ExponentialMovingAverage.numUpdates": ["{}", "null"],
};

type Maker = new (...args: unknown[]) => object;

for (const [kind, names] of Object.entries(SIGNATURES)) {
  Deno.test(`${kind}() takes TensorFlow's positions and refuses values of another kind`, () => {
    const Class = (train as unknown as Record<string, Maker>)[kind]!;
    // A learning rate's power is at most 0, initial sums are above it.
    const good = names.map(([name, kind]) =>
      name === "initialAccumulatorValue" ? 0.5 : RIGHT[kind][0]
    );
    names.forEach(([name, wanted], at) => {
      for (const value of RIGHT[wanted]) {
        if (wanted !== "number") new Class(...good.with(at, value));
      }
      for (const value of VALUES) {
        if (KINDS[wanted](value)) continue;
        if (ALSO[`${kind}.${name}`]?.includes(JSON.stringify(value) ?? "")) continue;
        assertThrows(() => new Class(...good.with(at, value)), TypeError, name);
      }
    });
  });
}

/** Makes a variable in a graph, and what `build` adds; gives the variable after runs of it. */
async function after(
  build: (w: tf.Variable, loss: tf.Tensor, step: tf.Variable) => tf.Operation,
): Promise<readonly unknown[]> {
  const graph = new tf.Graph();
  return await graph.asDefault(async () => {
    const w = v1.variable([1, -2], { name: "w" }), step = v1.train.getOrCreateGlobalStep();
    const done = build(w, tf.sum(tf.square(w)), step);
    const session = new v1.Session();
    await session.run(v1.globalVariablesInitializer());
    for (let i = 0; i < 2; i++) await session.run(done);
    const [value, count] = await session.run([w, step]);
    return [(value as tf.NdArray).toArray(), Number(count)];
  });
}

Deno.test("minimize(), applyGradients() and computeGradients() take TensorFlow's positions and options alike", async () => {
  const make = () => new train.MomentumOptimizer(0.25, 0.5, false, "Momentum", true);
  const wanted = await after((w, loss, step) =>
    make().minimize(loss, { globalStep: step, varList: [w] })
  );
  assertEquals(wanted[1], 2);
  const forms: readonly Parameters<typeof after>[0][] = [
    (_, loss, step) => make().minimize(loss, step),
    (w, loss, step) => make().minimize(loss, step, [w]),
    (w, loss, step) => make().minimize(loss, { globalStep: step }, [w]),
    (w, loss, step) => {
      const optimizer = make();
      return optimizer.applyGradients(optimizer.computeGradients(loss, [w]), step, "named");
    },
    (_, loss, step) => {
      const optimizer = make();
      return optimizer.applyGradients(optimizer.computeGradients(loss, null), { globalStep: step });
    },
  ];
  for (const form of forms) assertEquals(await after(form), wanted, String(form));
});

Deno.test("steps refuse values of another kind, and name them", () => {
  new tf.Graph().asDefault(() => {
    const w = v1.variable([1, -2], { name: "w" }), loss = tf.sum(tf.square(w));
    // deno-lint-ignore no-explicit-any -- programs without types are where these come from.
    const optimizer: any = new train.GradientDescentOptimizer(0.1);
    const calls: readonly (readonly [() => unknown, string])[] = [
      [() => optimizer.minimize(undefined), "loss"],
      [() => optimizer.minimize(3), "loss"],
      [() => optimizer.minimize(loss, 3), "Options of minimize"],
      [() => optimizer.minimize(loss, null, w), "varList"],
      [() => optimizer.minimize(loss, null, [3]), "varList"],
      [() => optimizer.minimize(loss, { globalStep: 3 }), "globalStep"],
      [() => optimizer.minimize(loss, { name: 3 }), "name"],
      [() => optimizer.computeGradients(null), "loss"],
      [() => optimizer.computeGradients(loss, "w"), "Options of computeGradients"],
      [() => optimizer.computeGradients(loss, [null]), "varList"],
      [() => optimizer.applyGradients(loss), "gradsAndVars"],
      [() => optimizer.applyGradients([w]), "gradsAndVars"],
      [() => optimizer.applyGradients([[loss, 3]]), "gradsAndVars"],
      [() => optimizer.applyGradients([[3, w]]), "gradsAndVars"],
      [() => optimizer.applyGradients([[loss, w]], () => {}), "Options of applyGradients"],
    ];
    for (const [call, word] of calls) assertThrows(call, TypeError, word, String(call));
  });
});

Deno.test("FtrlOptimizer() names its slots as it is told", () => {
  new tf.Graph().asDefault(() => {
    const w = v1.variable([1, -2], { name: "w" }), loss = tf.sum(tf.square(w));
    const optimizer = new train.FtrlOptimizer(0.1, -0.5, 0.1, 0, 0, false, "F", "sums", null);
    optimizer.minimize(loss);
    assertEquals(optimizer.variables().map((v) => v.name), ["w/F", "w/sums"]);
  });
});
