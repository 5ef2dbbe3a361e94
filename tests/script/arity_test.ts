/** Bodies that take more arguments than there are inputs, and the context where a number is wanted. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, assertBoth, evaluate, open } from "./helpers.ts";

const { InvalidArgumentError } = tf.errors;
const x = (): tf.Tensor => tf.constant(1);
const specs = { Tout: "float32" } as const;

/** A body of each kind that takes three arguments of the one there is, or of the two there are. */
function three(a: Any, b: Any, c: Any): unknown {
  return [a, b, c];
}

const FORMS: Record<string, (body: (...args: Any[]) => unknown) => unknown> = {
  numpyFunction: (body) => tf.numpyFunction(body, [x()], "float32"),
  "numpyFunction, stateless": (body) =>
    tf.numpyFunction(body, [x()], "float32", { stateful: false }),
  pyFunction: (body) => tf.pyFunction(body, [x()], "float32"),
  pyFunc: (body) => tf.pyFunc(body, [x()], "float32", false),
  "compat.v1.pyFunc": (body) => tf.compat.v1.pyFunc(body, [x()], "float32"),
  decorator: (body) => tf.numpyFunction(specs)(body)(x()),
  "contrib.framework.pyFunc": (body) =>
    tf.contrib.framework.pyFunc(body, { kwargs: { a: x(), b: x() }, outputTypes: "float32" }),
  "a nest": (body) => tf.pyFunction(body, [[x(), x()]] as Any, "float32"),
  "tf.function": (body) => tf.function(() => tf.pyFunction(body, [x()], "float32"))(),
  cond: (body) => tf.cond(tf.constant(true), () => tf.pyFunction(body, [x()], "float32"), x),
};

testOnDevices("a body of more parameters than arguments is refused in every form", async () => {
  const text = `TypeError: ${three.name}() takes 3 positional arguments but 1 were given`;
  for (const [form, call] of Object.entries(FORMS)) {
    assertThrows(() => call(three), InvalidArgumentError, text, form);
    await assertRejects(() => evaluate(() => call(three)), InvalidArgumentError, text, form);
  }
  const later = [tf.numpyFunctionAsync, tf.pyFunctionAsync];
  for (const call of later) {
    await assertRejects(() => call(three as Any, [x()], "float32"), InvalidArgumentError, text);
  }
});

testOnDevices("a body of more parameters is refused in a worker and by its token", async () => {
  const text = `${three.name}() takes 3 positional arguments but 1 were given`;
  const inWorker = (): tf.Tensor =>
    tf.numpyFunction(three as Any, [x()], "float32", { worker: true });
  await assertRejects(() => evaluate(inWorker), InvalidArgumentError, text);
  const add = (a: Any, b: Any): unknown => Number(a) + Number(b);
  const added = (): tf.Tensor => tf.numpyFunction(add, [x()], "float32", { worker: true });
  await assertRejects(() => evaluate(added), InvalidArgumentError, "<lambda>() takes 2 positional");
  tf.registerScript("arity.three@1", three);
  await using g = open(() => tf.numpyFunction(three as Any, [x()], "float32", { name: "y" }));
  const def = g.sess.graph.toGraphDef();
  await using h = open(() => {
    tf.importGraphDef(def, { prefix: "" });
  });
  await assertRejects(() => h.sess.run("y:0"), InvalidArgumentError, text);
  tf.unregisterScript("arity.three@1");
});

testOnDevices("the context of a call is no number", async () => {
  const add = (a: Any, b: Any): unknown => Number(a) + Number(b);
  const text = `TypeError: ${add.name}() takes 2 positional arguments but 1 were given`;
  for (const form of ["numpyFunction", "pyFunc", "decorator", "tf.function"]) {
    const build = (): unknown => FORMS[form](form === "tf.function" ? addTensors : add);
    const wanted = form === "tf.function" ? `${addTensors.name}() takes 2 positional` : text;
    assertThrows(build, InvalidArgumentError, wanted, form);
    await assertRejects(() => evaluate(build), InvalidArgumentError, wanted, form);
  }
  const uses: ((a: Any, ...rest: Any[]) => unknown)[] = [
    (_, ctx) => ctx * 2,
    (_, ctx) => ctx + 1,
    (_, ctx) => ctx < 1,
    (_, ctx) => Math.max(1, ctx),
    (_, ...[ctx]) => +ctx,
  ];
  for (const use of uses) {
    assertThrows(() => FORMS.numpyFunction(use), InvalidArgumentError, "TypeError: ", String(use));
  }
  await assertBoth(
    () => tf.numpyFunction((_: Any, ctx: Any) => `${ctx}`, [x()], "string"),
    [
      "[object ScriptContext]",
    ][0],
  );
});

function addTensors(a: Any, b: Any): unknown {
  return tf.mul(a, Number(b));
}

testOnDevices("a body may take fewer arguments, the context, defaults and the rest", async () => {
  const bodies: ((...args: Any[]) => unknown)[] = [
    () => 1,
    (a) => a,
    (a, ctx) => (ctx.node.length > 0 ? a : 0),
    (a, _ctx, c = 1) => Number(a) * c,
    (...args) => args[0],
    three.bind(null, 1, 2) as Any,
  ];
  for (const body of bodies.slice(0, 5)) {
    await assertBoth(() => tf.numpyFunction(body, [x()], "float32"), 1);
  }
  assertEquals(bodies[5].length, 1);
});

testOnDevices(
  "a function of elements takes as many arguments as an element has parts",
  async () => {
    const text = "takes 2 positional arguments but 1 were given";
    const one = tf.data.fromTensorSlices([1, 2]);
    const uses: (() => { toArray(): Promise<unknown> })[] = [
      () => one.map(((a: Any, b: Any) => tf.add(a, b)) as Any),
      () => one.filter(((a: Any, b: Any) => tf.less(a, b)) as Any),
      () => one.flatMap(((a: Any, _b: Any) => tf.data.fromTensors(a)) as Any),
    ];
    for (const use of uses) await assertRejects(async () => await use().toArray(), TypeError, text);
    const two = tf.data.zip([one, one]);
    const sums = two.map((a: Any, b: Any) => tf.add(a, b)).map((a: Any, by = 2) => tf.mul(a, by));
    assertEquals((await sums.toArray()).map((t) => (t as tf.Tensor).item()), [4, 8]);
  },
);
