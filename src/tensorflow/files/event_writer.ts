/** Event files for TensorBoard: scalars, images, histograms, texts and graphs by step. */
import { wantObject } from "../../engine/core/arguments.ts";
import { showAs } from "../../engine/core/arrays/shown.ts";
import { counter } from "../../engine/core/collections/counter.ts";
import { describe, toNdArray } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { encodeString } from "../../engine/core/text.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { toGraphDef } from "../graph_def/graph_def.ts";
import { encodePng } from "../../library/io/png.ts";
import { openGrowing } from "../../library/io/file_writer.ts";
import { RecordWriter } from "../../library/io/tf_record.ts";
import { ByteWriter } from "./byte_writer.ts";
import { pathOf } from "../../library/io/files.ts";
import { encodeGraphDef } from "./graph_def.ts";
import { fileSystem } from "../../library/io/random_access.ts";

/** A message that is being written, field by field. */
class Message {
  readonly #out = new ByteWriter();

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#out.bytes;
  }

  bytesField(number: number, value: Uint8Array): this {
    this.#out.varint(number * 8 + 2);
    this.#out.varint(value.length);
    this.#out.put(value);
    return this;
  }

  text(number: number, value: string): this {
    return this.bytesField(number, encodeString(value));
  }

  message(number: number, value: Message): this {
    return this.bytesField(number, value.bytes);
  }

  integer(number: number, value: number): this {
    this.#out.varint(number * 8);
    this.#out.varint(value);
    return this;
  }

  double(number: number, value: number): this {
    this.#out.varint(number * 8 + 1);
    this.#out.put(new Uint8Array(Float64Array.of(value).buffer));
    return this;
  }

  float(number: number, value: number): this {
    this.#out.varint(number * 8 + 5);
    this.#out.put(new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  doubles(number: number, values: readonly number[]): this {
    return this.bytesField(number, new Uint8Array(Float64Array.from(values).buffer));
  }
}

/** Options of {@linkcode createFileWriter}. */
export interface FileWriterOptions {
  /** End of the file's name. Default `".weft"`. */
  readonly filenameSuffix?: string;
}

/** Writes events for TensorBoard; made by {@linkcode createFileWriter}. */
export class EventFileWriter implements AsyncDisposable {
  readonly #writer: RecordWriter;

  /** Path of the file. */
  readonly path: string;

  /** Creates a writer; the first event creates the file. */
  constructor(path: string) {
    this.path = path;
    this.#writer = new RecordWriter(path, () => openGrowing(path));
  }

  /** Writes the event that names the format's version. */
  begin(): Promise<void> {
    return this.#event(new Message().text(3, "brain.Event:2"));
  }

  /** Adds a point to the curve of a name. Rejects with `ValueError` for a value that is not one number. */
  async scalar(name: string, value: TensorLike, step: number): Promise<void> {
    const { data, size } = await hostArray(value);
    if (size !== 1) {
      throw new ValueError(`Cannot write scalar "${name}": it has ${size} values, wanted one`);
    }
    await this.#summary(step, new Message().text(1, name).float(2, Number(data[0])));
  }

  /**
   * Adds images of shape `[n, height, width, channels]`: floats from 0 to 1 or bytes, 1, 3 or 4 channels. Rejects with `ValueError` for
   * other shapes. Follows TensorFlow `tf.summary.image`.
   */
  async image(
    name: string,
    images: TensorLike,
    step: number,
    { maxOutputs = 3 }: { readonly maxOutputs?: number } = {},
  ): Promise<void> {
    const { dtype, shape, data } = await hostArray(images);
    const [count, height, width, channels] = shape;
    if (shape.length !== 4 || ![1, 3, 4].includes(channels)) {
      throw new ValueError(
        `Cannot write image "${name}" of shape [${shape}]: wanted [n, height, width, 1, 3 or 4]`,
      );
    }
    const scale = dtype.startsWith("float") ? 255 : 1;
    const size = height * width * channels;
    for (let k = 0; k < Math.min(count, maxOutputs); k++) {
      const pixels = Uint8ClampedArray.from(
        { length: size },
        (_, i) => Number(data[k * size + i]) * scale,
      );
      const bytes = new Uint8Array(pixels.buffer);
      const png = encodePng(new NdArray("uint8", [height, width, channels], bytes));
      const image = new Message().integer(1, height).integer(2, width).integer(3, channels)
        .bytesField(4, png);
      const tag = count > 1 ? `${name}/image/${k}` : `${name}/image`;
      await this.#summary(step, new Message().text(1, tag).message(4, image));
    }
  }

