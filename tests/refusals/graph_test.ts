/** Refusals of graphs, placeholders and control flow while a graph is built, and their messages. */

import * as tf from "@weft/weft";
import { type Any, checkRefusals, U } from "./check.ts";

const loop: Any = tf.whileLoop;

type Kind = abstract new (message: string) => Error;

/** Calls with a float32 placeholder "x" of rank 0 and the graph that holds it. */
const REFUSALS: readonly [call: (x: Any, g: tf.Graph) => unknown, kind: Kind, says: string][] = [
  [
    (x) => x.arraySync(),
    tf.OperatorNotAllowedInGraphError,
    "Cannot call arraySync() of <tf.Tensor 'x:0' float32[]>: it is symbolic, so it has no value",
  ],
  [
    (x) => x.ndarraySync(),
    tf.OperatorNotAllowedInGraphError,
    "Cannot call ndarraySync() of <tf.Tensor 'x:0' float32[]>: it is symbolic, so it has no value",
  ],
  [
    (x) => x.item(),
    tf.OperatorNotAllowedInGraphError,
    "Cannot call item() of <tf.Tensor 'x:0' float32[]>: it is symbolic, so it has no value",
  ],
  [
    (x) => x.dataSync(),
    tf.OperatorNotAllowedInGraphError,
    "Cannot call dataSync() of <tf.Tensor 'x:0' float32[]>: it is symbolic, so it has no value",
  ],
  [
    (x) => x.array(),
    tf.OperatorNotAllowedInGraphError,
    "Cannot call array() of <tf.Tensor 'x:0' float32[]>: it is symbolic, so it has no value",
  ],
  [
    (_, g) => g.getOperationByName("x:0"),
    tf.ValueError,
    "Name 'x:0' appears to refer to a Tensor, not a Operation.",
  ],
  [
    (_, g) => g.getOperationByName("nothing"),
    tf.LookupError,
    "The name 'nothing' refers to an Operation not in the graph.",
  ],
  [
    (_, g) => g.getTensorByName("x"),
    tf.ValueError,
    "The name 'x' refers to an Operation, not a Tensor. Tensor names must be of the form",
  ],
  [
    (_, g) => g.getTensorByName("x:1"),
    tf.LookupError,
    "The name 'x:1' refers to a Tensor which does not exist. The operation, 'x', exists but",
  ],
  [
    (_, g) => g.getTensorByName("nothing:0"),
    tf.LookupError,
    "The name 'nothing:0' refers to a Tensor which does not exist. The operation, 'nothing',",
  ],
  [
    (x) => tf.add(new tf.Graph().asDefault(() => tf.placeholder("float32")), x),
    tf.ValueError,
    "Cannot use <tf.Tensor 'Placeholder:0' float32<unknown>> as an input of AddV2",
  ],
  [() => tf.nameScope("a b", () => 1), tf.ValueError, "'a b' is not a valid root scope name"],
  [() => tf.nameScope("_a", () => 1), tf.ValueError, "'_a' is not a valid root scope name"],
  [
    () => U.controlDependencies([1], () => 1),
    tf.ValueError,
    "Cannot depend on 1: it is not an operation or tensor of this graph",
  ],
  [
    () => U.importGraphDef({}),
    tf.ValueError,
    "Cannot import: wanted a GraphDef object with a list `node`",
  ],
  [
    () => U.importGraphDef(null),
    tf.ValueError,
    "Cannot import: wanted a GraphDef object with a list `node`",
  ],
  [(x) => x.setShape([1, 2, 3]), tf.ValueError, "Shapes must be equal rank, but are 0 and 3"],
  [
    (x) => loop((v: Any) => tf.less(v, 3), (v: Any) => [tf.stack([v, v])], [x]),
    tf.ValueError,
    "Input tensor '<tf.Tensor 'x:0' float32[]>' enters the loop with shape [], but has shape",
  ],
  [
    (x) => loop((v: Any) => tf.less(v, 3), (v: Any) => [tf.cast(v, "int32")], [x]),
    TypeError,
    "Loop variable 0 enters the loop with type float32, but has type int32 after one",
  ],
  [
    (x) => loop((v: Any) => tf.less(v, 3), (v: Any) => [v, v], [x]),
    tf.ValueError,
    "The number of inputs and outputs of the loop body differ: received 2 from body for 1",
  ],
  [
    (x) => loop((v: Any) => tf.less(v, 3), (v: Any) => [v], [x], { shapeInvariants: [[2]] }),
    tf.ValueError,
    "The shape invariant specified for x:0 is not compatible with the initial shape of the",
  ],
  [
    (x) => tf.cond(tf.greater(x, 0), () => [x], () => x),
    TypeError,
    "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall",
  ],
  [
    (x) => tf.cond(tf.greater(x, 0), () => x, () => tf.cast(x, "int32")),
    TypeError,
    "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall",
  ],
];

Deno.test("graphs refuse what cannot be meant, and say what was wrong", async () => {
  for (const [call, kind, says] of REFUSALS) {
    const graph = new tf.Graph();
    const x = graph.asDefault(() => tf.placeholder("float32", [], "x"));
    await checkRefusals([[() => graph.asDefault(() => call(x, graph)), says, kind]]);
  }
});
