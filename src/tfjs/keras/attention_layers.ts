/** Attentions of Keras: of several heads, of grouped queries, of whole vectors, and additive ones. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { isObject, type Json, type JsonObject } from "../layers/keras_json.ts";
import {
  type CallOf,
  type Extents,
  type Kind,
  last,
  numbers,
  type Settings,
  shapeOf,
  template,
  type Weight,
} from "./layer_kinds.ts";
import { dropped } from "./augment/seeded.ts";

/** The inputs of an attention, by their meaning. */
function rolesOf(config: Settings): Map<string, number> {
  const { args, kwargs } = template(config) as { args: Json[]; kwargs: JsonObject };
  const names = ["query", "value", "key", "querymask", "valuemask", "keymask", "attentionmask"];
  const found = new Map<string, number>();
  const note = (name: string, value: Json) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    if (typeof value.tensor === "number") found.set(name, value.tensor);
  };
  args.forEach((value, i) => note(names[i], value));
  for (const [name, value] of Object.entries(kwargs)) note(name, value);
  if (found.size === 0) ["query", "value"].forEach((name, i) => found.set(name, i));
  return found;
}

function attentionWeights(config: Settings, shapes: readonly Extents[]): Weight[] {
  const roles = rolesOf(config), heads = Number(config.numHeads), dim = Number(config.keyDim);
  const values = Number(config.valueDim ?? dim);
  const query = shapes[roles.get("query")!], value = shapes[roles.get("value")!];
  const key = shapes[roles.get("key") ?? roles.get("value")!];
  if (query.length !== 3 || config.attentionAxes && String(config.attentionAxes) !== "1") {
    throw new UnimplementedError(
      `Cannot make layer ${config.name}: attention over more than one axis is not supported`,
    );
  }
  const out = config.outputShape === null || config.outputShape === undefined
    ? [last(query)]
    : numbers(config.outputShape);
  const parts: [string, number[], number[]][] = [
    ["query", [last(query), heads, dim], [heads, dim]],
    ["key", [last(key), heads, dim], [heads, dim]],
    ["value", [last(value), heads, values], [heads, values]],
    ["attention_output", [heads, values, ...out], out],
  ];
  return parts.flatMap(([name, kernel, bias]): Weight[] => [
    { name: `${name}/kernel`, shape: kernel },
    ...(config.useBias === false ? [] : [{ name: `${name}/bias`, shape: bias, start: 0 as const }]),
  ]);
}

/** The pairs of queries and keys that are seen, `[batch, 1, queries, keys]`; null where all are. `pair` has the shape `[1, 1, queries, keys]`. */
function seenBy(
  { inputs, config, mask }: Pick<CallOf, "inputs" | "config" | "mask">,
  pair: tf.Tensor,
): tf.Tensor | null {
  const roles = rolesOf(config), { kwargs = {} } = template(config) as { kwargs?: JsonObject };
  const given = (name: string): tf.Tensor | null => inputs[roles.get(name)!] ?? null;
  const masks: tf.Tensor[] = [], isOwn = given("query") === given("value");
  const queries = given("querymask") ?? mask, values = given("valuemask") ?? (isOwn ? mask : null);
  if (queries) masks.push(tf.expandDims(tf.expandDims(queries, 1), 3));
  for (const steps of [values, given("keymask")]) {
    if (steps) masks.push(tf.expandDims(tf.expandDims(steps, 1), 1));
  }
  const wanted = given("attentionmask");
  if (wanted) masks.push(shapeOf(wanted).length === 3 ? tf.expandDims(wanted, 1) : wanted);
  const ones = (): tf.Tensor => tf.onesLike(pair);
  if (kwargs.usecausalmask === true) {
    masks.push(tf.greaterEqual(tf.cumsum(ones(), 2), tf.cumsum(ones(), 3)));
  }
  if (typeof config.slidingWindow === "number") {
    const apart = tf.abs(tf.sub(tf.cumsum(ones(), 2), tf.cumsum(ones(), 3)));
    masks.push(tf.less(apart, config.slidingWindow));
  }
  return masks.map((m) => tf.cast(m, "bool")).reduce<tf.Tensor | null>(
    (all, m) => all ? tf.logicalAnd(all, m) : m,
    null,
  );
}

