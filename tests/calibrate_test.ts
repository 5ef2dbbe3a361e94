/**
 * `deno task calibrate`: its evaluation of times, and the correctness of both kernels of each constant, so that any
 * value may be written.
 */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CpuDevice } from "../src/engine/devices/cpu/cpu_device.ts";
import { THRESHOLDS } from "../src/engine/devices/cpu/thresholds.ts";
import { difference } from "../src/library/testing/compare.ts";
import { prepareWhere } from "../tools/calibrate/main.ts";
import { fitThreshold, lossOf, type Point, withThreshold } from "../tools/calibrate/fit.ts";
import { QUESTIONS } from "../tools/calibrate/questions.ts";

/** Points at which the kernel below wins up to a value. */
function crossingAt(value: number, factor = 2): Point[] {
  return [1, 2, 4, 8, 16, 32].map((v) => ({
    value: v,
    below: v <= value ? 1 : factor,
    beyond: v <= value ? factor : 1,
  }));
}

Deno.test("fitThreshold() finds where another kernel wins, at either end as well", () => {
  for (const value of [1, 2, 4, 8, 16, 32]) {
    const points = crossingAt(value), found = fitThreshold(points, 1e9);
    assertEquals(lossOf(points, found), 0, `${found} for ${value}`);
  }
  assertEquals(fitThreshold(crossingAt(0), 1e9), 0);
});

Deno.test("fitThreshold() leaves a constant that hardly loses", () => {
  assertEquals(fitThreshold(crossingAt(8, 1.05), 5), 5);
  assert(fitThreshold(crossingAt(8, 2), 5) >= 8);
});

Deno.test("withThreshold() writes a value with its source, again and again", async () => {
  const url = new URL("../src/engine/devices/cpu/thresholds.ts", import.meta.url);
  let module = await Deno.readTextFile(url);
  const lines = module.split("\n").length;
  for (const value of [7, 9]) {
    module = withThreshold(module, "thinRows", { value, source: `2026-01-0${value} on it: a, b.` });
  }
  assert(module.includes("   * Measured 2026-01-09 on it: a, b.\n   */\n  thinRows: 9,"), module);
  assert(!module.includes("2026-01-07"));
  assert(module.split("\n").length <= lines + 3);
  assertThrows(() => withThreshold(module, "none", { value: 1, source: "" }), RangeError, "none");
  // The others are as they were.
  const { thinRows: _, ...others } = THRESHOLDS;
  for (const [name, value] of Object.entries(others)) {
    assert(module.includes(`  ${name}: ${value},`));
  }
});

for (const { name, sizes, work } of QUESTIONS) {
  Deno.test(`both kernels that ${name} chooses between give the same`, () => {
    const device = new CpuDevice();
    for (const size of [sizes[0]!, sizes.at(-1)!]) {
      const [below, beyond] = [Infinity, -1].map((constant) => {
        const { kernel, inputs, outputs } = prepareWhere(device, work(size), { name, constant });
        const buffers = kernel.run(inputs.map((a) => a && device.upload(a)));
        return device.readSync(buffers.map((buffer, i) => ({ buffer, spec: outputs[i]! })))!;
      });
      below!.forEach((array, i) => {
        const near = { ulps: 64, ulpsOfLargest: 64 };
        assertEquals(difference(array, beyond![i]!, array.dtype, near), null, `Size ${size}`);
      });
    }
  });
}
