/** Texts of decoders: token after token, with caches of keys and values that grow by doubling. */
import * as tf from "../../mod.ts";
import type { Tensor } from "../../mod.ts";
import { optionCheck, wantList, wantSignal, wrongArgument } from "../engine/core/arguments.ts";
import { ValueError } from "../engine/core/errors.ts";
import { editsOf, OnnxModel, type OnnxValue } from "./model.ts";
import { sampled, type Sampling } from "./sample.ts";

/** Options of {@linkcode generate}. */
export interface GenerateOptions {
  /** Most tokens. Default 128. */
  readonly maxTokens?: number;
  /** Divisor of the logits before a token is drawn; 0 takes the most likely one. Default 0. */
  readonly temperature?: number;
  /** Draw from so many of the most likely tokens. Default: from all. */
  readonly topK?: number;
  /** Draw from the most likely tokens that together have this probability. Default 1. */
  readonly topP?: number;
  /** Seed of the draws, an integer. Default: another one at each call. */
  readonly seed?: number;
  /** Tokens that end the text; they are not given. */
  readonly stop?: number | readonly number[];
  /** Places that caches of keys and values have at first; they double when these are full. Default 64. */
  readonly capacity?: number;
  /** Ends the text with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Most compiled ways to draw that a model keeps. */
const MOST_DECODERS = 4;

const checkOptions = optionCheck<GenerateOptions>("generate", {
  maxTokens: true,
  temperature: true,
  topK: true,
  topP: true,
  seed: true,
  stop: true,
  capacity: true,
  signal: true,
});

/**
 * Continues a text: gives token after token, as soon as each is known, by a decoder with caches of keys and values as Optimum and
 * transformers.js export it. Its inputs are `input_ids`, `attention_mask`, perhaps `position_ids`, and `past_key_values.*`
 * `[1, heads, places, depth]`; its outputs are `logits` and `present.*`. Tokens are drawn on the device, and one number is read for each.
 * Caches have room in front of what they hold, which the mask hides, so that a model is compiled for a few lengths only: places must
 * come from `position_ids` or `attention_mask`. Throws `TypeError` or `ValueError` for a prompt or options that do not fit, and
 * `ValueError` for a model without these inputs and outputs. Holtzman et al., "The curious case of neural text degeneration", for `topP`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeOnnx, generate, loadOnnx } from "@weft/weft/onnx";
 * // A decoder that counts: behind each token comes the next number.
 * const counter = tf.function((ids: tf.Tensor, mask: tf.Tensor, past: tf.Tensor) => ({
 *   logits: tf.mul(tf.oneHot(tf.add(ids, 1), 10), tf.cast(tf.max(mask), "float32")),
 *   "present.0.key": tf.concat([past, tf.reshape(tf.cast(ids, "float32"), [1, 1, -1, 1])], 2),
 * }), {
 *   inputSignature: [
 *     new tf.TensorSpec([1, null], "int32", "input_ids"),
 *     new tf.TensorSpec([1, null], "int32", "attention_mask"),
 *     new tf.TensorSpec([1, 1, null, 1], "float32", "past_key_values.0.key"),
 *   ],
 * });
 * const model = await loadOnnx(encodeOnnx(counter)), tokens: number[] = [];
 * for await (const token of generate(model, [3], { stop: 7 })) tokens.push(token);
 * console.log(tokens); // [4, 5, 6]
 * ```
 */
export function generate(
  model: OnnxModel,
  prompt: readonly number[],
  options: GenerateOptions = {},
): AsyncGenerator<number, void, void> {
  checkOptions(options);
  if (!(model instanceof OnnxModel)) {
    throw wrongArgument(model, "model", "generate", "a model of loadOnnx()");
  }
  wantList(prompt, "prompt", "generate", "tokens");
  if (prompt.length === 0 || !prompt.every(isToken)) {
    throw new ValueError(
      `Cannot generate: prompt must be tokens, integers from 0 on and at least one, received [${prompt}]`,
    );
  }
  const whole = (
    name: "maxTokens" | "topK" | "capacity" | "seed",
    least: number,
    value?: number,
  ): void => {
    if (value === undefined || Number.isInteger(value) && value >= least) return;
    throw new ValueError(
      `Cannot generate: ${name} must be an integer from ${least} on, received ${value}`,
    );
  };
  const { maxTokens = 128, temperature = 0, topK, topP = 1, stop = [], capacity = 64, signal } =
    options;
  whole("maxTokens", 0, maxTokens);
  whole("topK", 1, topK);
  whole("capacity", 1, capacity);
  whole("seed", 0, options.seed);
  if (!(temperature >= 0 && temperature < Infinity)) {
    throw new ValueError(
      `Cannot generate: temperature must be a number from 0 on, received ${temperature}`,
    );
  }
  if (!(topP > 0 && topP <= 1)) {
    throw new ValueError(`Cannot generate: topP must be above 0 and at most 1, received ${topP}`);
  }
  wantSignal(signal, "signal", "generate");
  const stops: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (!stops.every(Number.isInteger)) {
    throw new ValueError(
      `Cannot generate: stop must be an integer or a list of integers, received ${stop}`,
    );
  }
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const decoder = decoderOf(model, { temperature, topK: topK ?? null, topP });
  const ends = new Set(stops);
  return tokensOf(decoder, [...prompt], { maxTokens, seed, ends, capacity, signal });
}

/** Most that an int32 holds. */
const MOST = 2 ** 31 - 1;

function isToken(t: unknown): boolean {
  return Number.isInteger(t) && t as number >= 0 && t as number <= MOST;
}

/** Two numbers of 32 bits for the draw of a token; those of seeds below 2^31 are the seed and the token's number. */
function keyOf(seed: number, made: number): number[] {
  const above = Math.floor(seed / 2 ** 32);
  return [seed | 0, made + Math.imul(above, 0x9e3779b1) | 0];
}

interface Plan {
  readonly maxTokens: number;
  readonly seed: number;
  readonly ends: ReadonlySet<unknown>;
  readonly capacity: number;
  readonly signal: AbortSignal | undefined;
}

async function* tokensOf(
  decoder: Decoder,
  prompt: readonly number[],
  { maxTokens, seed, ends, capacity, signal }: Plan,
): AsyncGenerator<number, void, void> {
  let held: Tensor[] = [];
  const replace = (next: Tensor[]): void => {
    for (const t of held) t.dispose();
    // A scope may end between two tokens.
    held = next.map((t) => tf.keep(t));
  };
  try {
    let count = prompt.length, room = capacity;
    for (let made = 0; made < maxTokens; made++) {
      signal?.throwIfAborted();
      const key = tf.tensor(keyOf(seed, made), [2], "int32");
      try {
        if (made === 0) {
          while (room < count) room *= 2;
          using ids = tf.tensor([...prompt], [1, count], "int32");
          replace(decoder.begin(ids, key, room));
        } else {
          if (count === room) {
            const [token, ...caches] = held;
            replace([token.clone(), ...decoder.widened(caches, room)]);
            room *= 2;
          }
          using before = tf.tensor(count, [], "int32");
          replace(decoder.next(held, before, key));
          count++;
        }
      } finally {
        key.dispose();
      }
      const [token] = await held[0].data() as Int32Array;
      signal?.throwIfAborted();
      if (ends.has(token)) return;
      yield token;
    }
  } finally {
    replace([]);
  }
}

/** Decoders of models by their way to draw, as long as the models are not edited. */
const decoders = new WeakMap<OnnxModel, Map<string, Decoder>>();

function decoderOf(model: OnnxModel, sampling: Sampling): Decoder {
  const { temperature, topK, topP } = sampling,
    key = [temperature, topK, topP, editsOf(model).changes].join();
  let known = decoders.get(model);
  if (known === undefined) decoders.set(model, known = new Map());
  let decoder = known.get(key);
  if (decoder === undefined) {
    if (known.size >= MOST_DECODERS) known.delete(known.keys().next().value!);
    known.set(key, decoder = new Decoder(model, sampling));
  }
  return decoder;
}

/** A model with caches, and its compiled steps. */
class Decoder {
  readonly #model: OnnxModel;
  readonly #sampling: Sampling;
  readonly #inputs: ReadonlyMap<string, OnnxValue>;
  readonly #past: readonly OnnxValue[];
  readonly #begin: (ids: Tensor, key: Tensor, room: Tensor) => Tensor[];
  readonly #next: (...all: Tensor[]) => Tensor[];