function attention({ inputs, weights, config, training, mask }: CallOf): tf.Tensor {
  const roles = rolesOf(config), step = config.useBias === false ? 1 : 2;
  const given = (name: string): tf.Tensor | null => inputs[roles.get(name)!] ?? null;
  const project = (x: tf.Tensor, i: number): tf.Tensor => {
    const y = tf.einsum("btd,dhk->bthk", x, weights[i * step]);
    return step === 1 ? y : tf.add(y, weights[i * step + 1]);
  };
  const source = given("value")!;
  const query = tf.mul(project(given("query")!, 0), 1 / Math.sqrt(Number(config.keyDim)));
  const key = project(given("key") ?? source, 1), value = project(source, 2);
  let scores = tf.einsum("bthk,bshk->bhts", query, key);
  const seen = seenBy({ inputs, config, mask }, tf.slice(scores, [0, 0, 0, 0], [1, 1, -1, -1]));
  if (seen) scores = tf.where(seen, scores, tf.scalar(-1e9));
  let chances = tf.softmax(scores);
  // The softmax of a row that is masked whole is uniform; Keras makes it zeros where it has dropout.
  if (seen && Number(config.dropout) > 0) chances = tf.where(seen, chances, tf.scalar(0));
  if (training && Number(config.dropout) > 0) chances = dropped(chances, Number(config.dropout));
  const mixed = tf.einsum("bhts,bshk->bthk", chances, value);
  const y = tf.einsum("bthk,hkd->btd", mixed, weights[3 * step]);
  return step === 1 ? y : tf.add(y, weights[3 * step + 1]);
}

/** The inputs `[query, value, key]` of an attention of whole vectors, their masks, and whether it is causal. */
function listed(config: Settings): {
  readonly inputs: readonly number[];
  readonly masks: readonly (number | null)[];
  readonly isCausal: boolean;
} {
  const { args, kwargs } = template(config) as { args: Json[]; kwargs: JsonObject };
  const at = (value: Json): number | null =>
    isObject(value) && typeof value.tensor === "number" ? value.tensor : null;
  const list = (value: Json | undefined): (number | null)[] =>
    Array.isArray(value) ? value.map(at) : [];
  const inputs = list(args[0] ?? kwargs.inputs).filter((n) => n !== null);
  return {
    inputs: inputs.length === 0 ? [0, 1, 2] : inputs,
    masks: list(kwargs.masks),
    isCausal: kwargs.usecausalmask === true,
  };
}

/** Attends by scores of queries and keys, `[batch, queries, keys]`. */
function attending(
  score: (query: tf.Tensor, key: tf.Tensor, given: CallOf) => tf.Tensor,
): (given: CallOf) => tf.Tensor {
  return (given) => {
    const { inputs, config, training } = given,
      { inputs: places, masks, isCausal } = listed(config);
    const [query, value, key = value] = places.map((n) => inputs[n]).filter((x) => x !== undefined);
    const [queries, steps] = masks.map((n) => n === null ? null : tf.cast(inputs[n], "bool"));
    let scores = score(query, key, given), seen = steps ? tf.expandDims(steps, -2) : null;
    if (isCausal) {
      const ones = tf.onesLike(tf.slice(scores, [0, 0, 0], [1, -1, -1]));
      const past = tf.greaterEqual(tf.cumsum(ones, 1), tf.cumsum(ones, 2));
      seen = seen ? tf.logicalAnd(seen, past) : past;
    }
    if (seen) scores = tf.where(seen, scores, tf.sub(scores, 1e9));
    let chances = tf.softmax(scores);
    const rate = Number(config.dropout ?? 0);
    if (training && rate > 0) chances = dropped(chances, rate);
    const y = tf.matMul(chances, value);
    return queries ? tf.where(tf.expandDims(queries, -1), y, tf.scalar(0)) : y;
  };
}

/** Each query beside each key, `[batch, queries, keys, width]`. */
const beside = (query: tf.Tensor, key: tf.Tensor): tf.Tensor =>
  tf.add(tf.expandDims(query, -2), tf.expandDims(key, -3));

const vectors: Kind = {
  masks: true,
  weights: ({ useScale, scoreMode }) => [
    ...(useScale ? [{ name: "scale", shape: [], start: 1 as const }] : []),
    ...(scoreMode === "concat"
      ? [{ name: "concat_score_weight", shape: [], start: 1 as const }]
      : []),
  ],
  call: attending((query, key, { weights, config }) => {
    const scale = config.useScale ? weights[0] : 1;
    if (config.scoreMode !== "concat") {
      const scores = tf.matMul(query, key, false, true);
      return config.useScale ? tf.mul(scores, scale) : scores;
    }
    return tf.mul(weights.at(-1)!, tf.sum(tf.tanh(tf.mul(beside(query, key), scale)), -1));
  }),
};

