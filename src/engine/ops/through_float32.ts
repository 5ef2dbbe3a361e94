/** Runs ops on short floats without a kernel in float32, rounded once. */
import { apply, type OpInput } from "../core/apply.ts";
import { type DType, isShort } from "../core/dtype.ts";
import { argOfInput, type Attrs, type OpDef } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { castInput } from "./input.ts";

/** Inputs and attributes of an op. */
interface Given {
  readonly inputs: OpInput[];
  readonly attrs: Attrs;
}

/** Attributes of an op that are short floats here, and could be float32; none where it draws random numbers or only moves elements. */
export function shortTypes(def: OpDef, attrs: Attrs): string[] {
  if (def.stateful) return [];
  // An op that takes every dtype lists none.
  return def.signature.attrDefs.filter(({ name, type, allowed }) =>
    type === "type" && isShort(attrs[name]) && allowed?.includes("float32")
  ).map((a) => a.name);
}

/** Returns inputs and attributes of an op in float32 instead of its {@linkcode shortTypes}; null where there are none. */
export function inFloat32(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Given | null {
  const types = shortTypes(def, attrs);
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
