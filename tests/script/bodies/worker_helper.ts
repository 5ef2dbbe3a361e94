/** An import of a worker's body; see worker_body.ts. */
import { NdArray } from "../../../src/engine/core/nd_array.ts";

/** The strings as one. */
export function join(x: NdArray): NdArray {
  return new NdArray("string", [], [new TextEncoder().encode(x.strings().join("+"))]);
}
