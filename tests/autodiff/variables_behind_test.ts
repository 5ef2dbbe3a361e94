/** Every trainable variable that is read behind a loss is found, wherever that happens. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Body, forms, nest } from "./forms.ts";

/** Three variables, each in a term of its own; they are not read in the order they were made. */
function model(): { variables: tf.Variable[]; body: Body } & Disposable {
  const [a, b, c] = [0.5, -0.3, 0.7].map((v) => tf.variable(v));
  return {
    variables: [a, b, c],
    body: (x) => tf.add(tf.mul(c, tf.sin(x)), tf.mul(a, tf.tanh(tf.add(x, b)))),
    [Symbol.dispose]: () => tf.dispose([a, b, c]),
  };
}

const RATE = 0.1;

/** The variables after one step of gradient descent. */
function afterMinimize(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  using optimizer = tf.train.sgd(RATE);
  const f = build(m.body);
  const step = (x: tf.Tensor): void => void optimizer.minimize(() => f(x));
  (compiled ? tf.function(step) : step)(tf.scalar(0.8));
  return m.variables.map((v) => v.item());
}

/** The same by the gradients that `variableGrads` returns. */
function afterVariableGrads(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  const f = build(m.body);
  const find = (x: tf.Tensor): Record<string, tf.Tensor> => tf.variableGrads(() => f(x)).grads;
  const grads = (compiled ? tf.function(find) : find)(tf.scalar(0.8));
  return m.variables.map((v) => v.item() - RATE * (grads[v.name]?.item() ?? NaN));
}

for (const [outerName, outer] of Object.entries(forms)) {
  testOnDevices(`variables behind a loss are found: any form in ${outerName}`, () => {
    for (const [innerName, inner] of Object.entries(forms)) {
      const form = nest(outer, inner);
      const wanted = afterMinimize(form.unrolled, false);
      for (const compiled of [false, true]) {
        for (const after of [afterMinimize, afterVariableGrads]) {
          after(form.wrap, compiled).forEach((v, i) =>
            assertAlmostEquals(
              v,
              wanted[i],
              1e-5,
              `${innerName} in ${outerName}, ${after.name}, compiled: ${compiled}, variable ${i}`,
            )
          );
        }
      }
    }
  });
}

testOnDevices("variables behind a loss are found in functions that were imported", async () => {
  // Scripts are anonymous here, which no GraphDef can hold.
  const importable = Object.entries(forms).filter(([name]) => name !== "pyFunction");
  for (const [outerName, outer] of importable) {
    for (const [innerName, inner] of importable) {
      const form = nest(outer, inner);
      const wanted = afterMinimize(form.unrolled, false);
      using m = model();
      using optimizer = tf.train.sgd(RATE);
      const source = new tf.Graph(), graph = new tf.Graph();
      source.asDefault(() =>
        tf.identity(tf.function(form.wrap(m.body))(tf.placeholder("float32", [], "x")))
      );
      const def = JSON.parse(JSON.stringify(source.toGraphDef({ portable: false })));
      const step = graph.asDefault(() => {
        const inputMap = Object.fromEntries(m.variables.map((v) => [`${v.name}:0`, v.handle]));
        const returnElements = ["Identity:0"];
        const [y] = tf.importGraphDef(def, { prefix: "", inputMap, returnElements });
        return optimizer.minimize(y as tf.Tensor)!;
      });
      await using session = new tf.Session({ graph });
      await session.run(step, { feeds: { "x:0": 0.8 } });
      m.variables.forEach((v, i) =>
        assertAlmostEquals(v.item(), wanted[i], 1e-5, `${innerName} in ${outerName}, variable ${i}`)
      );
    }
  }
});

type Optimizer = ReturnType<typeof tf.train.momentum>;