const additive: Kind = {
  masks: true,
  weights: ({ useScale }, [query]) =>
    useScale === false ? [] : [{ name: "scale", shape: [last(query)] }],
  call: attending((query, key, { weights: [scale = 1] }) =>
    tf.sum(tf.mul(tf.tanh(beside(query, key)), scale), -1)
  ),
};

const groups = (config: Settings): [keys: number, queries: number, dim: number] => {
  const keys = Number(config.numKeyValueHeads);
  return [keys, Number(config.numQueryHeads) / keys, Number(config.headDim)];
};

function groupedWeights(config: Settings, shapes: readonly Extents[]): Weight[] {
  const roles = rolesOf(config), [keys, queries, dim] = groups(config), heads = keys * queries;
  const width = (name: string): number => last(shapes[roles.get(name) ?? roles.get("value")!]);
  const out = width("query");
  const parts: [string, number[], number[]][] = [
    ["query", [out, heads, dim], [heads, dim]],
    ["key", [width("key"), keys, dim], [keys, dim]],
    ...(config.useGate
      ? [["gate", [out, heads, dim], [heads, dim]] as [string, number[], number[]]]
      : []),
    ["value", [width("value"), keys, dim], [keys, dim]],
    ["attention_output", [heads, dim, out], [out]],
  ];
  return parts.flatMap(([name, kernel, bias]): Weight[] => [
    { name: `${name}/kernel`, shape: kernel },
    ...(config.useBias === false ? [] : [{ name: `${name}/bias`, shape: bias, start: 0 as const }]),
  ]);
}

/** Queries of a group share the keys and values of one head. */
function grouped({ inputs, weights, config, training, mask }: CallOf): tf.Tensor {
  const roles = rolesOf(config), [keys, queries, dim] = groups(config);
  const given = (name: string): tf.Tensor => inputs[roles.get(name) ?? roles.get("value")!];
  const left = [...weights], hasBias = config.useBias !== false;
  const project = (x: tf.Tensor, isGrouped: boolean): tf.Tensor => {
    const heads = isGrouped ? [keys, queries, dim] : [keys, dim];
    const kernel = tf.reshape(left.shift()!, [last(shapeOf(x)), ...heads]);
    const y = tf.einsum(isGrouped ? "btm,mvrh->btvrh" : "btm,mvh->btvh", x, kernel);
    return hasBias ? tf.add(y, tf.reshape(left.shift()!, heads)) : y;
  };
  const query = project(given("query"), true), key = project(given("key"), false);
  const gate = config.useGate ? tf.sigmoid(project(given("query"), true)) : null;
  const value = project(given("value"), false);
  let scores = tf.einsum("bqvrh,bkvh->bvrqk", tf.mul(query, 1 / Math.sqrt(dim)), key);
  const pair = tf.squeeze(tf.slice(scores, [0, 0, 0, 0, 0], [1, 1, 1, -1, -1]), [1]);
  const seen = seenBy({ inputs, config, mask }, pair);
  if (seen) scores = tf.where(tf.expandDims(seen, 1), scores, tf.scalar(-1e9));
  let chances = tf.softmax(scores);
  const rate = Number(config.dropout ?? 0);
  if (training && rate > 0) chances = dropped(chances, rate);
  const mixed = tf.einsum("bvrqk,bkvh->bqvrh", chances, value);
  const out = gate ? tf.mul(mixed, gate) : mixed, width = last(shapeOf(given("query")));
  const kernel = tf.reshape(left.shift()!, [keys, queries, dim, width]);
  const y = tf.einsum("bqvrh,vrhm->bqm", out, kernel);
  return hasBias ? tf.add(y, left.shift()!) : y;
}

/** Attentions by the names of Keras. */
export const ATTENTIONS: Readonly<Record<string, Kind>> = {
  MultiHeadAttention: { weights: attentionWeights, call: attention, masks: true },
  GroupQueryAttention: { weights: groupedWeights, call: grouped, masks: true },
  Attention: vectors,
  AdditiveAttention: additive,
};