  constructor(model: OnnxModel, sampling: Sampling) {
    this.#model = model;
    this.#sampling = sampling;
    this.#inputs = new Map(model.inputs.map((v) => [v.name, v]));
    this.#past = model.inputs.filter(({ name }) => name.startsWith("past"));
    const outputs = new Set(model.outputs.map(({ name }) => name));
    const missing = [
      ...["input_ids", "attention_mask"].filter((name) => !this.#inputs.has(name)).map((n) =>
        `input "${n}"`
      ),
      ...(this.#past.length === 0 ? ['inputs "past_key_values.…"'] : []),
      ...["logits", ...this.#past.map(presentOf)].filter((n) => !outputs.has(n)).map((n) =>
        `output "${n}"`
      ),
    ];
    const known = new Set([
      "input_ids",
      "attention_mask",
      "position_ids",
      ...this.#past.map(({ name }) => name),
    ]);
    const other = model.inputs.filter(({ name }) => !known.has(name)).map(({ name }) =>
      `"${name}"`
    );
    if (missing.length > 0 || other.length > 0) {
      const what = missing.length > 0
        ? `has no ${missing.join(", no ")}`
        : `has the input ${other.join(", ")}`;
      throw new ValueError(`Cannot generate: the model ${what}`);
    }
    for (const { name, shape } of this.#past) {
      if (shape?.length === 4 && shape[1] !== null && shape[3] !== null) continue;
      throw new ValueError(
        `Cannot generate: "${name}" must have shape [batch, heads, places, depth] with known heads and depth`,
      );
    }
    this.#begin = tf.function((ids: Tensor, key: Tensor, room: Tensor) =>
      this.#first(ids, key, room.shape[0]!)
    ) as never;
    this.#next = tf.function((token: Tensor, before: Tensor, key: Tensor, ...caches: Tensor[]) =>
      this.#step(token, { before, key, caches })
    ) as never;
  }

