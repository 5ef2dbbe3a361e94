/** Stored files as `messages.ts` mutates them: records, sounds. */
import * as tf from "@weft/weft";
import { frameRecord, RecordReader } from "../../src/library/io/tf_record.ts";
import { join, type Kind } from "./message_kind.ts";
import { mutateBytes, type Random } from "./mutate.ts";

/** Protocol buffers `Example`. */
const EXAMPLES = [1n, 2n].map((k) =>
  tf.io.encodeExample({ a: [k, 2n * k], b: [0.5, Number(k)], c: ["x"] })
);
const FEATURES = {
  a: tf.io.FixedLenFeature([2], "int64"),
  b: tf.io.VarLenFeature("float32"),
  c: tf.io.RaggedFeature("string"),
};

/** Records whose checksums are right, of which one is mutated; or any bytes of them. */
function mutateRecords(sound: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.below(4) === 0) return mutateBytes(random.of(sound), random, sound);
  const changed = mutateBytes(random.of(EXAMPLES), random, EXAMPLES);
  return join([frameRecord(changed), frameRecord(random.of(EXAMPLES))]);
}

async function takeRecords(bytes: Uint8Array): Promise<void> {
  using _scope = tf.scope();
  const reader = new RecordReader(bytes);
  for (let record; (record = await reader.next()) !== null;) {
    tf.io.parseExample(tf.tensor([record], [1], "string"), FEATURES);
  }
}

/** A sound of two channels. */
function wav(): Uint8Array {
  const samples = [0, 100, -100, 32767, -32768, 5], bytes = new Uint8Array(44 + 2 * samples.length);
  const view = new DataView(bytes.buffer);
  const text = (at: number, word: string): void => bytes.set(new TextEncoder().encode(word), at);
  ["RIFF", "WAVEfmt ", "data"].forEach((word, i) => text([0, 8, 36][i]!, word));
  view.setUint32(4, bytes.length - 8, true);
  view.setUint32(16, 16, true);
  [1, 2].forEach((value, i) => view.setUint16(20 + 2 * i, value, true));
  view.setUint32(24, 8000, true);
  view.setUint32(28, 32_000, true);
  [4, 16].forEach((value, i) => view.setUint16(32 + 2 * i, value, true));
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((value, i) => view.setInt16(44 + 2 * i, value, true));
  return bytes;
}

/** The kinds of what is stored, by name. */
export const STORED: Readonly<Record<string, Kind>> = {
  "records of examples": {
    sound: () => Promise.resolve([join(EXAMPLES.map(frameRecord))]),
    mutate: mutateRecords,
    take: takeRecords,
  },
  "a sound": {
    sound: () => Promise.resolve([wav()]),
    take: (bytes) => tf.tidy(() => void tf.io.decodeWav(bytes)),
  },
};