/** Runs five steps in each mode, and compares all variables and the optimizer's slots with those of the eager ones. */
async function trainsAlike(
  make: () => { loss: (x: tf.Tensor) => tf.Tensor; variables: tf.Variable[] } & Disposable,
  minimize: (o: Optimizer, f: () => tf.Tensor) => unknown = (o, f) => o.minimize(f),
): Promise<void> {
  const modes: Record<
    string,
    (o: Optimizer, loss: (x: tf.Tensor) => tf.Tensor) => Promise<void>
  > = {
    async eager(o, loss) {
      for (let i = 0; i < 5; i++) minimize(o, () => loss(tf.scalar(0.8 - 0.1 * i)));
      await Promise.resolve();
    },
    async function(o, loss) {
      const step = tf.function((x: tf.Tensor) => void minimize(o, () => loss(x)));
      for (let i = 0; i < 5; i++) await step.async(tf.scalar(0.8 - 0.1 * i));
    },
    async session(o, loss) {
      const graph = new tf.Graph();
      const step = graph.asDefault(() => {
        const x = tf.placeholder("float32", [], "x");
        return minimize(o, () => loss(x)) as tf.Operation;
      });
      await using session = new tf.Session({ graph });
      for (let i = 0; i < 5; i++) await session.run(step, { feeds: { "x:0": 0.8 - 0.1 * i } });
    },
  };
  const ends: number[][] = [];
  for (const [mode, train] of Object.entries(modes)) {
    using m = make();
    using optimizer = tf.train.momentum(0.1, 0.9);
    await train(optimizer, m.loss);
    const slots = (await optimizer.getWeights()).sort((a, b) => a.name < b.name ? -1 : 1);
    ends.push([...m.variables, ...slots.map((s) => s.tensor)].map((t) => t.item()));
    assertEquals(ends.at(-1)!.length, ends[0].length, `${mode}: slots ${slots.map((s) => s.name)}`);
    ends.at(-1)!.forEach((v, i) => assertAlmostEquals(v, ends[0][i], 1e-5, `${mode}: number ${i}`));
  }
}

const scalar = tf.TensorSpec([], "float32");

testOnDevices("minimize() trains what scripts read, and no other variable", async () => {
  await trainsAlike(() => {
    const variables = [0.5, -0.3, 0.7, 2].map((v, i) => tf.variable(v, true, `trained_${i}`));
    // The second is read in place and in the script, the fourth only at times, the fifth never.
    const [a, b, c, sometimes] = variables;
    const other = tf.variable(1);
    let calls = 0;
    const script = (x: tf.Tensor): tf.Tensor => {
      const y = tf.add(tf.mul(a, tf.sin(x)), tf.mul(b, c));
      return calls++ % 2 === 1 ? tf.mul(y, sometimes) : y;
    };
    return {
      variables: [...variables, other],
      loss: (x) => tf.square(tf.add(tf.pyFunction(script, [x], scalar), tf.mul(b, x))),
      [Symbol.dispose]: () => tf.dispose([...variables, other]),
    };
  });
});

testOnDevices("minimize() trains what a script makes when it is first called", async () => {
  await trainsAlike(() => {
    const variables: tf.Variable[] = [];
    return {
      variables,
      loss: (x) =>
        tf.pyFunction(
          (x: tf.Tensor) => {
            variables[0] ??= tf.variable(0.5);
            return tf.square(tf.mul(variables[0], x));
          },
          [x],
          scalar,
        ),
      [Symbol.dispose]: () => tf.dispose(variables),
    };
  });
});

testOnDevices("applyGradients() leaves alone what no script has read", async () => {
  await trainsAlike(
    () => {
      const [a, other] = [tf.variable(0.5), tf.variable(1)];
      return {
        variables: [a, other],
        loss: (x) => tf.pyFunction((x: tf.Tensor) => tf.square(tf.mul(a, x)), [x], scalar),
        [Symbol.dispose]: () => tf.dispose([a, other]),
      };
    },
    (optimizer, f) => optimizer.applyGradients(tf.variableGrads(f).grads),
  );
});

testOnDevices(
  "variableGrads() of a graph gives zeros for what no script has read, a function leaves it out",
  async () => {
    using a = tf.variable([0.5, 2], true, "read_by_script");
    using other = tf.variable([[1, 2, 3]], true, "not_read");
    using frozen = tf.variable(1, false, "not_trainable");
    const f = (x: tf.Tensor): tf.Tensor =>
      tf.pyFunction((x: tf.Tensor) => tf.sum(tf.mul(tf.mul(a, frozen), x)), [x], scalar);
    const grads = tf.function((x: tf.Tensor) => tf.variableGrads(() => f(x)).grads)(tf.scalar(3));
    assertEquals(grads[a.name].arraySync(), [3, 3]);
    assertEquals(Object.keys(grads), [a.name]);
    const graph = new tf.Graph();
    const inGraph = graph.asDefault(() => tf.variableGrads(() => f(tf.scalar(3))).grads);
    await using session = new tf.Session({ graph });
    const zeros = await session.run(inGraph[other.name]) as tf.NdArray;
    assertEquals([zeros.toArray(), frozen.name in inGraph], [[[0, 0, 0]], false]);
    assertEquals(Object.keys(tf.variableGrads(() => f(tf.scalar(3))).grads), [a.name]);
  },
);

