/** Tapes over functions, branches, loops and scripts leave nothing behind, nor do those that fail. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Body, type Form, forms } from "./forms.ts";

/** Runs `program` 50 times and compares what is alive before and after; the first runs trace and plan. */
async function isFlat(name: string, program: () => void | Promise<void>): Promise<void> {
  const alive = (): number[] => {
    const { numTensors, numDataBuffers, numBytes, liveTapes } = tf.memory();
    return [numTensors, numDataBuffers, numBytes, liveTapes];
  };
  for (let i = 0; i < 2; i++) await program();
  const before = alive();
  for (let i = 0; i < 50; i++) await program();
  assertEquals(alive(), before, name);
}

type Async = Body & { async(x: tf.Tensor): Promise<tf.Tensor> };
type Program = (f: Async, x: tf.Tensor, w: tf.Variable) => void | Promise<void>;

const programs: Readonly<Record<string, Program>> = {
  "using a tape": (f, x, w) => {
    using tape = new tf.GradientTape();
    using y = f(x);
    tape.gradient(y, w)!.dispose();
  },
  "a tape that ends with its gradient": (f, x, w) => {
    const tape = new tf.GradientTape();
    const y = f(x);
    tf.dispose([y, tape.gradient(y, w)]);
  },
  "a persistent tape that is disposed": (f, x, w) => {
    const tape = new tf.GradientTape({ persistent: true });
    const y = f(x);
    tf.dispose([y, tape.gradient(y, w), tape.gradient(y, w)]);
    tape.dispose();
  },
  "a tape that nobody asks": (f, x) => {
    using _ = new tf.GradientTape();
    f(x).dispose();
  },
  "a tape around a tape": (f, x) => {
    using outer = new tf.GradientTape();
    using inner = new tf.GradientTape();
    outer.watch(x);
    inner.watch(x);
    const y = f(x), g = inner.gradient(y, x)!;
    tf.dispose([y, g, outer.gradient(g, x)]);
  },
  "an awaited call": async (f, x, w) => {
    using tape = new tf.GradientTape();
    using y = await f.async(x);
    tape.gradient(y, w)!.dispose();
  },
  "variableGrads()": (f, x) => {
    tf.dispose(tf.variableGrads(() => tf.sum(f(x))));
  },
  "no tape": (f, x) => f(x).dispose(),
};

for (const [name, form] of Object.entries(forms)) {
  testOnDevices(`tapes over ${name} in a function leave nothing`, async () => {
    using x = tf.tensor([0.8, -0.4, 0.3]);
    using w = tf.variable([0.5, -0.3, 0.7]);
    const f = tf.function(form.wrap((x) => tf.tanh(tf.mul(x, w))));
    for (const [what, program] of Object.entries(programs)) {
      await isFlat(what, () => program(f as Async, x, w));
    }
  });

  testOnDevices(`${name} in a function leaves nothing where a body throws`, async () => {
    using x = tf.tensor([0.8, -0.4, 0.3]);
    for (const failsAt of [1, 2]) {
      for (const taped of [false, true]) {
        await isFlat(`call ${failsAt}, taped: ${taped}`, failing(form, { x, failsAt, taped }));
      }
    }
  });
}

/** Calls a form whose body throws at one of its calls. */
function failing(
  form: Form,
  { x, failsAt, taped }: { x: tf.Tensor; failsAt: number; taped: boolean },
): () => Promise<void> {
  let calls = 0;
  const body: Body = form.wrap((x) =>
    tf.pyFunction(
      (x: tf.Tensor) => {
        if (++calls === failsAt) throw new Error("no");
        return tf.mul(x, 1.5);
      },
      [x],
      tf.TensorSpec(x.shape, "float32"),
    )
  );
  const f = tf.function((x: tf.Tensor) => body(body(x)));
  return async () => {
    // Without a tape the loops free what they make themselves.
    using tape = taped ? new tf.GradientTape() : null;
    tape?.watch(x);
    for (const call of [() => f.async(x), () => Promise.try(() => f(x))]) {
      calls = 0;
      await assertRejects(call, tf.errors.UnknownError, "no");
    }
  };
}

testOnDevices("rows that come after one has failed are freed", async () => {
  using x = tf.tensor([1, 2, 3]);
  for (const taped of [false, true]) {
    let gates: PromiseWithResolvers<void>[] = [];
    const wait = async (row: tf.NdArray): Promise<tf.NdArray> => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return row;
    };
    const f = tf.function((x: tf.Tensor) =>
      tf.mapFn((row) => {
        const [waited] = tf.numpyFunction(wait, [row], ["float32"], { stateful: false });
        return tf.add(tf.mul(row, 2), tf.reshape(waited, []));
      }, x)
    );
    await isFlat(`taped: ${taped}`, async () => {
      gates = [];
      using tape = taped ? new tf.GradientTape() : null;
      tape?.watch(x);
      const failed = assertRejects(() => f.async(x), tf.errors.UnknownError, "no");
      // Where rows must be read first, their bodies begin later.
      while (gates.length < 3) await new Promise((done) => setTimeout(done));
      gates[1].reject(new Error("no"));
      await failed;
      gates[0].resolve();
      gates[2].resolve();
      // What awaits them goes on in the turns that follow.
      await new Promise((done) => setTimeout(done));
    });
  }
});

testOnDevices("new functions with constants in them leave nothing", async () => {
  using x = tf.tensor([1, 2, 3]);
  const makers: Record<string, () => Body> = {
    literal: () => (x) => tf.add(x, [1, 2, 3]),
    constant: () => (x) => tf.mul(x, tf.constant([1, 2, 3])),
    "in a function": () => tf.function((x) => tf.sub(x, tf.constant([1, 2, 3]))),
    "in a loop": () => forms.whileLoop.wrap((x) => tf.add(x, tf.constant([1, 2, 3]))),
  };
  for (const [name, make] of Object.entries(makers)) {
    await isFlat(name, () => tf.function(make())(x).dispose());
    await isFlat(`gradient, ${name}`, () => tf.grad(tf.function(make()))(x).dispose());
  }
});
