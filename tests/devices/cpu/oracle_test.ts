/**
 * Every kernel of the CPU device on random small shapes, against float64: with fused multiply-add and without it, cut up among
 * threads, and the op's own loops.
 */

import { assert, assertEquals, fail } from "@std/assert";
import type { NdArray } from "../../../src/engine/core/nd_array.ts";
import { effort, ofTheDay } from "../../effort.ts";
import { ENGINES, threadedEngine } from "./engines.ts";
import { HardPlaces, type Place } from "./hard_places.ts";
import { runFast, runLoops } from "./kernel_runs.ts";
import { fusionOf } from "../../../src/engine/core/fusion.ts";
import { opOfCase } from "../../fusions.ts";
import { type Case, type Kernel, PRODUCT_KERNELS } from "./oracle_cases.ts";
import { COPY_KERNELS } from "./oracle_copy_cases.ts";
import { FILL_KERNELS } from "./oracle_fill_cases.ts";
import { FUSED_KERNELS } from "./oracle_fused_cases.ts";
import { INDEX_KERNELS } from "./oracle_index_cases.ts";
import { Dice } from "./oracle_random.ts";
import type { Expected } from "./oracles.ts";
import { ROW_KERNELS } from "./oracle_row_cases.ts";
import { UNARY_KERNELS } from "./oracle_unary_cases.ts";
import { WARP_KERNELS } from "./oracle_warp_cases.ts";

/** Cases that there are for each kernel, and those that are tried. */
const ALL = 500, CASES = effort(24, ALL);
/** Cases of each kernel at each hard place. */
const HARD_CASES = effort(2, 10);
/** Roundings that a sum may suffer, each of half a unit in the last place. */
const ROUNDINGS = 12;

/** Numbers of the cases, half of which run on a day. */
const TODAY = ofTheDay(Array.from({ length: CASES }, (_, i) => i), 2);

const threads = threadedEngine();

function textOf([name]: Kernel, { inputs, attrs }: Case, output: number): string {
  const shapes = inputs.map((x) => `${x.dtype}[${x.shape}]`).join(", ");
  return `${name} of ${shapes} ${JSON.stringify(attrs ?? {})}, output ${output}`;
}

function assertClose(got: NdArray, { values, scale }: Expected, text: () => string): void {
  assert(got.size === values.length, `${text()}: ${got.size} elements, wanted ${values.length}`);
  for (let i = 0; i < values.length; i++) {
    const a = Number(got.data[i]), b = values[i];
    const same = Number.isNaN(b)
      ? Number.isNaN(a)
      : a === b || Math.abs(a - b) <= (scale?.[i] ?? 0) * ROUNDINGS * 2 ** -24;
    if (!same) fail(`${text()}: element ${i} is ${a}, wanted ${b}`);
  }
}

const KERNELS: readonly Kernel[] = [
  ...PRODUCT_KERNELS,
  ...ROW_KERNELS,
  ...COPY_KERNELS,
  ...FUSED_KERNELS,
  ...UNARY_KERNELS,
  ...FILL_KERNELS,
  ...INDEX_KERNELS,
  ...WARP_KERNELS,
];

KERNELS.forEach((kernel, seed) => {
  const [name, make] = kernel;
  Deno.test(`${name} agrees with float64 on ${TODAY.length} cases of kind ${seed}`, async () => {
    const def = opOfCase(name), threaded = await threads;
    // As much as can be is shared.
    if (threaded) threaded.worthSharing = 1;
    let inVectors = 0;
    for (const i of TODAY) {
      const made = make(new Dice(ALL * seed + i)), { inputs, attrs } = made;
      const check = (results: readonly NdArray[] | null, how: string): void =>
        made.outputs.forEach((expected, k) => {
          if (results) {
            assertClose(results[k], expected, () => `${how}: ${textOf(kernel, made, k)}`);
          }
        });
      const results = ENGINES.map(([how, engine]) => {
        const own = runFast(engine, def, inputs, attrs);
        check(own, how);
        return own;
      });
      if (results.some((r) => r !== null)) inVectors++;
      if (def.cpu && !fusionOf(attrs ?? {})) check(runLoops(def, inputs, attrs), "loops");
      if (threaded === null) continue;
      // Threads change nothing, not a bit.
      const shared = runFast(threaded, def, inputs, attrs), [alone] = results;
      shared?.forEach((x, k) => assertEquals(x.data, alone![k].data, textOf(kernel, made, k)));
    }
    // Some shapes are left to the loops.
    assert(
      inVectors > 0.6 * TODAY.length || ENGINES.length === 0,
      `${name}: ${inVectors} in vector code`,
    );
  });
});

const PLACES: readonly Place[] = ["across 2 GiB", "at the end of 4 GiB", "at the end of 96 MiB"];

for (const place of PLACES) {
  Deno.test(`kernels compute the same bits from and to blocks ${place}`, () => {
    for (const [how, plain] of ENGINES) {
      const hard = new HardPlaces(plain.features, place);
      KERNELS.forEach((kernel, seed) => {
        const [name, make] = kernel, def = opOfCase(name);
        for (let i = 0; i < HARD_CASES; i++) {
          const made = make(new Dice(ALL * seed + i)), { inputs, attrs, outputs } = made;
          const wanted = runFast(plain, def, inputs, attrs);
          if (wanted === null) continue;
          // Those of inputs and outputs, and two that a kernel may be lent.
          const blocks = Array.from({ length: inputs.length + outputs.length + 2 }, (_, k) => k);
          for (const what of [...blocks, "scratch"] as const) {
            hard.put(what);
            runFast(hard.engine, def, inputs, attrs)!.forEach((x, k) =>
              assertEquals(x.data, wanted[k].data, `${how}, ${what}: ${textOf(kernel, made, k)}`)
            );
          }
        }
      });
    }
  });
}