  /** Reads a prompt: the next token, and caches with room for so many. */
  begin(ids: Tensor, key: Tensor, room: number): Tensor[] {
    using length = tf.zeros([room]);
    return this.#begin(ids, key, length);
  }

  /** Reads a token, behind so many: the next token, and caches. */
  next([token, ...caches]: readonly Tensor[], before: Tensor, key: Tensor): Tensor[] {
    return this.#next(token, before, key, ...caches);
  }

  /** Returns caches of twice as many places. */
  widened(caches: readonly Tensor[], room: number): Tensor[] {
    return caches.map((x) => tf.pad(x, [[0, 0], [0, 0], [room, 0], [0, 0]]));
  }

  #first(ids: Tensor, key: Tensor, room: number): Tensor[] {
    const count = ids.shape[1]!;
    const caches = this.#past.map(({ dtype, shape }) =>
      tf.zeros([1, shape![1]!, 0, shape![3]!], dtype)
    );
    const out = this.#call(
      ids,
      tf.ones([1, count], "int32"),
      tf.reshape(tf.range(0, count, 1, "int32"), [1, count]),
      caches,
    );
    const padded = out.caches.map((x) => tf.pad(x, [[0, 0], [0, 0], [room - count, 0], [0, 0]]));
    return [sampled(out.logits, this.#sampling, key), ...padded];
  }

  #step(
    token: Tensor,
    { before, key, caches }: { before: Tensor; key: Tensor; caches: Tensor[] },
  ): Tensor[] {
    const room = caches[0].shape[2]!;
    // What is held stands at the end of a cache, the token behind it.
    const isHeld = tf.greaterEqual(tf.range(0, room + 1, 1, "int32"), tf.sub(room, before));
    const mask = tf.reshape(tf.cast(isHeld, "int32"), [1, room + 1]);
    const out = this.#call(tf.reshape(token, [1, 1]), mask, tf.reshape(before, [1, 1]), caches);
    // The first place has nothing: a cache is widened before it is full.
    const kept = out.caches.map((x, i) => tf.slice(x, [0, 0, 1, 0], caches[i].shape as number[]));
    return [sampled(out.logits, this.#sampling, key), ...kept];
  }

  #call(ids: Tensor, mask: Tensor, places: Tensor, caches: readonly Tensor[]) {
    const given: Record<string, Tensor> = {};
    const put = (name: string, x: Tensor): void => {
      const input = this.#inputs.get(name);
      if (input !== undefined) given[name] = tf.cast(x, input.dtype);
    };
    put("input_ids", ids);
    put("attention_mask", mask);
    put("position_ids", places);
    this.#past.forEach(({ name }, i) => put(name, caches[i]));
    const out = this.#model.call(given) as Record<string, Tensor>, { logits } = out;
    const [, length, words] = logits.shape;
    const last = tf.reshape(tf.slice(logits, [0, length! - 1, 0], [1, 1, words!]), [1, words!]);
    return { logits: last, caches: this.#past.map((v) => out[presentOf(v)]) };
  }
}

function presentOf({ name }: OnnxValue): string {
  return name.replace(/^past(_key_values)?/, "present");
}
