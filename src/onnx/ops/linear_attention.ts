/** Layers with a state in place of a cache: LinearAttention, CausalConvWithState. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { convolve, filterLast } from "./convolutions.ts";
import { extentOf, joinHeads, minus, reshaped, splitHeads, zerosOf } from "./heads.ts";
import { like, to, wide } from "./raw.ts";
import { vectorOf } from "./shapes.ts";
import * as tf from "../build/tf.ts";

/** Convolves each channel over its past and its input; the state is the end of both. */
function causalConv(n: NodeCall): RuleOutput[] {
  const { attributes } = n, x = n.x(0), [channels, , taps] = n.concrete(1);
  const dilation = attributes.int("dilation", 1), span = (taps - 1) * dilation;
  const past = n.has(3) ? n.x(3) : zerosOf([extentOf(x, 0), channels, span], x.dtype);
  const all = span === 0 ? x : tf.concat([past, x], 2);
  const sliding = { kernel: [taps], strides: [1], dilations: [dilation], pads: [[0, 0]] } as const;
  let y = convolve(
    wide(tf.transpose(all, [0, 2, 1])),
    filterLast(wide(n.x(1)), sliding.kernel.length),
    sliding,
    channels,
  );
  if (n.has(2)) y = tf.add(y, wide(n.x(2)));
  const name = attributes.text("activation", "none");
  if (name === "silu" || name === "swish") y = tf.mul(y, tf.sigmoid(y));
  else if (name !== "none" && name !== "") n.fail(`its activation is "${name}"`);
  const length = extentOf(x, 2);
  const from = typeof length === "number" ? [0, 0, length] : vectorOf([0, 0, null], () => length);
  return [Value.channelsLast(to(y, n.dtype(0))), tf.slice(all, from)];
}

/** Returns numbers for each head, time first: `[time, batch, heads, depth]`. */
function timeFirst(n: NodeCall, x: Tensor, heads: number): Tensor {
  return tf.transpose(wide(splitHeads(n, x, heads)), [2, 0, 1, 3]);
}

/** Attends by a matrix of state that each step decays, corrects and adds to. */
function linearAttention(n: NodeCall): Tensor[] {
  const { attributes } = n, rule = attributes.text("update_rule", "gated_delta");
  if (!["linear", "gated", "delta", "gated_delta"].includes(rule)) {
    n.fail(`update_rule is "${rule}", wanted linear, gated, delta or gated_delta`);
  }
  const isGated = rule.startsWith("gated"), isDelta = rule.endsWith("delta");
  const heads = attributes.int("q_num_heads", 0), shared = attributes.int("kv_num_heads", 0);
  if (!(shared > 0) || heads % shared !== 0) {
    n.fail(`${heads} heads cannot share ${shared} heads of keys`);
  }
  const q = timeFirst(n, n.x(0), heads);
  const k = timeFirst(n, n.x(1), shared), v = timeFirst(n, n.x(2), shared);
  const width = q.staticShape![3]!, depth = v.staticShape![3]!;
  const batch = extentOf(q, 1), time = q.staticShape![0];
  const steps = [
    k,
    v,
    // A group's queries are the rows of one matrix.
    reshaped(q, [extentOf(q, 0), batch, shared, heads / shared, width]),
    ...isGated ? [timeFirst(n, n.x(4), shared)] : [],
    ...isDelta ? [timeFirst(n, n.x(5), n.dims(5)[2] === 1 ? 1 : shared)] : [],
  ];
  const state = n.has(3) ? wide(n.x(3)) : zerosOf([batch, shared, width, depth], k.dtype);
  const step = (state: Tensor, [key, value, query, ...more]: readonly Tensor[]) => {
    const decayed = isGated ? tf.mul(state, tf.expandDims(tf.exp(more[0]), -1)) : state;
    const row = tf.expandDims(key, -2);
    let fresh = tf.expandDims(value, -2);
    if (isDelta) {
      const error = tf.sub(fresh, tf.matMul(row, decayed));
      fresh = tf.mul(tf.expandDims(more.at(-1)!, -2), error);
    }
    const next = tf.add(decayed, tf.mul(tf.expandDims(key, -1), fresh));
    return { state: next, y: tf.matMul(query, next) };
  };
  const { last, ys } = time !== null && time <= MOST_UNROLLED
    ? unrolled(step, state, steps, time)
    : scanned(step, state, steps);
  const scale = attributes.float("scale", 0) || 1 / Math.sqrt(width);
  const y = tf.transpose(
    reshaped(ys, [extentOf(q, 0), batch, heads, depth]),
    [1, 2, 0, 3],
  );
  const out = to(tf.mul(y, like(y, scale)), n.dtype(0));
  return [joinHeads(n, out), to(last, n.has(3) ? n.dtype(3) : n.dtype(0))];
}

/** Steps that are built one by one; more of them are a loop. */
const MOST_UNROLLED = 8;

type Step = (state: Tensor, parts: readonly Tensor[]) => { state: Tensor; y: Tensor };

interface Run {
  /** The state behind the last step. */
  readonly last: Tensor;
  /** Results of the steps, stacked. */
  readonly ys: Tensor;
}

function unrolled(step: Step, state: Tensor, parts: readonly Tensor[], time: number): Run {
  const rows = parts.map((x) => tf.unstack(x)), ys: Tensor[] = [];
  let last = state;
  for (let t = 0; t < time; t++) {
    const made = step(last, rows.map((row) => row[t]));
    last = made.state;
    ys.push(made.y);
  }
  return { last, ys: tf.stack(ys) };
}

function scanned(step: Step, state: Tensor, parts: readonly Tensor[]): Run {
  const first = tf.zerosLike(step(state, parts.map((x) => tf.gather(x, 0))).y);
  const made = tf.scan(
    ([last]: Tensor[], rows: Tensor[]) => {
      const { state, y } = step(last, rows);
      return [state, y];
    },
    [...parts],
    { initializer: [state, first] },
  );
  return { last: tf.gather(made[0], minus(extentOf(made[0], 0), 1)), ys: made[1] };
}

/** Layers with a state. */
export const LINEAR_ATTENTION: readonly OpEntry[] = [
  op("CausalConvWithState", 27, causalConv),
  op("CausalConvWithState", 1, causalConv, { domain: "com.microsoft" }),
  op("LinearAttention", 27, linearAttention),
];
