/** The wanted outputs of a sample: by a given loop, the expansion in float64, or the CPU kernel in float64. */
import { castArray } from "../../engine/core/convert.ts";
import { type DType, DTYPES, isInteger } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { argOfInput, type Attrs } from "../../engine/core/op.ts";
import { cpuDevice } from "../../engine/runtime/devices/devices.ts";
import { isHostInput, runEagerly, runExpansion } from "./run_op.ts";
import { isFree } from "./op_sample.ts";
import { type OpCase, typeAttrOf } from "./op_case.ts";

/** Returns the wanted outputs, or null where there is nothing independent to compare with. */
export async function referenceOutputs(c: OpCase): Promise<readonly NdArray[] | null> {
  const { def, sample } = c;
  if (def.stateful) return null;
  const wide = widened(c);
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

/** Converts the inputs to the widest dtype that the signature allows. */
function widened(c: OpCase): { inputs: NdArray[]; attrs: Attrs; changed: boolean } {
  const { def, inputs } = c, attrs: Record<string, unknown> = { ...c.attrs };
  let changed = false;
  const wide = inputs.map((a, i) => {
    if (isHostInput(def, i, inputs.length)) return a;
    const arg = def.signature.inputArgs[argOfInput(def, i, inputs.length)], { typeAttr } = arg;
    const to = widerDType(c, a.dtype, i, typeAttrOf(def, arg));
    if (to === a.dtype) return a;
    changed = true;
    if (typeAttr !== undefined && attrs[typeAttr] === a.dtype) attrs[typeAttr] = to;
    return castArray(a, to);
  });
  return { inputs: wide, attrs, changed };
}

function widerDType(
  { def, sample }: OpCase,
  dtype: DType,
  flat: number,
  attr: ReturnType<typeof typeAttrOf>,
): DType {
  if (attr === undefined) return dtype;
  const { kind } = DTYPES[dtype];
  let wide: DType = dtype;
  if (kind === "float") wide = "float64";
  else if (kind === "complex") wide = "complex128";
  // Integers: the float64 run of the same kernel is another path, exact below 2^53.
  else if (
    isInteger(dtype) && !def.expand && isFree(sample.inputs[flat]) &&
    sample.integersFollowFloats !== false
  ) {
    wide = "float64";
  }
  return attr.allowed === undefined || attr.allowed.includes(wide) ? wide : dtype;
}
