/** Common parts of the tests of refusals. */

import * as tf from "@weft/weft";
import { assert, assertStringIncludes } from "@std/assert";

// deno-lint-ignore no-explicit-any
export type Any = any;

/** The library without its types, which forbid much of what is to be refused. */
export const U: Any = tf;
export const t: Any = tf.tensor;
export const v = (n: number): tf.Tensor => tf.ones([n]);
export const z = (...shape: number[]): tf.Tensor => tf.zeros(shape);
export const i = (x: number[], shape: number[] = [x.length]): tf.Tensor =>
  tf.tensor(x, shape, "int32");

/** A call, a part of what it is told, and the error's class where that is not `ValueError`. */
export type Refusal = readonly [
  call: () => unknown,
  says: string,
  kind?: abstract new (message: string) => Error,
];

/** Makes each call, through `within` if that is given, and looks at its error. */
export async function checkRefusals(
  refusals: readonly Refusal[],
  within: (call: () => unknown) => unknown = (call) => call(),
): Promise<void> {
  for (const [call, says, kind = tf.ValueError] of refusals) {
    let error: unknown = null;
    try {
      await within(call);
    } catch (e) {
      error = e;
    }
    assert(error instanceof kind, `${call}: wanted a ${kind.name}, got ${error}`);
    assertStringIncludes(error.message, says, String(call));
  }
}
