/** A loop that decodes tokens with a cache, and counts what moves between the host and the device. */
import * as tf from "@weft/weft";
import type * as ort from "@weft/weft/ort";
import { InferenceSession, Tensor } from "@weft/weft/ort";
import { int64s, model, node, tensor, value } from "../onnx/make_model.ts";

const WIDTH = 64, WORDS = 100;

/** Some numbers that look random. */
const weights = (n: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin(i * i + 1));

/** A decoder: it chooses the next token by all that came before, which it keeps. */
const DECODER = model({
  nodes: [
    node("Gather", ["table", "ids"], ["new"]),
    node("Concat", ["past", "new"], ["present"], { axis: 1n }),
    node("ReduceMean", ["present", "axes"], ["mean"], { keepdims: 1n }),
    node("MatMul", ["mean", "head"], ["logits"]),
    node("ArgMax", ["logits"], ["next"], { axis: -1n, keepdims: 0n }),
  ],
  inputs: [value("ids", "int64", [1, "n"]), value("past", "float32", [1, "past", WIDTH])],
  outputs: [value("next", "int64", [1, 1]), value("present", "float32", [1, "total", WIDTH])],
  initialisers: [
    tensor("table", [WORDS, WIDTH], weights(WORDS * WIDTH)),
    tensor("head", [WIDTH, WORDS], weights(WIDTH * WORDS)),
    tensor("axes", [1], int64s(1)),
  ],
});

/** A loop's tokens, the place of its last cache, and the bytes that moved in each of its last steps. */
export interface Decoded {
  readonly tokens: readonly number[];
  readonly location: string;
  readonly last: readonly { readonly toHost: number; readonly toDevice: number }[];
}

/** Tokens that the decoder chooses one after another, and what moved in the last steps. */
export async function decode(options: ort.SessionOptions, steps: number): Promise<Decoded> {
  const session = await InferenceSession.create(DECODER, options);
  let past = new Tensor("float32", [], [1, 0, WIDTH]);
  let token = 7n;
  const tokens: number[] = [], moved: { toHost: number; toDevice: number }[] = [];
  for (let i = 0; i < steps; i++) {
    const step = async () => {
      const { next, present } = await session.run({
        ids: new Tensor("int64", [token], [1, 1]),
        past,
      });
      past.dispose();
      past = present as typeof past;
      token = next.data[0] as bigint;
      tokens.push(Number(token));
    };
    const { bytesToHost: toHost, bytesToDevice: toDevice } = await tf.profile(step);
    moved.push({ toHost, toDevice });
  }
  const { location } = past;
  past.dispose();
  await session.release();
  return { tokens, location, last: moved.slice(-4) };
}

/** Throws where the last steps moved more than tokens: a cache has 2 KB and more, and kernels have sizes as parameters. */
export function assertMovesTokens({ last }: Decoded): void {
  for (const { toHost, toDevice } of last) {
    if (toHost > 16 || toDevice > 512) {
      throw new Error(`${toHost} bytes moved to the host, ${toDevice} to the device`);
    }
  }
}
