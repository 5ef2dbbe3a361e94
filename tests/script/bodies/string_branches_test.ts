/** Scripts of strings inside branches and loops: eagerly, in functions and in sessions, with known and unknown shapes. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { open } from "../helpers.ts";

type T = tf.Tensor;
type Build = (x: T, p: T) => T;

const same = { shapeFn: (spec: tf.Spec): tf.Spec => spec };
const shout = (x: T): T =>
  tf.numpyFunction((a: tf.NdArray) => a.strings().map((s) => `${s}!`), [x], "string", same);
const upper = (x: T): T => tf.pyFunction((t: T) => tf.strings.upper(t), [x], "string", same);
const isShort = (x: T): T =>
  tf.numpyFunction((a: tf.NdArray) => a.strings()[0]!.length < 4, [x], tf.TensorSpec([], "bool"));
const longer = (x: T): T =>
  tf.numpyFunction(
    (a: tf.NdArray) => [...a.strings(), "z"],
    [x],
    tf.TensorSpec([null], "string"),
  );
const zero = (): T => tf.scalar(0, "int32");
const three = (i: T): T => tf.less(i, 3);

/** Programs of ["a", "b"] and a condition, with their results for a true and for a false one. */
const CASES: Readonly<Record<string, readonly [Build, ifTrue: string[], ifFalse: string[]]>> = {
  "cond": [(x, p) => tf.cond(p, () => shout(x), () => x), ["a!", "b!"], ["a", "b"]],
  "cond, other bodies": [
    (x, p) => tf.cond(p, () => upper(shout(x)), () => shout(shout(x))),
    ["A!", "B!"],
    ["a!!", "b!!"],
  ],
  "case": [
    (x, p) => tf.case([[p, () => upper(x)]], { default: () => shout(x) }),
    ["A", "B"],
    ["a!", "b!"],
  ],
  "switchCase": [
    (x, p) => tf.switchCase(tf.cast(p, "int32"), [() => upper(x), () => shout(x)]),
    ["a!", "b!"],
    ["A", "B"],
  ],
  "whileLoop": [
    (x) => tf.whileLoop((i) => three(i), (i, v) => [tf.add(i, 1), shout(v)], [zero(), x])[1],
    ["a!!!", "b!!!"],
    ["a!!!", "b!!!"],
  ],
  "a script as the condition of whileLoop": [
    (x) => tf.whileLoop((v) => isShort(v), (v) => [shout(v)], [x])[0],
    ["a!!!", "b!!!"],
    ["a!!!", "b!!!"],
  ],
  "cond in whileLoop": [
    (x, p) =>
      tf.whileLoop(
        (i) => three(i),
        (i, v) => [tf.add(i, 1), tf.cond(p, () => shout(v), () => upper(v))],
        [zero(), x],
      )[1],
    ["a!!!", "b!!!"],
    ["A", "B"],
  ],
  "a list that grows, by specs as invariants": [
    (x) =>
      tf.whileLoop((i) => tf.less(i, 2), (i, v) => [tf.add(i, 1), longer(v)], [zero(), x], {
        shapeInvariants: [tf.TensorSpec([], "int32"), tf.TensorSpec([null], "string")],
      })[1],
    ["a", "b", "z", "z"],
    ["a", "b", "z", "z"],
  ],
};

for (const [name, [build, ifTrue, ifFalse]] of Object.entries(CASES)) {
  testOnDevices(`scripts of strings run in ${name}`, async () => {
    const f = tf.function((x: T, p: T) => build(x, p));
    for (const [p, wanted] of [[true, ifTrue], [false, ifFalse]] as const) {
      using _ = tf.scope();
      const x = tf.tensor(["a", "b"]), given = tf.scalar(p);
      assertEquals(build(x, given).ndarraySync().strings(), wanted, "eagerly");
      assertEquals(f(x, given).ndarraySync().strings(), wanted, "in a function");
      for (const shape of [[2], undefined]) {
        await using g = open(() =>
          build(tf.placeholder("string", shape, "x"), tf.placeholder("bool", [], "p"))
        );
        const y = await g.sess.run(g.parts, { feeds: { "x:0": ["a", "b"], "p:0": p } });
        assertEquals((y as unknown as tf.NdArray).strings(), wanted, `in a session, ${shape}`);
      }
    }
  });
}
