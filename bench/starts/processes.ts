// Processes that compute once: Weft from its sources and from the built package, in Deno and in Node, and TensorFlow.js.

import { capture } from "../../tools/command.ts";
import { ROOT } from "../../tools/files.ts";
import { findNode } from "../../tools/node.ts";
import type { Starts } from "./start.ts";

/** A command that prints "64". */
export interface StartProcess {
  readonly what: string;
  readonly command: readonly string[];
}

const compute = (module: string) =>
  `import { matMul, relu, softmax, tensor2d } from ${JSON.stringify(module)};
  const x = tensor2d(new Float32Array(64 * 64).fill(1 / 64), [64, 64]);
  const [first] = await softmax(relu(matMul(x, x))).data();
  console.log(Math.round(1 / first));`;

/** The commands. `home` has the built package in its node_modules, as npm puts it there. */
export async function makeProcesses(home: string): Promise<StartProcess[]> {
  const sources = new URL("mod.ts", ROOT).href, dist = `${home}/node_modules/@weft/weft`;
  const eager = new URL("src/entries/eager/mod.ts", ROOT).href;
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--no-config", "--no-lock"];
  const node = await findNode();
  const tfjs = `import * as tf from "npm:@tensorflow/tfjs-core@4.22.0";
    import "npm:@tensorflow/tfjs-backend-cpu@4.22.0";
    const x = tf.tensor2d(new Float32Array(64 * 64).fill(1 / 64), [64, 64]);
    const [first] = await tf.softmax(tf.relu(tf.matMul(x, x))).data();
    console.log(Math.round(1 / first));`;
  const file = async (name: string, text: string): Promise<string> => {
    await Deno.writeTextFile(`${home}/${name}`, text);
    return `${home}/${name}`;
  };
  return [
    { what: "Deno, TensorFlow.js", command: [...deno, await file("tfjs.mjs", tfjs)] },
    { what: "Deno, sources", command: [...deno, await file("a.mjs", compute(sources))] },
    { what: "Deno, sources of ./eager", command: [...deno, await file("b.mjs", compute(eager))] },
    {
      what: "Deno, package",
      command: [...deno, await file("c.mjs", compute(`file://${dist}/mod.js`))],
    },
    {
      what: "Deno, package's ./eager",
      command: [...deno, await file("d.mjs", compute(`file://${dist}/eager.js`))],
    },
    ...(node === null ? [] : [
      { what: "Node, package", command: [node, await file("e.mjs", compute("@weft/weft"))] },
      {
        what: "Node, package's ./eager",
        command: [node, await file("f.mjs", compute("@weft/weft/eager"))],
      },
    ]),
  ];
}

/** Starts the processes by turns, each once before, so that caches of code are filled. */
export async function timeProcesses(
  processes: readonly StartProcess[],
  rounds: number,
): Promise<Starts[]> {
  const starts = processes.map(({ what }): Starts => ({ what, times: [] }));
  for (let round = -1; round < rounds; round++) {
    for (const [i, { what, command: [program, ...args] }] of processes.entries()) {
      const begun = performance.now();
      const { stdout, stderr } = await capture(program!, args, { timeoutMs: 120_000 });
      const took = performance.now() - begun;
      if (!/^64$/m.test(stdout)) throw new Error(`${what} printed "${stdout}": ${stderr}`);
      if (round >= 0) starts[i]!.times.push(took);
    }
  }
  return starts;
}
