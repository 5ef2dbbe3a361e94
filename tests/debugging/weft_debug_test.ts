/** WEFT_DEBUG: what it prints of passes, plans and kernels. */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { followDebugVariable } from "../../src/engine/runtime/debug.ts";
import { planTrace } from "../../src/engine/runtime/plan/plan.ts";
import { testOnDevices } from "../devices.ts";
import { withVariables } from "../environment.ts";

/** Returns the output of WEFT_DEBUG with `wanted`, while two graphs of one kind run. */
async function printed(wanted: string): Promise<string[]> {
  const { verify } = pipelineOptions;
  const lines: string[] = [];
  using _ = stub(console, "error", (text: string) => lines.push(text));
  using _variables = withVariables({ WEFT_DEBUG: wanted });
  pipelineOptions.verify = false;
  try {
    followDebugVariable();
    if (/verify|passes/.test(wanted) !== pipelineOptions.verify) lines.push("not as it was asked");
    for (let i = 0; i < 2; i++) {
      const graph = new tf.Graph();
      const y = graph.asDefault(() => tf.exp(tf.add(tf.placeholder("float32", [3], "x"), 41.5)));
      await using session = new tf.Session({ graph });
      await session.run(y, { feeds: { "x:0": [1, 2, 3] } });
    }
  } finally {
    pipelineOptions.trace = planTrace.print = kernelTrace.print = null;
    pipelineOptions.verify = verify;
  }
  return lines;
}

testOnDevices("WEFT_DEBUG prints what it is asked for, and nothing else", async () => {
  assertEquals(await printed(""), []);
  assertEquals(await printed("verify,else"), []);
  const kinds = (lines: string[]) => new Set(lines.map((line) => line.split(/[ \n]/, 2).join(" ")));
  const passes = await printed("passes");
  assert(passes.length > 4 && passes.every((text) => /^weft: [^\n]+\n%0 = /.test(text)), passes[0]);
  assert(passes.some((text) => text.includes("41.5") || text.includes("Const")), passes[0]);
  const plans = await printed("plan");
  assertEquals([plans.length, kinds(plans)], [2, new Set(["weft: plan"])]);
  // A kernel is shown once, however often it is prepared.
  const kernels = await printed("kernels");
  assertEquals([new Set(kernels).size, kinds(kernels)], [
    kernels.length,
    new Set(["weft: kernel"]),
  ]);
  assert(kernels.length >= 1);
  const both = kinds(await printed("plan|kernels"));
  assert(both.has("weft: plan") && both.has("weft: kernel"));
});
