/**
 * `deno task walk`: writes the printed forms of one program into ARCHITECTURE.md: its graph, the plan's view before and after
 * the passes, its plan and a kernel. A test compares them, so the document shows what the engine does today.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { type KernelInfo, kernelTrace } from "../../src/engine/core/device.ts";
import { pipelineOptions } from "../../src/engine/graph/passes/pipeline.ts";
import { irText } from "../../src/engine/graph/passes/verify.ts";
import { planText } from "../../src/engine/runtime/debug.ts";
import { planTrace } from "../../src/engine/runtime/plan/plan.ts";
import { answerHelp } from "../dev/help.ts";
import { prepareWebGpu } from "../environment.ts";
import { enterRoot, read } from "../files.ts";

/** The texts of {@linkcode walk}, by the marks that they stand behind in the document. */
export type Walk = Readonly<
  Record<"program" | "graph" | "built" | "passed" | "plan" | "kernel", string>
>;

function program(): [tf.TracedFunction<[tf.Tensor], tf.Tensor>, tf.Tensor] {
  // ---
  const w = tf.variable([1, -2, 3]);
  const half = (h: tf.NdArray) => h.map((v) => Number(v) / 2);
  const f = tf.function((x: tf.Tensor) => {
    const h = tf.relu(tf.add(tf.mul(x, w), 1));
    return tf.mul(tf.numpyFunction(half, [h], "float32"), 10);
  });
  // ---
  return [f, tf.ones([2, 3])];
}

/** Runs the program on the GPU and gives its text, its printed forms and its result; null where there is no adapter. */
export async function walk(): Promise<(Walk & { readonly result: readonly number[] }) | null> {
  if (!await tf.setBackend("webgpu")) return null;
  const stages = new Map<string, string>();
  let plan = "";
  const kernels: KernelInfo[] = [];
  try {
    const [f, x] = program();
    const graph = tf.summary(f.getConcreteFunction(x).graph);
    pipelineOptions.trace = (stage, ir) => stages.set(stage, irText(ir));
    planTrace.print = (made) => plan = planText(made);
    kernelTrace.print = (kernel) => kernels.push(kernel);
    const result = [...await f(x).data()] as number[];
    return {
      program: programText(),
      graph,
      built: stages.get("built")!,
      passed: [...stages.values()].at(-1)!,
      plan,
      kernel: mainOf(kernels[0]!.parts[0]!.source!),
      result,
    };
  } finally {
    pipelineOptions.trace = planTrace.print = kernelTrace.print = null;
  }
}

function programText(): string {
  const [, lines] = read("tools/structure/walk.ts").split(/^ {2}\/\/ ---\n/m);
  return lines!.replaceAll(/^ {2}/gm, "").trimEnd();
}

/** The entry point of a kernel, without the declarations before it. */
function mainOf(source: string): string {
  return source.slice(source.indexOf("@compute")).replaceAll("\n\n", "\n").trimEnd();
}

/** The document with today's texts, each between the fences that follow its mark. */
export function withWalk(document: string, texts: Walk): string {
  let text = document;
  for (const name of ["program", "graph", "built", "passed", "plan", "kernel"] as const) {
    const block = new RegExp(`(<!-- walk: ${name} -->\\n+\`\`\`\\w*.*\\n)[^]*?(\\n\`\`\`)`);
    if (!block.test(text)) throw new Error(`Cannot find the mark "walk: ${name}" and its fence`);
    text = text.replace(block, (_, before, after) => `${before}${texts[name]}${after}`);
  }
  return text;
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  prepareWebGpu();
  enterRoot();
  const texts = await walk();
  if (texts === null) throw new Error("Cannot print the walk: there is no WebGPU adapter");
  await Deno.writeTextFile("ARCHITECTURE.md", withWalk(read("ARCHITECTURE.md"), texts));
}
