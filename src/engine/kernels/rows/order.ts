/** u32 keys with the order of numbers: exact for integers, NaN below everything, both zeros equal. */
import type { DType } from "../../core/dtype.ts";

/**
 * Declares `key_(v)`, whose u32 results are ordered as the values are; `descending` reverses the order, NaN stays
 * least.
 */
export function keyFunction(dtype: DType, descending: boolean): string {
  const flip = descending ? "~" : "";
  switch (dtype) {
    case "int32":
      return `fn key_(v: i32) -> u32 { return ${flip}(bitcast<u32>(v) ^ 0x80000000u); }`;
    case "uint32":
    case "bool":
      return `fn key_(v: u32) -> u32 { return ${flip}v; }`;
  }
  return `fn key_(v: f32) -> u32 {
  let b = bitcast<u32>(v);
  if ((b & 0x7fffffffu) > 0x7f800000u) { return 0u; }
  if (b == 0x80000000u) { return ${flip}0x80000000u; }
  return ${flip}select(b | 0x80000000u, ~b, b >= 0x80000000u);
}`;
}
