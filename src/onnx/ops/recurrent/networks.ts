/** Recurrent networks: LSTM, GRU and RNN, in one or both directions. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import { centred, quantiseByRange } from "../quantised/linear.ts";
import { like } from "../raw.ts";
import { recurrentActivations } from "./activations.ts";
import * as tf from "../../build/tf.ts";

/** Maximum steps of a graph that are unrolled. */
const MOST_UNROLLED = 16;

/** A cell of one direction: the next states from the input's parts of its gates, and the states before. */
type Step = (parts: readonly Tensor[], states: readonly Tensor[]) => Tensor[];

/** Products with the weights of a direction. */
interface Weights {
  /** Multiplies the inputs of all steps, `[rows, inputs]`. */
  input(x: Tensor): Tensor;
  /** Multiplies a hidden state by the rows of gates `from` to `to`. */
  hidden(h: Tensor, from: number, to: number): Tensor;
  /** Biases of the inputs and of the hidden state, one number for each row of a gate; null for none. */
  readonly biases: readonly [Tensor, Tensor] | null;
}

/** A node's direction. */
interface Direction {
  readonly n: NodeCall;
  readonly index: number;
  readonly size: number;
  readonly weights: Weights;
}

/** Makes the step of a direction's cell, and what is added to the inputs of all steps. */
type Cell = (direction: Direction) => {
  readonly step: Step;
  readonly bias: Tensor | null;
  /** Numbers of gates that are in one part of the inputs. */
  readonly parts: readonly number[];
};

/** A kind of network. */
interface Kind {
  readonly gates: number;
  readonly states: number;
  readonly cell: Cell;
  /** Makes the products of a direction. */
  readonly weights: (n: NodeCall, index: number, size: number, gates: number) => Weights;
}

function clipped(n: NodeCall): (x: Tensor) => Tensor {
  const limit = n.attributes.float("clip", 0);
  return limit > 0 ? (x) => tf.clipByValue(x, -limit, limit) : (x) => x;
}

/** Returns the part of a direction of an input. */
function part(n: NodeCall, i: number, index: number): Tensor {
  return n.dims(i)[0] === 1 ? tf.squeeze(n.x(i), 0) : tf.gather(n.x(i), index);
}

function plainWeights(n: NodeCall, index: number, size: number, gates: number): Weights {
  const w = part(n, 1, index), r = part(n, 2, index);
  const rows = new Map<string, Tensor>();
  const rowsOf = (from: number, to: number): Tensor => {
    if (from === 0 && to === gates) return r;
    const key = `${from} ${to}`;
    return rows.get(key) ??
      rows.set(key, tf.slice(r, [from * size, 0], [(to - from) * size, -1])).get(key)!;
  };
  // Slices are made outside of the loop.
  if (gates === 3) { for (const [from, to] of [[0, 2], [2, 3]]) rowsOf(from, to); }
  return {
    input: (x) => tf.matMul(x, w, false, true),
    hidden: (h, from, to) => tf.matMul(h, rowsOf(from, to), false, true),
    biases: biasesOf(n, index),
  };
}

function biasesOf(n: NodeCall, index: number): [Tensor, Tensor] | null {
  return n.has(3) ? tf.split(part(n, 3, index), 2, 0) as [Tensor, Tensor] : null;
}

/** Makes the products of levels: inputs of all steps are quantised at once, a hidden state at each step. */
function levelWeights(n: NodeCall, index: number): Weights {
  const product = (weight: number, scale: number) => {
    const zero = n.has(scale + 1) ? part(n, scale + 1, index) : null;
    const levels = centred(part(n, weight, index), zero), by = part(n, scale, index);
    return (x: Tensor): Tensor => {
      const q = quantiseByRange(x);
      return tf.mul(tf.matMul(centred(q.levels, q.zero), levels), tf.mul(q.scale, by));
    };
  };
  return { input: product(1, 8), hidden: product(2, 10), biases: biasesOf(n, index) };
}

function sum(pair: readonly [Tensor, Tensor] | null): Tensor | null {
  return pair === null ? null : tf.add(pair[0], pair[1]);
}

function lstmCell({ n, index, size, weights }: Direction): ReturnType<Cell> {
  const [f, g, h] = recurrentActivations(n, index, ["Sigmoid", "Tanh", "Tanh"]), clip = clipped(n);
  const peeps = n.has(7) ? tf.split(part(n, 7, index), 3, 0) : null;
  const couples = n.attributes.flag("input_forget"), one = like(n.x(0), 1);
  const peep = (x: Tensor, c: Tensor, i: number): Tensor =>
    peeps === null ? x : tf.add(x, tf.mul(peeps[i], c));
  const step: Step = ([x], [before, c]) => {
    const gates = tf.split(tf.add(x, weights.hidden(before, 0, 4)), [size, size, size, size], -1);
    const input = f(clip(peep(gates[0], c, 0)));
    const forget = couples ? tf.sub(one, input) : f(clip(peep(gates[2], c, 2)));
    const cell = tf.add(tf.mul(forget, c), tf.mul(input, g(clip(gates[3]))));
    const output = f(clip(peep(gates[1], cell, 1)));
    return [tf.mul(output, h(cell)), cell];
  };
  return { step, bias: sum(weights.biases), parts: [4] };
}