testOnDevices("a compiled loss finds what an async script reads after an await", async () => {
  using a = tf.variable(0.5);
  using b = tf.variable(-0.3);
  using optimizer = tf.train.sgd(0.1);
  const script = async (x: tf.Tensor): Promise<tf.Tensor> => {
    const y = tf.mul(a, x);
    await x.data();
    return tf.add(y, tf.mul(b, x));
  };
  const step = tf.function((x: tf.Tensor) =>
    void optimizer.minimize(() => tf.pyFunction(script, [x], scalar))
  );
  await step.async(tf.scalar(2));
  assertAlmostEquals(a.item(), 0.3, 1e-6);
  assertAlmostEquals(b.item(), -0.5, 1e-6);
});

testOnDevices(
  "a script without a gradient reads variables after an await while one with a gradient waits",
  async () => {
    using a = tf.variable(3);
    const gate = Promise.withResolvers<void>();
    const waits = (until: Promise<void>) => async (x: tf.Tensor): Promise<tf.Tensor> => {
      await until;
      return tf.mul(tf.square(a), x);
    };
    const slow = tf.function((x: tf.Tensor) =>
      tf.variableGrads(() => tf.pyFunction(waits(gate.promise), [x], scalar)).grads[a.name]
    );
    const plain = tf.function((x: tf.Tensor) =>
      tf.pyFunction(async () => (await Promise.resolve(), tf.square(a)), [x], scalar)
    );
    const grad = slow.async(tf.scalar(2)), value = await plain.async(tf.scalar(1)) as tf.Tensor;
    gate.resolve();
    assertEquals([value.item(), (await grad as tf.Tensor).item()], [9, 12]);
  },
);

testOnDevices("each branch of a cond has variables of its own, and only those taken move", () => {
  using a = tf.variable(0.5);
  using b = tf.variable(-0.3);
  using optimizer = tf.train.sgd(0.1);
  const step = tf.function((x: tf.Tensor) =>
    void optimizer.minimize(() => tf.cond(tf.greater(x, 0), () => tf.mul(a, x), () => tf.mul(b, x)))
  );
  step(tf.scalar(1));
  assertEquals([a.item(), b.item()].map((v) => v.toFixed(3)), ["0.400", "-0.300"]);
  step(tf.scalar(-1));
  assertEquals([a.item(), b.item()].map((v) => v.toFixed(3)), ["0.400", "-0.200"]);
});

testOnDevices("a loss with no variable behind it is refused, eagerly and in a graph", () => {
  using optimizer = tf.train.sgd(0.1);
  using _ = tf.variable(1);
  const step = (x: tf.Tensor): void =>
    void optimizer.minimize(() => tf.pyFunction((x: tf.Tensor) => tf.square(x), [x], scalar));
  assertThrows(() => step(tf.scalar(1)), tf.ValueError, "Cannot find a connection");
  assertThrows(
    () => tf.function(step)(tf.scalar(1)),
    tf.errors.InvalidArgumentError,
    "Cannot find a connection",
  );
});

Deno.test("minimize() of a graph finds what was read before the loss was asked for", async () => {
  using a = tf.variable(0.5);
  using b = tf.variable(-0.3);
  using optimizer = tf.train.sgd(0.1);
  const graph = new tf.Graph();
  const step = graph.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    const before = tf.mul(a, x);
    return optimizer.minimize(() =>
      tf.pyFunction((y: tf.Tensor) => tf.mul(y, b), [before], scalar)
    )!;
  });
  await using session = new tf.Session({ graph });
  await session.run(step, { feeds: { "x:0": 2 } });
  assertAlmostEquals(a.item(), 0.5 + 0.1 * 0.6, 1e-6);
  assertAlmostEquals(b.item(), -0.3 - 0.1 * 1, 1e-6);
});

