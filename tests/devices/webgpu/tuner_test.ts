/** Choosing kernels by time: on a clock that the candidates themselves move, and on the device. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import type { Candidates, GpuPlan } from "../../../src/engine/core/dispatch.ts";
import { Tuner } from "../../../src/engine/devices/webgpu/tuner.ts";
import { gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import type { WebGpuDevice } from "../../../src/engine/devices/webgpu/webgpu_device.ts";
import { HAS_WEBGPU } from "../../devices.ts";

/** Readbacks of timing: four candidates are run four times each, and every run is waited for. */
const TIMED = 16;

/** Candidates that take these milliseconds, one list a run; the last goes on. */
function candidates(key: string, times: readonly (readonly number[])[]): {
  work: Candidates;
  tuner: Tuner;
  runs: () => number;
} {
  let now = 0, runs = 0;
  const plans = times.map((): GpuPlan => ({ dispatches: [] }));
  const left = times.map((list) => [...list]);
  const tuner = new Tuner(
    () => ({
      run(plan) {
        const list = left[plans.indexOf(plan)];
        now += list.length > 1 ? list.shift()! : list[0];
        runs++;
      },
      end() {},
    }),
    () => now,
  );
  const names = times.map((_, i) => `kernel ${i}`);
  const plan = (i: number): GpuPlan => plans[i];
  const work = { key, names, flop: 2 ** 24, plan, inputs: [4], outputs: [4] };
  return { work, tuner, runs: () => runs };
}

Deno.test("Tuner takes the first candidate and runs nothing unless it is asked to time", () => {
  const { work, tuner, runs } = candidates("a", [[5], [1]]);
  assertEquals([tuner.active, tuner.choose(work), runs()], [false, 0, 0]);
});

Deno.test("Tuner takes the candidate whose least time is least, and remembers it", () => {
  // The first run, which compiles, does not count, nor does a run that something disturbed.
  const { work, tuner, runs } = candidates("a", [[1, 9], [50, 3, 80], [2, 4]]);
  tuner.timing = true;
  assertEquals(tuner.choose(work), 1);
  const after = runs();
  assertEquals([tuner.choose(work), runs()], [1, after]);
  assertEquals(tuner.choices, { a: "kernel 1" });
});

Deno.test("Tuner takes the first candidate of small work, and times four of large work", () => {
  const { work, tuner, runs } = candidates("a", [[5], [4], [3], [2], [1]]);
  tuner.timing = true;
  assertEquals([tuner.choose({ ...work, flop: 2 ** 24 - 1 }), runs()], [0, 0]);
  assertEquals(tuner.choose(work), 3);
});

Deno.test("Tuner follows choices made before, and ignores names it does not know", () => {
  const { work, tuner, runs } = candidates("a", [[1], [1]]);
  tuner.remember({ a: "kernel 1" });
  assertEquals([tuner.active, tuner.choose(work), runs()], [true, 1, 0]);
  tuner.remember({ a: "a kernel of another version" });
  assertEquals([tuner.choose(work), runs()], [0, 0]);
  tuner.forget();
  assertEquals(tuner.active, false);
});

Deno.test("Tuner takes the first candidate where nothing can wait for the device", () => {
  const tuner = new Tuner(() => null);
  tuner.timing = true;
  assertEquals([tuner.choose(candidates("a", [[2], [1]]).work), tuner.choices], [0, {}]);
});

Deno.test({
  name: "tuneKernels follows choices that were saved, wherever they were made [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    assert(await tf.setBackend("webgpu"));
    const { tuner, description: adapter } = gpuDevice() as WebGpuDevice;
    const met: Candidates[] = [], taken: number[] = [];
    const choose = tuner.choose;
    tuner.choose = (work) => {
      met.push(work);
      taken.push(choose.call(tuner, work));
      return taken.at(-1)!;
    };
    // Each time another size of one key: what was met before keeps its kernel.
    const work = async (n: number): Promise<number[]> => {
      using y = tf.tidy(() => tf.matMul(tf.ones([n, 260]), tf.ones([260, 258])));
      return [...new Set(await y.data() as Float32Array)];
    };
    try {
      tf.tuneKernels({ adapter, choices: { "another key": "a kernel" } });
      assertEquals([await work(258), taken], [[260], [0]]);
      const { key, names } = met[0];
      tf.tuneKernels({ adapter, choices: { [key]: names.at(-1)! } });
      assertEquals([await work(262), taken], [[260], [0, names.length - 1]]);
      assert(names.length > 1);
    } finally {
      tuner.choose = choose;
      tf.tuneKernels(false);
    }
  },
});

Deno.test({
  name: "tuneKernels times large products and convolutions once each [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    assert(await tf.setBackend("webgpu"));
    // Timing is reading at once.
    tf.tidy(() => tf.add(tf.scalar(1), 1).dataSync());
    const { counters } = gpuDevice()!;
    const work = (): void =>
      tf.tidy(() => {
        tf.matMul(tf.ones([8, 8]), tf.ones([8, 8]));
        tf.matMul(tf.ones([208, 208]), tf.ones([208, 208]));
        tf.conv2d(tf.ones([1, 32, 32, 32]), tf.ones([3, 3, 32, 32]), 1, "same");
      });
    try {
      tf.tuneKernels(true);
      work();
      const tuned = tf.tunedKernels();
      const kinds = Object.keys(tuned.choices).map((key) => key.split(" ")[0]);
      assertEquals(kinds.sort(), ["conv", "matmul"]);
      const product = await tf.matMul(tf.ones([208, 208]), tf.ones([208, 208])).data();
      assertEquals([...new Set(product)], [208]);
      // What was saved makes the same choices for new work of the same kinds, and times nothing.
      const dispatchesOf = (n: number, choices: tf.TunedKernels | boolean): number => {
        tf.tuneKernels(choices);
        const { dispatches, readbacks } = counters;
        tf.tidy(() => tf.matMul(tf.ones([n, n]), tf.ones([n, n])));
        assertEquals(counters.readbacks, readbacks + (choices === true ? TIMED : 0));
        return counters.dispatches - dispatches;
      };
      const saved: tf.TunedKernels = JSON.parse(JSON.stringify(tuned));
      const byRule = dispatchesOf(212, false);
      assertEquals(dispatchesOf(216, saved), byRule);
      assertEquals(tf.tunedKernels(), tuned);
      // Another adapter's choices are ignored: by rule, and nothing is timed either.
      assertEquals(dispatchesOf(220, { ...saved, adapter: "another" }), byRule);
      assertEquals(tf.tunedKernels(), { ...tuned, choices: {} });
      assert(dispatchesOf(224, true) > byRule, "Without choices it would have been timed");
    } finally {
      tf.tuneKernels(false);
    }
  },
});