function gruCell({ n, index, size, weights }: Direction): ReturnType<Cell> {
  const [f, g] = recurrentActivations(n, index, ["Sigmoid", "Tanh"]), clip = clipped(n);
  const resetsProduct = n.attributes.flag("linear_before_reset"), one = like(n.x(0), 1);
  const { biases } = weights, own = biases && tf.slice(biases[1], [2 * size], [size]);
  const step: Step = ([xzr, xn], [h]) => {
    const sums = tf.add(xzr, weights.hidden(h, 0, 2));
    const [z, r] = tf.split(f(clip(sums)), [size, size], -1);
    let next: Tensor;
    if (resetsProduct) {
      const hn = weights.hidden(h, 2, 3);
      next = tf.add(xn, tf.mul(r, own === null ? hn : tf.add(hn, own)));
    } else next = tf.add(xn, weights.hidden(tf.mul(r, h), 2, 3));
    return [tf.add(tf.mul(tf.sub(one, z), g(clip(next))), tf.mul(z, h))];
  };
  const parts = [2, 1];
  if (biases === null || !resetsProduct) return { step, bias: sum(biases), parts };
  // The hidden state's bias of the last gate is within the reset.
  const rest = tf.pad(tf.slice(biases[1], [0], [2 * size]), [[0, size]]);
  return { step, bias: tf.add(biases[0], rest), parts };
}

function rnnCell({ n, index, weights }: Direction): ReturnType<Cell> {
  const [f] = recurrentActivations(n, index, ["Tanh"]), clip = clipped(n);
  return {
    step: ([x], [h]) => [f(clip(tf.add(x, weights.hidden(h, 0, 1))))],
    bias: sum(weights.biases),
    parts: [1],
  };
}

/** Replaces states, and zeros outputs, of the rows that ended before this step. */
function masked(step: Step, lengths: Tensor | null) {
  return (
    x: readonly Tensor[],
    t: Tensor | number,
    states: readonly Tensor[],
  ): { readonly y: Tensor; readonly states: Tensor[] } => {
    const next = step(x, states);
    if (lengths === null) return { y: next[0], states: next };
    const goesOn = tf.expandDims(
      tf.less(typeof t === "number" ? tf.scalar(t, "int32") : t, lengths),
      1,
    );
    return {
      y: tf.where(goesOn, next[0], tf.zerosLike(next[0])),
      states: next.map((s, i) => tf.where(goesOn, s, states[i])),
    };
  };
}

/** Splits the last axis, if it has several parts. */
function partsOf(x: Tensor, sizes: readonly number[]): Tensor[] {
  return sizes.length === 1 ? [x] : tf.split(x, [...sizes], -1);
}

/** Runs a cell over the steps of `[steps, batch, gates]`. Returns the hidden states of all, and the last states. */
function over(
  x: Tensor,
  start: readonly Tensor[],
  { step, sizes }: { readonly step: ReturnType<typeof masked>; readonly sizes: readonly number[] },
): { readonly ys: Tensor; readonly states: readonly Tensor[] } {
  const count = x.staticShape![0];
  if (count !== null && count > 0 && (count <= MOST_UNROLLED || !x.isSymbolic)) {
    const ys: Tensor[] = [];
    let states = start;
    const rows = partsOf(x, sizes).map((part) => tf.unstack(part, 0));
    for (let t = 0; t < count; t++) {
      const next = step(rows.map((list) => list[t]), t, states);
      ys.push(next.y);
      states = next.states;
    }
    return { ys: tf.stack(ys, 0), states };
  }
  const steps = count ?? tf.reshape(tf.slice(tf.shape(x), [0], [1]), []);
  const { dtype } = x, shape = start[0].staticShape;
  const rows = new tf.TensorArray(dtype, steps, { elementShape: x.staticShape!.slice(1) })
    .unstack(x);
  const made = new tf.TensorArray(dtype, steps, { elementShape: shape });
  const out = tf.whileLoop(
    (...vars: readonly unknown[]) => tf.less(vars[0] as Tensor, steps),
    (...vars: readonly unknown[]) => {
      const [t, ys, ...states] = vars as [Tensor, tf.TensorArray, ...Tensor[]];
      const next = step(partsOf(rows.read(t), sizes), t, states);
      return [tf.add(t, 1), ys.write(t, next.y), ...next.states];
    },
    [tf.scalar(0, "int32"), made, ...start],
    { shapeInvariants: [[], undefined, ...start.map((s) => s.staticShape)] as never },
  ) as readonly unknown[];
  return { ys: (out[1] as tf.TensorArray).stack(), states: out.slice(2) as Tensor[] };
}

