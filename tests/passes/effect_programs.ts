/**
 * Programs with effects hung on every kind of node, as texts: `"add 0 2 ^1"` adds what nodes 0 and 2 give, after node 1. How often
 * TensorFlow 2.21 runs each effect of some of them is in tensorflow_effects.json, for two runs of a session and two calls of a function.
 */
import * as tf from "@weft/weft";
import { lookupOp } from "../../src/engine/core/op.ts";
import { currentGraph } from "../../src/engine/graph/current_graph.ts";

/** A program. */
export interface Program {
  /** Nodes, in order: kind, inputs, and after `^` control inputs. */
  readonly nodes: readonly string[];
  /** Nodes whose values are asked for. */
  readonly fetch: readonly number[];
}

/** A node's text, taken apart. */
export interface Parsed {
  readonly kind: string;
  readonly inputs: readonly number[];
  readonly controls: readonly number[];
}

/** Number of inputs of each kind of node; all are float32[2]. */
export const ARITY: Readonly<Record<string, number>> = {
  ph: 0,
  const: 0,
  group: 0,
  identity: 1,
  neg: 1,
  cast: 1,
  reshape: 1,
  sum: 1,
  softmax: 1,
  stateless: 1,
  call: 1,
  effect: 1,
  assign: 1,
  callEffect: 1,
  cond: 1,
  while: 1,
  add: 2,
  mul: 2,
  stack: 2,
};

/** Kinds that have an effect, and how often they have it when they run. */
export const EFFECTS: Readonly<Record<string, number>> = {
  effect: 1,
  assign: 1,
  callEffect: 1,
  cond: 1,
  while: 2,
};

/** Kinds that give no value. */
export const WITHOUT_VALUE: ReadonlySet<string> = new Set(["group", "assign"]);

/** Takes a node's text apart. */
export function parse(text: string): Parsed {
  const [kind, ...rest] = text.split(" ");
  const isControl = (t: string): boolean => t.startsWith("^");
  return {
    kind,
    inputs: rest.filter((t) => !isControl(t)).map(Number),
    controls: rest.filter(isControl).map((t) => Number(t.slice(1))),
  };
}

/** Numbers of the nodes that have an effect. */
export function effectsOf({ nodes }: Program): number[] {
  return nodes.flatMap((text, i) => parse(text).kind in EFFECTS ? [i] : []);
}

/** Nodes that must have run before a node. */
export function nodesBefore({ nodes }: Program): Set<number>[] {
  const before: Set<number>[] = [];
  for (const text of nodes) {
    const { inputs, controls } = parse(text);
    before.push(new Set([...inputs, ...controls].flatMap((i) => [i, ...before[i]])));
  }
  return before;
}

/** The context of building a program. */
export interface Surroundings {
  /** Told the number of each node whose script is called. */
  readonly log: number[];
  /** A variable for each node that assigns. */
  readonly variables: ReadonlyMap<number, tf.Variable>;
}

/** Variables for the nodes that assign: each counts how often. */
export function variablesOf({ nodes }: Program): Map<number, tf.Variable> {
  return new Map(
    nodes.flatMap((text, i) =>
      parse(text).kind === "assign" ? [[i, tf.variable(tf.zeros([2]), false)]] : []
    ),
  );
}

const spec = tf.TensorSpec([2], "float32");
type Made = tf.Tensor | tf.Operation;

/** Builds a program into the graph in force and returns what is asked for. */
export function build(program: Program, x: tf.Tensor, around: Surroundings): tf.Tensor[] {
  const made: Made[] = [];
  program.nodes.forEach((text, i) => {
    const { kind, inputs, controls } = parse(text);
    made.push(
      tf.controlDependencies(
        controls.map((c) => made[c]),
        () => makeNode(kind, inputs.map((k) => made[k] as tf.Tensor), { ...around, x, i }),
      ),
    );
  });
  return program.fetch.map((i) => made[i] as tf.Tensor);
}

function makeNode(
  kind: string,
  [a, b]: readonly tf.Tensor[],
  { log, variables, x, i }: Surroundings & { x: tf.Tensor; i: number },
): Made {
  const call = (v: tf.Tensor): tf.Tensor =>
    tf.numpyFunction((v: tf.NdArray) => (log.push(i), v), [v], spec);
  switch (kind) {
    case "ph":
      return x;
    case "const":
      return tf.constant([0.5, i]);
    case "group":
      return currentGraph()!.addOp(lookupOp("NoOp")!, [], {});
    case "identity":
      return tf.identity(a);
    case "neg":
      return tf.neg(a);
    case "cast":
      return tf.cast(tf.cast(a, "int32"), "float32");
    case "reshape":
      return tf.reshape(tf.reshape(a, [1, 2]), [2]);
    case "sum":
      return tf.sum(tf.stack([a, a]), 0);
    case "softmax": {
      const e = tf.exp(tf.sub(a, tf.max(a, -1, true)));
      return tf.div(e, tf.sum(e, -1, true));
    }
    case "stateless":
      return tf.numpyFunction((v: tf.NdArray) => v, [a], spec, { stateful: false });
    case "call":
      return tf.function((v: tf.Tensor) => tf.add(tf.mul(v, 2), 1))(a) as tf.Tensor;
    case "effect":
      return call(a);
    case "assign":
      return variables.get(i)!.assignAdd(tf.add(tf.mul(a, 0), 1)) as unknown as tf.Operation;
    case "callEffect":
      return tf.function((v: tf.Tensor) => tf.add(call(v), 1))(a) as tf.Tensor;
    case "cond":
      return tf.cond(
        tf.greater(tf.sum(x), 0),
        () => call(a),
        () => tf.mul(call(tf.neg(a)), 2),
      );
    case "while":
      return tf.whileLoop(
        (k) => tf.less(k, 2),
        (k, v) => [tf.add(k, 1), call(v)],
        [tf.scalar(0, "int32"), a],
      )[1];
    case "add":
      return tf.add(a, b);
    case "mul":
      return tf.mul(a, b);
    case "stack":
      return tf.gather(tf.stack([a, b]), 1) as tf.Tensor;
  }
  throw new TypeError(`No such kind of node: ${kind}`);
}
