/** Learning rates that fall with the step count, and moving averages, over twenty steps: TensorFlow's numbers are in decays.json. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import golden from "./decays.json" with { type: "json" };

const v1 = tf.compat.v1, { train } = v1;

/** The arguments are those of python/decays.py. */
const DECAYS: Readonly<Record<keyof typeof golden.decays, (step: tf.Tensor) => tf.Tensor>> = {
  exponential: (step) => train.exponentialDecay(0.1, step, 7, 0.9),
  exponentialStairs: (step) => train.exponentialDecay(0.1, step, 7, 0.9, true),
  piecewise: (step) => train.piecewiseConstant(step, [3, 8, 15], [1, 0.5, 0.25, 0.1]),
  polynomial: (step) => train.polynomialDecay(0.1, step, 12, 0.01, 2),
  polynomialCycle: (step) => train.polynomialDecay(0.1, step, 6, 0.01, 0.5, true),
  cosine: (step) => train.cosineDecay(0.1, step, 12, 0.1),
  cosineRestarts: (step) => train.cosineDecayRestarts(0.1, step, 5, 2, 0.9, 0.1),
  linearCosine: (step) => train.linearCosineDecay(0.1, step, 12),
  inverseTime: (step) => train.inverseTimeDecay(0.1, step, 4, 0.5),
  inverseTimeStairs: (step) => train.inverseTimeDecay(0.1, step, 4, 0.5, true),
  naturalExp: (step) => train.naturalExpDecay(0.1, step, 4, 0.5),
  naturalExpStairs: (step) => train.naturalExpDecay(0.1, step, 4, 0.5, true),
};

for (const dtype of ["int64", "int32", "float32"] as const) {
  testOnDevices(`learning rates follow a step count of ${dtype}`, async () => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const step = v1.placeholder(dtype, [], "step");
      return Object.fromEntries(Object.entries(DECAYS).map(([name, decay]) => [name, decay(step)]));
    });
    await using sess = new tf.Session({ graph });
    for (let i = 0; i <= 20; i++) {
      const feeds = { "step:0": dtype === "int64" ? BigInt(i) : i };
      const found = await sess.run(fetches, { feeds }) as Record<string, number>;
      for (const [name, values] of Object.entries(golden.decays)) {
        assertAlmostEquals(found[name], values[i], 5e-7);
      }
    }
  });
}

testOnDevices("learning rates that cannot be are refused", () => {
  assertThrows(
    () => train.piecewiseConstant(0, [1, 2], [1, 2]),
    tf.ValueError,
    "The length of boundaries should be 1 less than the length of values",
  );
  assertThrows(
    () => train.cosineDecay(0.1, null as never, 3),
    tf.ValueError,
    "global_step is required for cosine_decay.",
  );
  assertEquals(train.cosineDecayRestarts(1, 5, 4, 1).item(), train.cosineDecay(1, 1, 4).item());
});

const OPTIONS: Readonly<
  Record<keyof typeof golden.averages, tf.compat.v1.train.MovingAverageOptions>
> = {
  plain: {},
  counted: {},
  debias: { zeroDebias: true },
  named: { name: "avg" },
};

for (const [kind, options] of Object.entries(OPTIONS)) {
  const want = golden.averages[kind as keyof typeof OPTIONS];
  testOnDevices(`moving averages of a variable and a tensor: ${kind}`, async () => {
    const graph = new tf.Graph();
    await graph.asDefault(async () => {
      const w = v1.getVariable("w", { initializer: tf.constant([1, 2]) });
      const n = v1.getVariable("n", { initializer: tf.constant(0, "int32"), trainable: false });
      const v = v1.getVariable("v", { initializer: tf.constant(3), trainable: false });
      const ema = new train.ExponentialMovingAverage(0.9, {
        ...options,
        ...(kind === "counted" ? { numUpdates: n } : {}),
      });
      const steps = [w.assignSub(tf.mul(0.1, tf.mul(w, w)))!, n.assignAdd(1)!];
      const loss = graph.controlDependencies(
        steps.map((s) => s.operation),
        () => tf.square(w.readValue()),
      );
      const update = graph.controlDependencies([loss], () => ema.apply([w, loss]));
      const averages = [ema.average(w)!, ema.average(loss)!];
      assertEquals(ema.average(v), null);
      const names = [
        ...[w, loss, v].map((x) => ema.averageName(x)),
        ...averages.map((a) => a.name),
      ];
      assertEquals(names, want.names);
      const restored = Object.entries(ema.variablesToRestore([w, v])).map(([k, x]) => [k, x.name]);
      assertEquals(Object.fromEntries(restored), want.restore);
      assertEquals(Object.keys(ema.variablesToRestore()).sort(), want.defaults);
      assertEquals(v1.globalVariables().map((x) => x.name), want.variables);
      assertEquals(v1.movingAverageVariables(), [w]);
      const init = v1.globalVariablesInitializer();
      await using sess = new tf.Session({ graph });
      await sess.run(init);
      const values = async (): Promise<number[]> =>
        (await sess.run(averages.map((a) => a as unknown as tf.Tensor)) as tf.NdArray[])
          .flatMap((a) => a.toArray() as number[]);
      assertEquals(await values(), want.start.flat());
      for (const row of want.steps) {
        await sess.run(update);
        (await values()).forEach((x, i) => assertAlmostEquals(x, row.flat()[i], 3e-6));
      }
    });
  });
}

testOnDevices("a moving average of what is no floating number is refused", () => {
  new tf.Graph().asDefault(() => {
    const n = v1.variable(0, { dtype: "int32", name: "n" });
    const ema = new train.ExponentialMovingAverage(0.9);
    assertThrows(() => ema.apply([n]), TypeError, "The variables must be half, float, or double");
  });
  assertThrows(() => new train.ExponentialMovingAverage(0.9).apply(), tf.RuntimeError, "eager");
});

testOnDevices("an average kept of a variable that has a value begins with that", async () => {
  const graph = new tf.Graph();
  await graph.asDefault(async () => {
    const w = v1.variable(1, { name: "w" }), five = w.assign(5)!.operation;
    const ema = new train.ExponentialMovingAverage(0.5);
    ema.apply([w]);
    const init = v1.variablesInitializer([w]), later = v1.variablesInitializer([ema.average(w)!]);
    await using sess = new tf.Session({ graph });
    for (const op of [init, five, later]) await sess.run(op);
    assertEquals(await sess.run(ema.average(w) as unknown as tf.Tensor), 5);
  });
});
