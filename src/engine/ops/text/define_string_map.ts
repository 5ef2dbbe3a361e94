/** Defines ops on each string by itself. */
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { textsOf } from "../host/arrays.ts";

/** Defines an op on each string: `kernel` makes the function from the further inputs. */
export function defineStringMap(
  name: string,
  { inputs = ["input: string"], output = "string", attrs = [] }: {
    readonly inputs?: readonly string[];
    readonly output?: string;
    readonly attrs?: readonly string[];
  },
  kernel: (
    attrs: Attrs,
    others: readonly NdArray[],
  ) => (text: Uint8Array) => Uint8Array | number | bigint,
): OpDef {
  return defineOp({
    name,
    inputs,
    outputs: [`output: ${output}`],
    attrs,
    each: true,
    infer: ([x]) => [x.shape],
    grad: null,
    cpu: ([x, ...others], [out], { attrs }) => {
      const to = out.data as unknown[], make = kernel(attrs, others);
      textsOf(x).forEach((text, i) => to[i] = make(text));
    },
  });
}
