/** Runs ops on 16-bit floats without a kernel in float32, rounded once. */
import { apply, type OpInput } from "../core/apply.ts";
import type { DType } from "../core/dtype.ts";
import { argOfInput, type Attrs, type OpDef } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { isShort } from "../kernels/host/numbers.ts";
import { castInput } from "./input.ts";

/** Inputs and attributes of an op. */
interface Given {
  readonly inputs: OpInput[];
  readonly attrs: Attrs;
}

/**
 * Returns inputs and attributes of an op in float32 instead of float16 and bfloat16. Null for an op that takes no such
 * floats or lacks float32, that draws random numbers, or that takes every dtype: such an op only moves elements.
 */
export function inFloat32(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Given | null {
  if (def.stateful) return null;
  const types = def.signature.attrDefs.filter(({ name, type, allowed }) =>
    type === "type" && isShort(attrs[name]) && allowed?.includes("float32")
  ).map((a) => a.name);
  if (types.length === 0) return null;
  const wide = { ...attrs, ...Object.fromEntries(types.map((name) => [name, "float32"])) };
  const given = inputs.map((x, i) => {
    const { typeAttr } = def.signature.inputArgs[argOfInput(def, i, inputs.length)];
    return typeAttr !== undefined && types.includes(typeAttr) ? castInput(x, "float32") : x;
  });
  return { inputs: given, attrs: wide };
}

/** Applies an op in float32, see {@linkcode inFloat32}, and casts the results to `dtypes`. Null where that has no op. */
export function throughFloat32(
  def: OpDef,
  inputs: readonly OpInput[],
  attrs: Attrs,
  dtypes: readonly DType[],
): Tensor[] | null {
  const wide = inFloat32(def, inputs, attrs);
  return wide &&
    apply(def, wide.inputs, wide.attrs).map((y, i) => castInput(y, dtypes[i]) as Tensor);
}
