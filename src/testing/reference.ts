/**
 * What the outputs of a sample must be: a given loop, the expansion in float64, or the CPU kernel in float64.
 */
import { castArray } from "../core/convert.ts";
import { type DType, DTYPES, isInteger } from "../core/dtype.ts";
import type { NdArray } from "../core/nd_array.ts";
import { argOfInput, type Attrs, type OpDef } from "../core/op.ts";
import { cpuDevice } from "../runtime/devices.ts";
import { isHostInput, runEagerly, runExpansion } from "./run_op.ts";
import { isFree } from "./op_sample.ts";
import { type OpCase, typeAttrOf } from "./op_case.ts";

/** The wanted outputs, or null where there is nothing independent to compare with. */
export async function referenceOutputs(
  c: OpCase,
  inputs: readonly NdArray[],
): Promise<readonly NdArray[] | null> {
  const { def, sample } = c;
  if (def.stateful) return null;
  const wide = widened(c, inputs);
  let wanted: readonly NdArray[] | null = null;
  await c.run("reference", cpuDevice().name, async () => {
    if (sample.reference) wanted = sample.reference(wide.inputs, wide.attrs);
    else if (def.expand && def.cpu) {
      wanted = await runExpansion(def, wide.inputs, wide.attrs, { device: cpuDevice() });
    } else if (wide.changed) {
      wanted = await runEagerly(def, wide.inputs, wide.attrs, cpuDevice());
    }
    return null;
  });
  return wanted;
}

/** The inputs in the widest dtype that the signature allows. */
function widened(
  c: OpCase,
  inputs: readonly NdArray[],
): { inputs: NdArray[]; attrs: Attrs; changed: boolean } {
  const { def, sample } = c;
  const attrs: Record<string, unknown> = { ...sample.attrs };
  let changed = false;
  const wide = inputs.map((a, i) => {
    if (isHostInput(def, i, inputs.length)) return a;
    const to = widerDType(c, def, a.dtype, i, inputs.length);
    if (to === a.dtype) return a;
    changed = true;
    const { typeAttr } = def.signature.inputArgs[argOfInput(def, i, inputs.length)];
    if (typeAttr !== undefined && attrs[typeAttr] === a.dtype) attrs[typeAttr] = to;
    return castArray(a, to);
  });
  return { inputs: wide, attrs, changed };
}

function widerDType(c: OpCase, def: OpDef, dtype: DType, flat: number, total: number): DType {
  const attr = typeAttrOf(def, def.signature.inputArgs[argOfInput(def, flat, total)]);
  if (attr === undefined) return dtype;
  const { kind } = DTYPES[dtype];
  let wide: DType = dtype;
  if (kind === "float") wide = "float64";
  else if (kind === "complex") wide = "complex128";
  // Integers: the float64 run of the same kernel is another path, exact below 2^53.
  else if (
    isInteger(dtype) && !def.expand && isFree(c.sample.inputs[flat]) &&
    c.sample.integersFollowFloats !== false
  ) {
    wide = "float64";
  }
  return attr.allowed === undefined || attr.allowed.includes(wide) ? wide : dtype;
}