Deno.test("an imported variable can be trained once it has a value", async () => {
  const source = new tf.Graph();
  using v = tf.variable(1, true, "imported");
  source.asDefault(() => tf.identity(tf.mul(v, 2)));
  const graph = new tf.Graph();
  const step = graph.asDefault(() => {
    const [y] = tf.importGraphDef(source.toGraphDef(), { returnElements: ["Identity:0"] });
    return tf.train.sgd(0.1).minimize(y as tf.Tensor)!;
  });
  const sess = new tf.Session({ graph });
  await assertRejects(() => sess.run(step), tf.errors.FailedPreconditionError, "uninitialized");
  const [imported] = graph.getCollection("variables") as tf.Variable[];
  await sess.run(graph.asDefault(() => imported.assign(3)!.op) as tf.Operation);
  await sess.run(step);
  assertAlmostEquals(await sess.run(imported) as number, 2.8, 1e-6);
  assertAlmostEquals(v.item(), 1, 1e-6);
});

Deno.test("a step that was imported trains what its graph names, and refuses what only its optimizer could", async () => {
  using seen = tf.variable(3, true, "seen");
  using unseen = tf.variable(2, true, "unseen");
  const scripts = {
    "test.square@1": (x: tf.Tensor) => tf.square(x),
    "test.times@1": (x: tf.Tensor) => tf.mul(x, unseen),
  };
  for (const [token, body] of Object.entries(scripts)) {
    tf.registerScript(token, body);
    using optimizer = tf.train.sgd(0.1);
    const source = new tf.Graph(), graph = new tf.Graph();
    const name = source.asDefault(() => {
      const x = tf.placeholder("float32", [], "x");
      return optimizer.minimize(() => tf.mul(tf.pyFunction(body, [x], scalar), seen))!.name;
    });
    const def = JSON.parse(JSON.stringify(source.toGraphDef({ portable: false }))) as ReturnType<
      tf.Graph["toGraphDef"]
    >;
    // What the optimizer keeps on the host: the count of steps and the rate.
    const inputMap: Record<string, tf.Tensor> = { [`${seen.name}:0`]: seen.handle };
    for (const { op, name, attr } of def.node) {
      if (op !== "VarHandleOp" || name === seen.name || name.startsWith("unseen")) continue;
      const isCount = attr!.dtype.type === "DT_INT32";
      inputMap[`${name}:0`] =
        tf.variable(isCount ? 0 : 0.1, false, undefined, isCount ? "int32" : "float32").handle;
    }
    const [step] = graph.asDefault(() =>
      tf.importGraphDef(def, { prefix: "", inputMap, returnElements: [name] })
    );
    await using session = new tf.Session({ graph });
    const run = session.run(step, { feeds: { "x:0": 2 } });
    if (token === "test.square@1") {
      await run;
      assertAlmostEquals(seen.item(), 3 - 0.1 * 4, 1e-6);
    } else {
      await assertRejects(
        () => run,
        tf.errors.FailedPreconditionError,
        "Cannot update 'unseen', which a script has read",
      );
    }
    tf.unregisterScript(token);
  }
  assertEquals(unseen.item(), 2);
});

testOnDevices("variables that a script alone reads have gradients by what has none", () => {
  using w = tf.variable([0.5, -2]);
  const loss = (i: tf.Tensor): tf.Tensor => {
    // Nothing that leads to the result from the argument is differentiable: only the script's variable is.
    const factor = tf.exp(tf.cast(i, "float32"));
    return tf.sum(
      tf.mul(factor, tf.pyFunction(() => tf.square(w), [], tf.TensorSpec([2], "float32"))),
    );
  };
  const i = tf.tensor([1, 2], [2], "int32");
  const wanted = [Math.E, -4 * Math.E ** 2];
  for (const [name, f] of Object.entries({ eager: loss, compiled: tf.function(loss) })) {
    const { grads } = tf.variableGrads(() => f(i) as tf.Scalar);
    [...grads[w.name]!.dataSync()].forEach((x, k) => assertAlmostEquals(x, wanted[k]!, 1e-4, name));
  }
});
