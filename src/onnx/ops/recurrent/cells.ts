/** Cells of recurrent networks: their steps, by ordinary ops, and runs of them over sequences. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { like } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Maximum steps of a graph that are unrolled. */
const MOST_UNROLLED = 16;

/** A cell of one direction: the next states from the input's parts of its gates, and the states before. */
export type Step = (parts: readonly Tensor[], states: readonly Tensor[]) => Tensor[];

/** A cell: its step, and the numbers of gates that are in one part of the inputs. */
export interface Cell {
  readonly step: Step;
  readonly parts: readonly number[];
}

/** A direction's cell. */
export interface CellInit {
  /** Number of units. */
  readonly size: number;
  /** Multiplies a hidden state by the rows of gates `from` to `to`. */
  readonly hidden: (h: Tensor, from: number, to: number) => Tensor;
  readonly activations: readonly ((x: Tensor) => Tensor)[];
  /** Limits what an activation is applied to. */
  readonly clip: (x: Tensor) => Tensor;
}

export function lstmCell(
  { size, hidden, activations: [f, g, h], clip }: CellInit,
  { peeps, couples }: {
    /** Weights of the cell's state, for the gates i, o and f. */
    readonly peeps: readonly Tensor[] | null;
    /** True: the forget gate is 1 less the input gate. */
    readonly couples: boolean;
  } = { peeps: null, couples: false },
): Cell {
  const peep = (x: Tensor, c: Tensor, i: number): Tensor =>
    peeps === null ? x : tf.add(x, tf.mul(peeps[i], c));
  const step: Step = ([x], [before, c]) => {
    const gates = tf.split(tf.add(x, hidden(before, 0, 4)), [size, size, size, size], -1);
    const input = f(clip(peep(gates[0], c, 0)));
    const forget = couples ? tf.sub(like(x, 1), input) : f(clip(peep(gates[2], c, 2)));
    const cell = tf.add(tf.mul(forget, c), tf.mul(input, g(clip(gates[3]))));
    const output = f(clip(peep(gates[1], cell, 1)));
    return [tf.mul(output, h(cell)), cell];
  };
  return { step, parts: [4] };
}

/** `own`: the hidden state's bias of the last gate, where the reset comes after the product; null for none. */
export function gruCell(
  { size, hidden, activations: [f, g], clip }: CellInit,
  { resetsProduct, own }: { readonly resetsProduct: boolean; readonly own: Tensor | null },
): Cell {
  const step: Step = ([xzr, xn], [h]) => {
    const sums = tf.add(xzr, hidden(h, 0, 2));
    const [z, r] = tf.split(f(clip(sums)), [size, size], -1);
    let next: Tensor;
    if (resetsProduct) {
      const hn = hidden(h, 2, 3);
      next = tf.add(xn, tf.mul(r, own === null ? hn : tf.add(hn, own)));
    } else next = tf.add(xn, hidden(tf.mul(r, h), 2, 3));
    return [tf.add(tf.mul(tf.sub(like(h, 1), z), g(clip(next))), tf.mul(z, h))];
  };
  return { step, parts: [2, 1] };
}

export function rnnCell({ hidden, activations: [f], clip }: CellInit): Cell {
  return { step: ([x], [h]) => [f(clip(tf.add(x, hidden(h, 0, 1))))], parts: [1] };
}

/** Makes products of hidden states with the rows of gates of `[gates · size, size]`, which are sliced here. */
export function hiddenProducts(
  weights: Tensor,
  size: number,
  gates: number,
): CellInit["hidden"] {
  const slice = (from: number, to: number): Tensor =>
    tf.slice(weights, [from * size, 0], [(to - from) * size, -1]);
  const rows = gates === 3 ? [slice(0, 2), slice(2, 3)] : [weights];
  return (h, from) => tf.matMul(h, rows[from === 0 ? 0 : 1], false, true);
}

/** Replaces states, and zeros outputs, of the rows that ended before this step. */
export function masked(step: Step, lengths: Tensor | null) {
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
export function over(
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
