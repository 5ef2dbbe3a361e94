import * as tf from "@weft/weft";
import { gradCheck, GradCheckError } from "@weft/weft/testing";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const cube = (x: tf.Tensor): tf.Tensor => tf.mul(x, tf.mul(x, x));

testOnDevices("grad() differentiates, also what it made itself", () => {
  const x = tf.tensor([1, -2]);
  assertEquals(tf.grad(cube)(x).arraySync(), [3, 12]);
  assertEquals(tf.grad(tf.grad(cube))(x).arraySync(), [6, -12]);
  assertEquals(tf.grad(tf.grad(tf.grad(cube)))(x).arraySync(), [6, 6]);
});

testOnDevices("grad() weights the outputs with dy", () => {
  assertEquals(tf.grad(cube)([1, 2], [10, 100]).arraySync(), [30, 1200]);
  assertEquals(tf.grad(cube)(tf.scalar(1), 2).item(), 6);
});

testOnDevices("grads() gives one gradient per input", () => {
  const f = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => tf.mul(tf.square(a), b);
  const [da, db] = tf.grads(f)([[1, 2], 3]);
  assertEquals([da.arraySync(), db.arraySync()], [[6, 12], 5]);
  const x = tf.scalar(3);
  const [first, second] = tf.grads(f)([x, x]);
  assertEquals([first.item(), second.item()], [18, 9]);
});

testOnDevices("valueAndGrad() and valueAndGrads() give the value as well", () => {
  const { value, grad } = tf.valueAndGrad((x) => tf.square(x))(tf.scalar(3));
  assertEquals([value.item(), grad.item()], [9, 6]);
  const both = tf.valueAndGrads((a, b) => tf.mul(a, b))(
    [tf.scalar(2), tf.scalar(5)],
    tf.scalar(10),
  );
  assertEquals([both.value.item(), ...both.grads.map((g) => g.item())], [10, 50, 20]);
});

testOnDevices("grad functions leave nothing but what they return", () => {
  const x = tf.tensor([1, 2]);
  const before = tf.memory();
  const g = tf.grad((x) => tf.tidy(() => tf.sum(cube(tf.add(x, 1)))))(x);
  assertEquals(tf.memory().numTensors, before.numTensors + 1);
  g.dispose();
  const { value, grads } = tf.valueAndGrads((a, b) => tf.mul(cube(a), b))([x, x]);
  assertEquals(tf.memory().numTensors, before.numTensors + 3);
  tf.dispose([value, grads]);
  assertThrows(
    () => tf.grad(() => tf.add(tf.scalar(1), 1))(x),
    tf.ValueError,
    "Cannot compute gradient of y=f(x) with respect to x (input 0 of",
  );
  assertThrows(() =>
    tf.grad((x) => {
      cube(x);
      throw new Error("forward");
    })(x)
  );
  assertEquals(tf.memory().numTensors, before.numTensors);
  assertEquals(tf.memory().liveTapes, before.liveTapes);
});

testOnDevices("variableGrads() names gradients by variable", () => {
  const a = tf.variable(2, true, "a"),
    b = tf.variable([1, 2], true, "b"),
    c = tf.variable(5, false, "c");
  const loss = (): tf.Tensor => tf.sum(tf.mul(tf.mul(a, b), c));
  const { value, grads } = tf.variableGrads(loss);
  assertEquals(value.item(), 30);
  assertEquals(Object.keys(grads).sort(), ["a", "b"]);
  assertEquals([grads.a.item(), grads.b.arraySync()], [15, [10, 10]]);
  assertEquals(Object.keys(tf.variableGrads(loss, [b]).grads), ["b"]);
  tf.dispose([a, b, c]);
});

Deno.test("grad functions refuse what cannot be differentiated", () => {
  const x = tf.scalar(1);
  using frozen = tf.variable(1, false), unused = tf.variable(1);
  const cases: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => tf.grad(null as never), TypeError, "must be a function"],
    [() => tf.grad(() => 3 as never)(x), TypeError, "must return a tensor"],
    [() => tf.grad((x) => tf.stopGradient(x))(x), tf.ValueError, "with respect to x"],
    [() => tf.grad((x) => tf.square(x))(x, [1, 2]), tf.ValueError, "received [2], wanted []"],
    [() => tf.grads((x) => x)(x as never), TypeError, "must be an array"],
    [() => tf.grads(() => x)([]), tf.ValueError, "empty list"],
    [() => tf.valueAndGrad((x) => x)(1 as never), TypeError, "must be a tensor"],
    [() => tf.variableGrads(() => x), tf.ValueError, "Cannot find a connection"],
    [() => tf.variableGrads(() => x, [unused]), tf.ValueError, "Cannot find a connection"],
    [() => tf.variableGrads(() => frozen.add(1), [frozen]), tf.ValueError, "at least one"],
    [() => tf.variableGrads(() => tf.mul(unused, [1, 2])), tf.ValueError, "rank-1 tensor"],
    [() => tf.variableGrads(() => x, [x]), TypeError, "array of variables"],
  ];
  for (const [run, kind, text] of cases) assertThrows(run, kind, text);
});

Deno.test("grad() works while a graph is built, with unknown shapes", async () => {
  const g = new tf.Graph();
  const { x, dx } = g.asDefault(() => {
    const x = tf.placeholder("float32");
    return { x, dx: tf.grad((x) => tf.mul(x, tf.sum(x)))(x) };
  });
  await using session = new tf.Session({ graph: g });
  const out = await session.run(dx, { feeds: new Map([[x, [1, 2, 3]]]) }) as tf.NdArray;
  assertEquals(out.toArray(), [12, 12, 12]);
});

Deno.test("gradCheck() passes what is right and names what is wrong", () => {
  // Functions of linearize() in other tests keep theirs until they are collected.
  const { liveTapes } = tf.memory();
  gradCheck((x, y) => tf.sum(tf.mul(tf.exp(x), y)), [[0.5, 1, -1], [1, 2, 3]]);
  const wrong = tf.customGrad((x, save) => {
    save([x]);
    return { value: tf.square(x), gradFunc: (dy, [x]) => tf.mul(dy, x) };
  });
  assertThrows(
    () => gradCheck((x) => wrong(x), [[1, 2]]),
    GradCheckError,
    "gradient of input 0 at flat element 0",
  );
  const missing = (x: tf.Tensor): tf.Tensor => tf.add(tf.stopGradient(tf.square(x)), tf.mul(x, 0));
  assertThrows(
    () => gradCheck(missing, [[1, 2]]),
    GradCheckError,
    "Gradient check failed: gradient of input 0 at flat element 0 is 0,",
  );
  assertThrows(
    () => gradCheck((x) => x, [new tf.NdArray("int32", [1], Int32Array.of(1))]),
    tf.ValueError,
    "Cannot check gradients: no input has a floating dtype",
  );
  assert(tf.memory().liveTapes <= liveTapes);
});

testOnDevices("a signature of one argument is enough for a function of grad()", async () => {
  const inputSignature = [new tf.TensorSpec([null], "float32")];
  const slope = tf.function(tf.grad((x) => tf.pow(x, 3)), { inputSignature });
  assertEquals([...await (slope(tf.tensor([1, 2])) as tf.Tensor).data()], [3, 12]);
  const both = tf.function(tf.valueAndGrad((x) => tf.sum(tf.square(x))), { inputSignature });
  const { value, grad } = both(tf.tensor([1, 2])) as { value: tf.Tensor; grad: tf.Tensor };
  assertEquals([...await value.data(), ...await grad.data()], [5, 2, 4]);
});
