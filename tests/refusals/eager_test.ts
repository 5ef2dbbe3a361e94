/** Refusals of arrays, tensors, tapes, loops and datasets in eager code, and their messages. */

import * as tf from "@weft/weft";
import { type Any, checkRefusals, U } from "./check.ts";

const loop: Any = tf.whileLoop;
const array = (): tf.NdArray => new tf.NdArray("float32", [2], Float32Array.of(1, 2));

type Kind = abstract new (message: string) => Error;

const REFUSALS: readonly [call: () => unknown, kind: Kind, says: string][] = [
  [
    () => new tf.NdArray("float32", [2], Float32Array.of(1)),
    tf.ValueError,
    "Cannot make an NdArray of shape [2] and dtype float32: data has 1 entries, wanted 2",
  ],
  [
    () => array().item(),
    tf.ValueError,
    "Cannot take item() of shape [2]: it must hold exactly one element",
  ],
  [() => array().get(0, 0), tf.ValueError, "Cannot get element: received 2 indices for rank 1"],
  [
    () => array().get(2),
    tf.ValueError,
    "Cannot get element: index 2 is out of bounds for axis 0 of size 2",
  ],
  [
    () => array().get(-3),
    tf.ValueError,
    "Cannot get element: index -3 is out of bounds for axis 0 of size 2",
  ],
  [
    () => tf.tensor([1, 2]).item(),
    tf.ValueError,
    "Cannot take item() of Tensor(float32[2]): it must hold exactly one element",
  ],
  [
    () => tf.tensor([1]).graph,
    tf.RuntimeError,
    "Tensor.graph is undefined when eager execution is enabled",
  ],
  [
    () => tf.tensor([1]).op,
    tf.RuntimeError,
    "Tensor.op is undefined when eager execution is enabled",
  ],
  [
    () => tf.tensor([1]).name,
    tf.RuntimeError,
    "Tensor.name is undefined when eager execution is enabled",
  ],
  [
    () => U.tidy(1, () => 1),
    TypeError,
    "Cannot tidy: wanted a string as the name, received number",
  ],
  [() => U.tidy("name", 1), TypeError, "Cannot tidy: wanted a function, received number"],
  [() => U.tidy(1), TypeError, "Cannot tidy: wanted a function, received undefined"],
  [
    () => U.cond(true, 1, () => 1),
    TypeError,
    "true_fn and false_fn arguments to tf.cond must be callable",
  ],
  [
    () => U.cond(true, () => 1, 1),
    TypeError,
    "true_fn and false_fn arguments to tf.cond must be callable",
  ],
  [
    () => loop(() => true, (x: Any) => [x], []),
    tf.ValueError,
    "No loop variables provided to whileLoop",
  ],
  [() => loop(1, (x: Any) => [x], [1]), TypeError, "'cond' must be callable"],
  [() => loop(() => true, 1, [1]), TypeError, "'body' must be callable"],
  [
    () => loop(() => true, (x: Any) => [x, x], [1]),
    tf.ValueError,
    "The number of inputs and outputs of the loop body differ: received 2 from body for 1",
  ],
  [
    () => loop(() => true, (x: Any) => [x], [1], { shapeInvariants: [[], []] }),
    tf.ValueError,
    "The two structures don't have the same nested structure: received 2 shape invariants",
  ],
  [
    () => loop(() => [true, false], (x: Any) => [x], [1]),
    tf.ValueError,
    "The condition of whileLoop must be a scalar: received shape [2]",
  ],
  [
    () => U.function(1),
    tf.ValueError,
    "Expected func to be callable. Received func=1 of type number",
  ],
  [
    () => tf.mapFn((x) => (x.item() === 1 ? [x] : [x, x]), [1, 2]),
    tf.ValueError,
    "The two structures don't have the same nested structure: mapFn got [.] and then [.,.]",
  ],
  [
    () => U.importGraphDef({ node: [] }),
    tf.RuntimeError,
    "Cannot import a GraphDef in eager mode: call importGraphDef() inside graph.asDefault()",
  ],
  [
    () => new tf.TensorArray("float32", 0, { elementShape: [] }).concat(),
    tf.ValueError,
    "Cannot concat a TensorArray of scalars",
  ],
  [
    () => {
      const tape = new tf.GradientTape();
      const x = tf.scalar(1);
      tape.watch(x);
      const y = tf.mul(x, x);
      tape.gradient(y, x);
      tape.gradient(y, x);
    },
    tf.RuntimeError,
    "A non-persistent GradientTape can only be used to compute one set of gradients: pass {",
  ],
  [
    () => {
      const tape = new tf.GradientTape();
      const x = tf.scalar(1);
      tape.watch(x);
      return tape.gradient([tf.mul(x, x)], x, { outputGradients: [1, 2] as Any });
    },
    tf.ValueError,
    "Length mismatch: received 2 outputGradients for 1 targets",
  ],
  [
    () => U.data.fromGenerator(1, { outputSignature: tf.TensorSpec([], "int32") }),
    TypeError,
    "`generator` must be a JavaScript callable that returns an iterable or an iterator",
  ],
  [
    () => U.data.fromTensorSlices({}),
    tf.ValueError,
    "Cannot slice an empty structure: wanted at least one tensor",
  ],
  [
    () => U.data.zip([]),
    tf.ValueError,
    "Cannot zip an empty structure: wanted at least one dataset",
  ],
  [
    () => {
      const a = tf.variable(1, true, "refusals_twice");
      try {
        tf.variable(1, true, "refusals_twice");
      } finally {
        a.dispose();
      }
    },
    tf.ValueError,
    "Cannot make variable 'refusals_twice': a variable of that name was already registered,",
  ],
  [
    () => {
      const a = tf.variable([1, 2]);
      try {
        a.assign([1, 2, 3]);
      } finally {
        a.dispose();
      }
    },
    tf.ValueError,
    "Shape mismatch. The variable shape (2,) and dtype float32, and the assigned value shape",
  ],
  [
    () => {
      const a = tf.variable([1, 2]);
      try {
        a.assign(tf.tensor([1, 2], [2], "int32"));
      } finally {
        a.dispose();
      }
    },
    tf.ValueError,
    "Dtype mismatch. The variable shape (2,) and dtype float32, and the assigned value shape",
  ],
  [
    () => U.grad(1),
    TypeError,
    "The f passed in grad(f) must be a function, but got 1 of type number",
  ],
  [
    () => U.grads((x: Any) => x)(1),
    TypeError,
    "The args passed in grads(f)(args) must be an array of tensors, but got 1 of type number",
  ],
  [
    () => U.grads((x: Any) => x)([]),
    tf.ValueError,
    "Cannot differentiate in grads: received an empty list of inputs",
  ],
  [
    () => U.valueAndGrad((x: Any) => x)(1),
    TypeError,
    "Argument 'x' passed to valueAndGrad(f)(x) must be a tensor, but got 1 of type number",
  ],
  [
    () => U.valueAndGrads((x: Any) => x)([1]),
    TypeError,
    "Argument 'xs[0]' passed to valueAndGrads(f)(x) must be a tensor, but got 1 of type",
  ],
  [
    () => U.valueAndGrad((x: Any) => x)(tf.scalar(1), 1),
    TypeError,
    "Argument 'dy' passed to valueAndGrad(f)(x) must be a tensor, but got 1 of type number",
  ],
  [
    () => U.grad((x: Any) => x)(tf.scalar(1), [1, 2]),
    tf.ValueError,
    "The shape of dy passed in grad(f)(x, dy) must match the shape returned by f(x):",
  ],
  [
    () => U.variableGrads(() => tf.scalar(1)),
    tf.ValueError,
    "Cannot find a connection between any variable and the result of the loss function",
  ],
  [
    () => U.variableGrads(() => tf.scalar(1), []),
    tf.ValueError,
    "variableGrads() expects at least one of the input variables to be trainable, but none",
  ],
  [
    () => U.variableGrads(() => tf.scalar(1), [tf.scalar(1)]),
    TypeError,
    "The varList passed in variableGrads(f, varList) must be an array of variables",
  ],
  [
    () => {
      const w = tf.variable([1, 2]);
      try {
        U.variableGrads(() => tf.mul(w, 2), [w]);
      } finally {
        w.dispose();
      }
    },
    tf.ValueError,
    "The f passed in variableGrads(f) must return a scalar, but it returned a rank-1 tensor",
  ],
  [
    () => U.customGrad(1),
    TypeError,
    "The f passed in customGrad(f) must be a function, but got 1 of type number",
  ],
  [
    () => U.customGrad(() => 1)(1),
    TypeError,
    "The args passed in customGrad(f)(x1, x2,...) must all be tensors",
  ],
  [
    () => U.customGrad(() => ({ value: 1 }))(tf.scalar(1)),
    TypeError,
    "The function f passed in customGrad(f) must return an object where `obj.value` is a",
  ],
  [
    () => U.customGrad((x: Any) => ({ value: x }))(tf.scalar(1)),
    TypeError,
    "The function f passed in customGrad(f) must return an object where `obj.gradFunc` is a",
  ],
];

Deno.test("eager code refuses what cannot be meant, and says what was wrong", async () => {
  await tf.setBackend("cpu");
  await checkRefusals(REFUSALS.map(([call, kind, says]) => [call, says, kind]));
});
