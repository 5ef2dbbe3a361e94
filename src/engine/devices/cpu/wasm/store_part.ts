/** Stores of less than a vector. */
import type { FunctionBuilder } from "./function_builder.ts";
import { i32 } from "./instructions.ts";
import type { F4 } from "./simd.ts";
import type { Operand, Value } from "./value.ts";

/** Stores the first one to three lanes. */
export function storePart(
  f: FunctionBuilder,
  address: Value<"i32">,
  v: F4,
  count: Operand<"i32">,
): void {
  const to = f.let(address);
  const one = () => f.storeLane(to, v, 4, 0), two = () => f.storeLane(to, v, 8, 0);
  const third = () => f.storeLane(to, v, 4, 2, 8);
  if (typeof count === "number") {
    if (count === 1) return one();
    two();
    if (count > 2) third();
    return;
  }
  const lanes = f.let(count);
  f.if(i32.gt(lanes, 1), () => {
    two();
    f.if(i32.gt(lanes, 2), third);
  }, one);
}