/** Returns a shape of extents that may be known only at run time: those of the first axes of a tensor. */
function sizesOf(x: Tensor, from: number, to: number, last: number): Tensor {
  const shape = x.staticShape!.slice(from, to);
  const known = tf.tensor1d([last], "int32");
  if (shape.every((d) => d !== null)) return tf.tensor1d([...shape as number[], last], "int32");
  return tf.concat([tf.slice(tf.shape(x), [from], [to - from]), known]);
}

/** Reverses the steps of each sequence, which may be shorter than the tensor. */
function reversed(x: Tensor, lengths: Tensor | null): Tensor {
  if (lengths === null) return tf.reverse(x, 0);
  const steps = x.staticShape![0] ?? tf.reshape(tf.slice(tf.shape(x), [0], [1]), []);
  const at = tf.expandDims(tf.range(0, steps, 1, "int32"), 0), ends = tf.expandDims(lengths, 1);
  const turned = tf.where(tf.less(at, ends), tf.sub(tf.sub(ends, 1), at), at);
  return tf.transpose(tf.gather(tf.transpose(x, [1, 0, 2]), turned, 1, 1), [1, 0, 2]);
}

/** Returns the lengths of the sequences; null where all are as long as the tensor. */
function lengthsOf(n: NodeCall, steps: number | null): Tensor | null {
  if (!n.has(4)) return null;
  const known = n.ints(4);
  return known !== undefined && steps !== null && known.every((d) => d === steps)
    ? null
    : n.index(4);
}

/** Makes the rule of a kind of network. */
function recurrent({ gates, states, cell, weights }: Kind): Rule {
  return (n) => {
    const { attributes } = n, isBatchFirst = attributes.flag("layout");
    const direction = attributes.text("direction", "forward");
    const x = isBatchFirst ? tf.transpose(n.x(0), [1, 0, 2]) : n.x(0);
    const inputs = n.dims(1).at(weights === levelWeights ? 1 : 2);
    const size = attributes.int("hidden_size", n.dims(2)[1] ?? 0);
    const lengths = lengthsOf(n, x.staticShape![0]);
    const flat = tf.reshape(x, [-1, inputs ?? n.needs("the shape of input 1")]);
    const count = direction === "bidirectional" ? 2 : 1;
    const outputs: Tensor[] = [], last: Tensor[][] = [];
    for (let index = 0; index < count; index++) {
      const isBack = direction === "reverse" || index === 1;
      const own = weights(n, index, size, gates);
      const { step, bias, parts } = cell({ n, index, size, weights: own });
      const product = own.input(flat);
      const shape = x.staticShape!.slice(0, 2), width = gates * size;
      const wide = tf.reshape(
        bias === null ? product : tf.add(product, bias),
        shape.includes(null) ? sizesOf(x, 0, 2, width) : [...shape as number[], width],
      );
      const start = Array.from({ length: states }, (_, k) => {
        if (!n.has(5 + k)) return tf.fill(sizesOf(x, 1, 2, size), 0, x.dtype);
        return tf.gather(n.x(5 + k), index, isBatchFirst ? 1 : 0);
      });
      const ran = over(isBack ? reversed(wide, lengths) : wide, start, {
        step: masked(step, lengths),
        sizes: parts.map((gates) => gates * size),
      });
      if (n.wants(0)) outputs.push(isBack ? reversed(ran.ys, lengths) : ran.ys);
      ran.states.forEach((state, k) => (last[k] ??= []).push(state));
    }
    const y = !n.wants(0)
      ? null
      : isBatchFirst
      ? tf.transpose(tf.stack(outputs, 2), [1, 0, 2, 3])
      : tf.stack(outputs, 1);
    return [y, ...last.map((parts) => tf.stack(parts, isBatchFirst ? 1 : 0))];
  };
}

const LSTM: Kind = { gates: 4, states: 2, cell: lstmCell, weights: plainWeights };

export const RECURRENT: readonly OpEntry[] = [
  op("DynamicQuantizeLSTM", 1, recurrent({ ...LSTM, weights: levelWeights }), {
    domain: "com.microsoft",
  }),
  op("GRU", 1, recurrent({ gates: 3, states: 1, cell: gruCell, weights: plainWeights })),
  op("LSTM", 1, recurrent(LSTM)),
  op("RNN", 1, recurrent({ gates: 1, states: 1, cell: rnnCell, weights: plainWeights })),
];
