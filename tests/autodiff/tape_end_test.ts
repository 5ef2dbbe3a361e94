/** Tapes that nothing stops end with the code in which they were made, and keep nothing then. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { assertSpyCalls, stub } from "@std/testing/mock";
import { recordingWarning } from "../../src/engine/autodiff/tape_recording.ts";
import { currentRecorders } from "../../src/engine/core/apply.ts";
import { testOnDevices } from "../devices.ts";

/** Counts the tensors and tapes alive, and the recorders of ops. */
function alive(): number[] {
  const { numTensors, numDataBuffers, liveTapes } = tf.memory();
  return [numTensors, numDataBuffers, liveTapes, currentRecorders().length];
}

/** Code that begins a tape which nothing stops, and computes a scalar of a variable. */
type Step = () => tf.Tensor;

function stepOf(w: tf.Variable, fails: boolean): Step {
  return () => {
    new tf.GradientTape();
    const y = tf.sum(tf.square(w));
    if (fails) throw new Error("a step that failed");
    return y;
  };
}

const one = (): tf.Tensor => tf.tensor([1, 2]);

/** Places in which a tape may be made. Each frees what it makes. */
const PLACES: Readonly<Record<string, (step: Step) => unknown>> = {
  "tidy()": (step) => tf.tidy(() => void step()),
  "tidy() in tidy()": (step) => tf.tidy(() => void tf.tidy(() => step())),
  "a scope": (step) => {
    using _scope = tf.scope();
    step();
  },
  "a scope around an await": async (step) => {
    using _scope = tf.scope();
    await Promise.resolve();
    step();
    await Promise.resolve();
  },
  "a function": (step) => {
    using y = tf.function(() => step())();
    assertEquals(y.shape, []);
  },
  "a branch of a function": (step) => {
    using y = tf.function(() =>
      tf.cond(tf.less(tf.scalar(0), 1), () => step(), () => tf.scalar(0))
    )();
    assertEquals(y.shape, []);
  },
  "a loop of a function": (step) => {
    const f = tf.function(() =>
      tf.whileLoop((i) => tf.less(i, 2), (i) => [tf.add(i, step())], [tf.scalar(0)])
    );
    tf.dispose(f());
  },
  "a grad()": (step) => tf.tidy(() => void tf.grad((x) => tf.mul(tf.sum(x), step()))(one())),
  "a pyFunction": (step) => {
    using x = one();
    using y = tf.pyFunction((x: tf.Tensor) => tf.mul(x, step()), [x], "float32") as tf.Tensor;
    assertEquals(y.shape, [2]);
  },
  "a pyFunction in a function": (step) => {
    using x = one();
    const body = (x: tf.Tensor) => tf.mul(x, step());
    using y = tf.function((x: tf.Tensor) => tf.pyFunction(body, [x], "float32"))(x) as tf.Tensor;
    assertEquals(y.shape, [2]);
  },
  "a pyFunction after an await": async (step) => {
    using x = one();
    const body = async (x: tf.Tensor): Promise<tf.Tensor> => {
      await Promise.resolve();
      return tf.mul(x, step());
    };
    using y = await tf.pyFunctionAsync(body, [x], "float32") as tf.Tensor;
    assertEquals(y.shape, [2]);
  },
  "a numpyFunction": (step) => {
    using x = one();
    const body = (a: tf.NdArray): tf.NdArray => {
      step();
      return a;
    };
    using y = tf.numpyFunction(body, [x], "float32") as tf.Tensor;
    assertEquals(y.shape, [2]);
  },
  "the map of a dataset": async (step) => {
    const data = tf.data.range(2).map((i: tf.Tensor) => tf.mul(tf.cast(i, "float32"), step()));
    for await (const y of data) (y as tf.Tensor).dispose();
  },
  "the generator of a dataset": async (step) => {
    function* values(): Generator<tf.Tensor> {
      yield step();
      yield step();
    }
    for await (const y of tf.data.fromGenerator(values, tf.TensorSpec([], "float32"))) {
      (y as tf.Tensor).dispose();
    }
  },
};

