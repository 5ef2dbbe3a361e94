/** Recurrent networks: LSTM, GRU and RNN, in one or both directions. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import type { RecurrentCell } from "../../../engine/core/meaning.ts";
import {
  type Cell,
  type CellInit,
  gruCell,
  hiddenProducts,
  lstmCell,
  masked,
  over,
  rnnCell,
} from "./cells.ts";
import { isFused, recurrence } from "./recurrence.ts";
import { centred, quantiseByRange } from "../quantised/linear.ts";
import { recurrentActivations } from "./activations.ts";
import { ensureShape } from "../../../engine/ops/graph_ops.ts";
import * as tf from "../../build/tf.ts";

/** Products with the weights of a direction. */
interface Weights {
  /** Multiplies the inputs of all steps, `[rows, inputs]`. */
  input(x: Tensor): Tensor;
  /** Multiplies a hidden state by the rows of gates `from` to `to`. */
  hidden(h: Tensor, from: number, to: number): Tensor;
  /** The weights of a hidden state, `[gates · units, units]`; absent for levels. */
  readonly rows?: Tensor;
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

/** Makes a direction's cell, what is added to the inputs of all steps, and to the product within a reset. */
type CellOf = (direction: Direction) => Cell & {
  readonly bias: Tensor | null;
  readonly own?: Tensor | null;
};

/** A kind of network. */
interface Kind {
  readonly gates: number;
  readonly states: number;
  readonly cell: CellOf;
  /** The cell that one op computes over all steps, if the node's attributes ask for nothing else; null for none. */
  readonly whole: (n: NodeCall) => RecurrentCell | null;
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
  return {
    input: (x) => tf.matMul(x, w, false, true),
    hidden: hiddenProducts(r, size, gates),
    rows: r,
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

function cellInit(
  { n, index, size, weights }: Direction,
  defaults: readonly string[],
): CellInit {
  const activations = recurrentActivations(n, index, defaults);
  return { size, hidden: weights.hidden, activations, clip: clipped(n) };
}

function lstm(direction: Direction): ReturnType<CellOf> {
  const { n, index, weights } = direction, couples = n.attributes.flag("input_forget");
  const peeps = n.has(7) ? tf.split(part(n, 7, index), 3, 0) : null;
  const init = cellInit(direction, ["Sigmoid", "Tanh", "Tanh"]);
  return { ...lstmCell(init, { peeps, couples }), bias: sum(weights.biases) };
}

function gru(direction: Direction): ReturnType<CellOf> {
  const { n, size, weights: { biases } } = direction;
  const resetsProduct = n.attributes.flag("linear_before_reset");
  const own = resetsProduct && biases ? tf.slice(biases[1], [2 * size], [size]) : null;
  const cell = gruCell(cellInit(direction, ["Sigmoid", "Tanh"]), { resetsProduct, own });
  if (biases === null || !resetsProduct) return { ...cell, own, bias: sum(biases) };
  // The hidden state's bias of the last gate is within the reset.
  const rest = tf.pad(tf.slice(biases[1], [0], [2 * size]), [[0, size]]);
  return { ...cell, own, bias: tf.add(biases[0], rest) };
}

function rnn(direction: Direction): ReturnType<CellOf> {
  return { ...rnnCell(cellInit(direction, ["Tanh"])), bias: sum(direction.weights.biases) };
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
function recurrent({ gates, states, cell, weights, whole }: Kind): Rule {
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
      const { step, bias, parts, own: within = null } = cell({ n, index, size, weights: own });
      const product = own.input(flat);
      const shape = x.staticShape!.slice(0, 2), width = gates * size;
      const summed = bias === null ? product : tf.add(product, bias);
      const wide = shape.includes(null)
        ? ensureShape(tf.reshape(summed, sizesOf(x, 0, 2, width)), [...shape, width])
        : tf.reshape(summed, [...shape as number[], width]);
      const start = Array.from({ length: states }, (_, k) => {
        if (!n.has(5 + k)) return tf.fill(sizesOf(x, 1, 2, size), 0, x.dtype);
        return tf.gather(n.x(5 + k), index, isBatchFirst ? 1 : 0);
      });
      const known = lengths === null && own.rows !== undefined && isFused(x.dtype, width)
        ? whole(n)
        : null;
      const ran = known !== null
        ? recurrence(wide, { cell: known, weights: own.rows!, start, own: within, isBack })
        : over(isBack ? reversed(wide, lengths) : wide, start, {
          step: masked(step, lengths),
          sizes: parts.map((gates) => gates * size),
        });
      const turned = isBack && known === null;
      if (n.wants(0)) outputs.push(turned ? reversed(ran.ys, lengths) : ran.ys);
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

/** True where a node has no limit of sums, and these activations or none. */
function isPlain(n: NodeCall, activations: readonly string[]): boolean {
  const { attributes } = n, given = attributes.texts("activations") ?? [];
  return !(attributes.float("clip", 0) > 0) &&
    given.every((name, i) => name.toLowerCase() === activations[i % activations.length]);
}

/** The activation of all directions of a plain network, where it is one that an op knows. */
function plainActivation(n: NodeCall): RecurrentCell | null {
  const name = n.attributes.texts("activations")?.[0]?.toLowerCase() ?? "tanh";
  const isKnown = name === "tanh" || name === "relu" || name === "sigmoid";
  return isKnown && isPlain(n, [name]) ? name : null;
}

const LSTM: Kind = {
  gates: 4,
  states: 2,
  cell: lstm,
  weights: plainWeights,
  whole: (n) => {
    const isUsual = !n.has(7) && !n.attributes.flag("input_forget");
    return isUsual && isPlain(n, ["sigmoid", "tanh", "tanh"]) ? "lstm" : null;
  },
};
const GRU: Kind = {
  gates: 3,
  states: 1,
  cell: gru,
  weights: plainWeights,
  whole: (n) => {
    if (!isPlain(n, ["sigmoid", "tanh"])) return null;
    return n.attributes.flag("linear_before_reset") ? "gru after" : "gru";
  },
};
const RNN: Kind = {
  gates: 1,
  states: 1,
  cell: rnn,
  weights: plainWeights,
  whole: plainActivation,
};

export const RECURRENT: readonly OpEntry[] = [
  op("DynamicQuantizeLSTM", 1, recurrent({ ...LSTM, weights: levelWeights }), {
    domain: "com.microsoft",
  }),
  op("GRU", 1, recurrent(GRU)),
  op("LSTM", 1, recurrent(LSTM)),
  op("RNN", 1, recurrent(RNN)),
];