  /** Adds the distribution of values. Rejects with `ValueError` where there are none. */
  async histogram(
    name: string,
    values: TensorLike,
    step: number,
    { buckets = 30 }: { readonly buckets?: number } = {},
  ): Promise<void> {
    const { data } = await hostArray(values);
    const numbers = Array.from(data as ArrayLike<number | bigint>, Number);
    if (numbers.length === 0 || numbers.some(Number.isNaN)) {
      throw new ValueError(
        `Cannot write histogram "${name}": it has ${
          numbers.length === 0 ? "no values" : "values that are no numbers"
        }`,
      );
    }
    const { ends, counts } = bucketsOf(numbers, buckets);
    const histogram = new Message()
      .double(1, numbers.reduce((a, b) => Math.min(a, b)))
      .double(2, numbers.reduce((a, b) => Math.max(a, b)))
      .double(3, numbers.length)
      .double(4, numbers.reduce((a, b) => a + b))
      .double(5, numbers.reduce((a, b) => a + b * b, 0))
      .doubles(6, ends)
      .doubles(7, counts);
    await this.#summary(step, new Message().text(1, name).message(5, histogram));
  }

  /** Adds a text, which TensorBoard shows as Markdown. */
  async text(name: string, value: string, step: number): Promise<void> {
    const plugin = new Message().text(1, "text");
    // TensorBoard's plugin for texts takes a tensor of one string.
    const tensor = new Message().integer(1, 7).message(2, new Message()).text(8, value);
    await this.#summary(
      step,
      new Message().text(1, name).message(9, new Message().message(1, plugin)).message(8, tensor),
    );
  }

  /** Adds a graph for viewing: scripts in it need no names. */
  async graph(graph: Graph | GraphDefJson): Promise<void> {
    const def = graph instanceof Graph
      ? toGraphDef(graph, { portable: false, allowAnonymousScripts: true })
      : graph;
    await this.#event(new Message().bytesField(4, encodeGraphDef(def)));
  }

  /** Writes the collected events: TensorBoard sees them now. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /** Closes the file. */
  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Closes the file at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #summary(step: number, value: Message): Promise<void> {
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new ValueError(`Cannot write a summary at step ${step}: wanted a whole number`);
    }
    await this.#event(new Message().integer(2, step).message(5, new Message().message(1, value)));
  }

  async #event(content: Message): Promise<void> {
    const head = new Message().double(1, Date.now() / 1000);
    const event = new Uint8Array([...head.bytes, ...content.bytes]);
    await this.#writer.write(event);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<EventFileWriter of ${JSON.stringify(this.path)}>`;
  }
}
showAs(EventFileWriter);

async function hostArray(value: TensorLike): Promise<NdArray> {
  return value instanceof Tensor ? await value.ndarray() : toNdArray(value);
}

/**
 * Makes buckets of one width from the least value to the greatest: their upper ends, and the number of values in each.
 */
function bucketsOf(values: readonly number[], count: number): { ends: number[]; counts: number[] } {
  const low = values.reduce((a, b) => Math.min(a, b)),
    high = values.reduce((a, b) => Math.max(a, b));
  // A single value lies in the middle of its bucket.
  const [from, to] = low === high ? [low - 0.5, high + 0.5] : [low, high];
  const width = (to - from) / count;
  const counts = new Array<number>(count).fill(0);
  for (const v of values) counts[Math.min(count - 1, Math.floor((v - from) / width))]++;
  return { ends: counts.map((_, i) => i === count - 1 ? to : from + (i + 1) * width), counts };
}

const nextFile = counter();

/**
 * Creates a file of events in a folder that `tensorboard --logdir` watches, and the folder where there is none. Throws
 * `TypeError` for an invalid path. Follows TensorFlow `tf.summary.create_file_writer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { createFileWriter } from "@weft/weft/tf";
 * const folder = await Deno.makeTempDir();
 * await using events = await createFileWriter(folder);
 * await events.scalar("loss", 0.5, 1);
 * await events.histogram("weights", tf.randomNormal([100]), 1);
 * await events.close();
 * console.log([...Deno.readDirSync(folder)].length, "file"); // 1 file
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function createFileWriter(
  folder: string | URL,
  options: FileWriterOptions = {},
): Promise<EventFileWriter> {
  wantObject(options, "options", "createFileWriter");
  const { filenameSuffix = ".weft" } = options;
  if (typeof folder !== "string" && !(folder instanceof URL)) {
    throw new TypeError(`Cannot write events: the folder is ${describe(folder)}, wanted a path`);
  }
  const seconds = `${Math.floor(Date.now() / 1000)}`.padStart(10, "0");
  const name = `events.out.tfevents.${seconds}.localhost.${nextFile()}${filenameSuffix}`;
  const path = pathOf(folder).replace(/\/$/, "");
  await (await fileSystem()).mkdir(path, { recursive: true });
  const writer = new EventFileWriter(`${path}/${name}`);
  await writer.begin();
  await writer.flush();
  return writer;
}
