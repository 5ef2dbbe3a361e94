/** Expressions of ops of one's own: JavaScript's operators and wrong values are errors, not NaN. */
import * as tf from "@weft/weft";
import { applyOp, definePointwise, type Expr, scalar as s } from "@weft/weft/ops";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

// deno-lint-ignore no-explicit-any -- programs without types write these.
const wrong: Readonly<Record<string, readonly [(x: any, y: any) => any, string]>> = {
  product: [(x) => x * x, "Cannot use a scalar expression as a JavaScript value: scalar.mul(x, y)"],
  function: [(x) => Math.sin(x), "Cannot use a scalar expression as a JavaScript value"],
  comparison: [(x) => (s.neg(x) as never) > 0 ? x : s.neg(x), "scalar.mul(x, y) and its like"],
  within: [(x) => s.add(x, (s.mul(x, x) as never) * 2), "Cannot use a scalar expression"],
  number: [() => 3, "Cannot use 3 of type number as the result of Habit>number"],
  nothing: [(x) => void s.mul(x, x), "Cannot use undefined as the result of Habit>nothing"],
  operand: [(x, y) => s.add(x, y), "Cannot use undefined as add's operand 1"],
  text: [
    (x) => s.add(x, "2" as never),
    'Cannot use "2" as add\'s operand 1: wanted a scalar expression',
  ],
};
const ops = Object.entries(wrong).map(([name, [expr, words]]) =>
  [definePointwise(`Habit>${name}`, ([x, y]) => expr(x, y)), words] as const
);
const Twice = definePointwise("Habit>Twice", ([x]: readonly Expr[]) => s.add(x!, s.mul(x!, 1)));

testOnDevices("JavaScript's operators and wrong values in an op's expression are errors", () => {
  for (const [op, words] of ops) {
    assertThrows(() => applyOp(op, [tf.tensor([1, -2])]), TypeError, words);
  }
  assertEquals(applyOp(Twice, [tf.tensor([1, -2])])[0]!.arraySync(), [2, -4]);
});
