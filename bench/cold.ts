// Child process of the cold-start row: loads one system, computes once, prints one number.
//
//   deno run -A bench/cold.ts weft|tfjs|jax|onnx cpu|webgpu [module of Weft]

import { createJaxPeer, type JaxArray } from "./peers/jax.ts";
import { createOnnxPeer } from "./peers/onnx.ts";
import { createTfjsPeer, type Tf } from "./peers/tfjs.ts";
import { createWeftPeer } from "./peers/weft.ts";
import type { Device } from "./row.ts";

/** Width of the square matrices; all their elements are 1 / SIZE. */
export const SIZE = 64;

/** The expected result: an element of softmax over equal values. */
export const EXPECTED: number = 1 / SIZE;

function filled(): Float32Array<ArrayBuffer> {
  return new Float32Array(SIZE * SIZE).fill(1 / SIZE);
}

async function computeTf(tf: Tf): Promise<number> {
  const x = tf.tensor2d(filled(), [SIZE, SIZE]);
  return (await tf.softmax(tf.relu(tf.matMul(x, x))).data())[0]!;
}

async function computeJax(device: Device): Promise<number> {
  const { jax: { jit, nn, numpy }, array } = await createJaxPeer(device);
  const x = array(filled(), [SIZE, SIZE]);
  const compute = jit((x: JaxArray) => nn.softmax(nn.relu(numpy.matmul(x.ref, x))));
  return (await compute(x).data())[0] as number;
}

async function computeOnnx(): Promise<number> {
  const { compile } = await createOnnxPeer();
  const input = { values: filled(), shape: [SIZE, SIZE] };
  const compiled = await compile(
    [input],
    (graph, x) => graph.op("Softmax", [graph.op("Relu", [graph.op("MatMul", [x!, x!])])]),
  );
  return (await (await compiled.call()).data())[0]!;
}

async function compute(system: string, device: Device, entry?: string): Promise<number> {
  if (system === "jax") return await computeJax(device);
  if (system === "onnx") return await computeOnnx();
  if (system === "tfjs") return await computeTf((await createTfjsPeer(device)).tf);
  return await computeTf((await createWeftPeer(device, entry)).tf);
}

if (import.meta.main) {
  const [system, device, entry] = Deno.args;
  // Libraries print advice on the console; the marker tells our line from theirs.
  console.log(`RESULT ${await compute(system!, device as Device, entry)}`);
  Deno.exit(0);
}
