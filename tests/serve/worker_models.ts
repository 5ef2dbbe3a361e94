/**
 * Models of a worker: one computes until a file is there, one adds, one fails outside of any request. Two paths are answered by an error.
 */
import * as tf from "@weft/weft";
import { answerFrom, createHandler } from "@weft/weft/serve";

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const folder = new URL(import.meta.url).hash.slice(1);
if (folder === "") throw new RangeError("no folder");

const inputSignature = [tf.TensorSpec([null], "float32", "x")];
const until = tf.function((x: tf.Tensor) => ({
  y: tf.numpyFunction(
    (x: tf.NdArray) => {
      Deno.writeTextFileSync(`${folder}/begun`, "");
      while (!exists(`${folder}/end`));
      return x;
    },
    [x],
    tf.TensorSpec([null], "float32"),
  ),
}), { inputSignature });
const double = tf.function((x: tf.Tensor) => ({ y: tf.mul(x, 2) }), { inputSignature });
const die = tf.function((x: tf.Tensor) => ({
  y: tf.numpyFunction(
    (x: tf.NdArray) => {
      queueMicrotask(() => {
        throw new RangeError("died");
      });
      return new Promise<tf.NdArray>(() => x);
    },
    [x],
    tf.TensorSpec([null], "float32"),
  ),
}), { inputSignature });

const handler = createHandler({
  models: { until, double, die },
  token: "secret",
  timeoutMs: Infinity,
});
const broken = (): ReadableStream =>
  new ReadableStream({ start: (controller) => controller.error(new Error("no body")) });

answerFrom({
  ...handler,
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/throws") throw new Error("no answer");
    return pathname === "/breaks" ? new Response(broken()) : await handler.fetch(request);
  },
});