/** Traces stay, with what they hold: so a place is tried twice before. */
async function isFlat(place: () => unknown, name: string): Promise<void> {
  for (let i = 0; i < 2; i++) await place();
  const before = alive();
  for (let i = 0; i < 3; i++) await place();
  assertEquals(alive(), before, name);
}

for (const [name, place] of Object.entries(PLACES)) {
  testOnDevices(`GradientTape ends with ${name}`, async () => {
    const w = tf.variable([1, 2]);
    await isFlat(() => place(stepOf(w, false)), name);
    const failing = stepOf(w, true);
    await isFlat(() => assertRejects(async () => await place(failing)), `${name} that fails`);
    w.dispose();
  });
}

testOnDevices("GradientTape says that it has ended, and by what", () => {
  const x = tf.scalar(3);
  for (const persistent of [false, true]) {
    const tape = tf.tidy(() => new tf.GradientTape({ persistent }));
    const error = assertThrows(() => tape.gradient(x, x), tf.RuntimeError);
    assertEquals(
      (error as Error).message,
      "Cannot differentiate: the GradientTape has ended, by dispose() or with the scope, function call or body in which it was made",
    );
    assertThrows(() => tape.jacobian(x, x), tf.RuntimeError, "has ended");
    assertThrows(() => tape.reset(), tf.RuntimeError, "Cannot reset");
    assertEquals(tape.stopRecording(() => 1), 1);
    tape.dispose();
  }
  x.dispose();
  assertEquals(currentRecorders().length, 0);
});

testOnDevices("GradientTape around a tidy() goes on after it", () => {
  using _scope = tf.scope();
  const x = tf.scalar(3);
  using tape = new tf.GradientTape();
  tape.watch(x);
  const y = tf.tidy(() => tf.mul(tf.square(x), x));
  assertEquals((tape.gradient(y, x) as tf.Tensor).arraySync(), 27);
});

testOnDevices("GradientTape that is collected ends", async (device) => {
  const program = `
    import * as tf from "@weft/weft";
    if (!await tf.setBackend("${device}")) throw new Error("Cannot use ${device}");
    const w = tf.variable([1, 2]);
    class Step {
      tape = new tf.GradientTape();
      run() {
        tf.square(w).dispose();
      }
    }
    new Step().run();
    const kept = new Step();
    const before = tf.memory();
    for (let i = 0; i < 100 && tf.memory().liveTapes > 1; i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const after = tf.memory();
    console.log([before.liveTapes, after.liveTapes, before.numTensors - after.numTensors].join());
    kept.tape.dispose();
  `;
  assertEquals(await outputOf(program), "2,1,1");
});

/** Returns the output of a program with garbage collection enabled. */
async function outputOf(program: string): Promise<string> {
  const args = ["run", "--no-check", "--v8-flags=--expose-gc", "--ext=ts", "-"];
  const child = new Deno.Command(Deno.execPath(), { args, stdin: "piped", stdout: "piped" })
    .spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout).trim();
}

testOnDevices("GradientTape warns once of 10,000 steps that nothing asked for", () => {
  using told = stub(recordingWarning, "write");
  using _scope = tf.scope();
  const w = tf.variable(1);
  const record = (steps: number): void =>
    tf.tidy(() => {
      // Reading the variable is a step as well.
      for (let i = 0; i < steps; i++) tf.neg(w);
    });
  {
    using asked = new tf.GradientTape({ persistent: true });
    asked.gradient(tf.neg(w), w);
    using _forgotten = new tf.GradientTape();
    record(4_999);
    assertSpyCalls(told, 0);
    record(5_001);
    asked.gradient(tf.neg(w), w);
  }
  w.dispose();
  assertSpyCalls(told, 1);
  const [first, second] = told.calls[0].args[0].split("\n");
  assertEquals(
    first,
    "weft: a GradientTape has recorded 10000 steps, and nothing has asked it for a gradient. It keeps what they read until it ends: make it with `using`, or dispose it. The last step:",
  );
  assert(second!.includes("tape_end_test.ts"), second);
});
