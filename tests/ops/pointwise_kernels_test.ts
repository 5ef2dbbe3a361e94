/** Pointwise kernels of many elements: in each layout every variant agrees with the CPU, bit for bit where nothing is computed. */

import { assertEquals } from "@std/assert";
import type { NdArray } from "@weft/weft";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { argument, scalar as s } from "../../src/engine/core/scalar/expr.ts";
import { pointwiseGpu } from "../../src/engine/kernels/pointwise/variants.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, special } from "./values.ts";

const EXACT = { ulps: 0, ulpsOfLargest: 0 };

testOnGpu("pointwise kernels of many elements agree with the CPU in every layout", async () => {
  const floats = (...shape: number[]): NdArray => noise("float32", shape);
  const bits = (...shape: number[]): NdArray => noise("bool", shape);
  const cases: [string, NdArray[]][] = [
    ["AddV2", [floats(128, 256), floats(128, 256)]],
    ["AddV2", [floats(128, 256), floats()]],
    ["Sub", [floats(128, 256), floats(256)]],
    ["Mul", [floats(128, 256), floats(128, 1)]],
    ["Sub", [floats(64, 1, 256), floats(2, 1)]],
    ["AddV2", [floats(130, 260), floats(260)]],
    ["AddV2", [floats(129, 257), floats(129, 257)]],
    ["Sub", [noise("int32", [128, 256]), noise("int32", [256])]],
    ["Less", [floats(128, 256), floats(256)]],
    ["LogicalAnd", [bits(128, 256), bits(1, 256)]],
    ["SelectV2", [bits(128, 256), floats(256), floats(128, 256)]],
    ["Maximum", [special("float32", [128, 256]), special("float32", [128, 256], 1, 3)]],
    ["Neg", [special("float32", [128, 256])]],
  ];
  for (const [op, inputs] of cases) await compareVariants(op, inputs, {}, EXACT);
  const attrs = { DstT: "int32", Truncate: false };
  await compareVariants("Cast", [filled("bool", [128, 256], (i) => i % 3 & 1)], attrs, EXACT);
});

Deno.test("pointwiseGpu() goes by eights where the adapter has 64-bit words and elements are many", () => {
  const profile: Profile = {
    barriers: false,
    subgroup: 8,
    subgroupDirective: false,
    lanes: 8,
    f16: true,
    words64: true,
    maxBinding: 2 ** 27,
    maxBuffers: 8,
    maxInvocations: 256,
    maxWorkgroupBytes: 16384,
    maxGrid: 65535,
  };
  const wide = (a: number[], b: number[], dtype: "float32" | "float16" = "float32"): number => {
    const ins = [a, b].map((shape) => ({ dtype, shape }));
    const [{ params }] = pointwiseGpu([s.add(argument(0), argument(1))], ins, ins[0], profile)
      .dispatches;
    return a.reduce((x, y) => x * y) / params[0];
  };
  assertEquals(wide([256, 256], [256, 256]), 8);
  assertEquals(wide([256, 256], [256]), 8);
  assertEquals(wide([256, 256], [256, 1]), 8);
  assertEquals(wide([256, 260], [260]), 4);
  assertEquals(wide([8, 8], [8, 8]), 4);
  assertEquals(wide([256, 256], [256, 256], "float16"), 4);
});
