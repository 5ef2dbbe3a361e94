/** Programs of the library that the adapter refuses while a test wants it. */
import * as tf from "@weft/weft";
import { HAS_WEBGPU } from "../../devices.ts";

/** Programs that call this helper are refused while `refusals.isOn`. */
const HELPER = "atan2_(";
let made = 0;

/** A switch that a test turns on before programs are compiled, and off after. */
export const refusals: { isOn: boolean } = { isOn: false };

if (HAS_WEBGPU) {
  const { createShaderModule } = GPUDevice.prototype;
  GPUDevice.prototype.createShaderModule = function (descriptor) {
    const code = refusals.isOn && descriptor.code.includes(HELPER) ? "no WGSL" : descriptor.code;
    return createShaderModule.call(this, { ...descriptor, code });
  };
}

/** Text of the error. */
export const REFUSED: RegExp = /Cannot compile WGSL program/;

/** An expression whose program is refused where it is compiled; another one each time, since programs are compiled once. */
export function refusing(): (x: tf.Tensor) => tf.Tensor {
  refusals.isOn = true;
  const own = ++made;
  return (x) => {
    let y = tf.atan2(x, 0.5);
    for (let bits = own; bits > 0; bits >>= 1) y = bits & 1 ? tf.sin(y) : tf.cos(y);
    return y;
  };
}

/** Numbers of shape [24, 4]. */
export const numbers = (by: number): tf.Tensor =>
  tf.tensor(Array.from({ length: 96 }, (_, i) => 2 * Math.sin(by * i + 1)), [24, 4]);

/** Results of several kernels, none of which is refused. */
export const fine = (x: tf.Tensor): tf.Tensor[] => [
  tf.div(tf.sub(x, tf.mean(x, -1, true)), 3),
  tf.softmax(x),
  tf.matMul(x, x, true),
];

/** The elements of tensors. */
export const lists = (ts: readonly tf.Tensor[]): number[][] =>
  ts.map((t) => Array.from(t.dataSync() as Float32Array));
