/** One case of an op's check, and the dtypes that a sample may be checked in. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { argOfInput, type Attrs, type OpDef, type Problem } from "../../engine/core/op.ts";
import type { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import { hasFreeInput, isFree, type OpSample } from "./op_sample.ts";

/** A case to check, and the function that reports. */
export interface OpCase {
  readonly def: OpDef;
  readonly sample: OpSample;
  readonly attrs: Attrs;
  readonly inputs: readonly NdArray[];
  /** The problem of these inputs. */
  readonly problem: Problem;
  /** Dtype of its free inputs. */
  readonly dtype: DType;
  /** The GPU device to check, or null. */
  readonly gpu: WebGpuDevice | null;
  /** Runs one check and counts it; a returned text or thrown error is a failure. */
  run(
    check: string,
    device: string,
    fn: () => Promise<string | null> | string | null,
  ): Promise<void>;
}

/** Dtypes in the order they are checked; the first one is checked most. */
const ORDER: readonly DType[] = [
  "float32",
  "int32",
  "bool",
  "float64",
  "float16",
  "bfloat16",
  "int64",
  "uint8",
  "int8",
  "int16",
  "uint16",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "string",
];

/** Returns the attribute that restricts an argument's dtypes. */
export function typeAttrOf(
  { signature }: OpDef,
  { typeAttr, typeListAttr }: OpDef["signature"]["inputArgs"][number],
): OpDef["signature"]["attrDefs"][number] | undefined {
  return signature.attrDefs.find((a) => a.name === (typeAttr ?? typeListAttr));
}

/** Returns the dtypes that the sample's free inputs can take. */
export function dtypesOf(def: OpDef, sample: OpSample): DType[] {
  if (!hasFreeInput(sample)) return ["float32"];
  if (sample.dtypes) return [...sample.dtypes];
  let allowed: readonly DType[] = ORDER;
  for (const [i, input] of sample.inputs.entries()) {
    if (!isFree(input)) continue;
    const arg = def.signature.inputArgs[argOfInput(def, i, sample.inputs.length)];
    if (arg.dtype) allowed = allowed.filter((d) => d === arg.dtype);
    const list = typeAttrOf(def, arg)?.allowed;
    if (list) allowed = allowed.filter((d) => list.includes(d));
  }
  const canHold = (d: DType): boolean => d !== "float16" || DTYPES.float16.array !== undefined;
  return ORDER.filter((d) => allowed.includes(d) && canHold(d));
}
