/**
 * Checkpoints: TensorFlow's tensor bundle, `PREFIX.index` and `PREFIX.data-?????-of-?????`, read and written. Follows
 * TensorFlow `tensor_bundle.cc`.
 */
import { wantObject } from "../../engine/core/arguments.ts";
import { create, toBinary } from "@bufbuild/protobuf";
import { toNdArray } from "../../engine/core/convert.ts";
import { asDType, DTYPES } from "../../engine/core/dtype.ts";
import {
  DataLossError,
  NotFoundError,
  UnimplementedError,
  ValueError,
} from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { checkpointFormat } from "../../library/io/checkpoint/format.ts";
import { naming, namingAsync } from "../../library/io/naming.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { decodeElements, encodeElements } from "./bundle_elements.ts";
import { decode } from "./decode.ts";
import { shapeOf, typeOf } from "./from_message.ts";
import { objectsEntry, readObjects } from "./object_graph.ts";
import {
  type BundleEntryProto,
  BundleEntryProtoSchema,
  BundleHeaderProto_Endianness,
  BundleHeaderProtoSchema,
  type TensorSliceProto,
} from "../proto/checkpoint_pb.ts";
import type { DataType } from "../proto/tensor_pb.ts";
import { writeBytes, writeChunks } from "../../library/io/file_writer.ts";
import { fileOf } from "../../library/io/files.ts";
import { fileSystem, openParts, type PartReader } from "../../library/io/random_access.ts";
import { sliceKey } from "./slice_key.ts";
import { readSource } from "../../library/io/source.ts";
import { heldValue } from "../../library/io/variables.ts";
import { compareBytes, readTable, writeTable } from "./table.ts";
import { shapeFromJson, shapeToJson } from "../graph_def/values.ts";
import { shapeMessage } from "./to_message.ts";

/** Type of the tensor under a key of a checkpoint. */
export interface CheckpointSpec {
  /** Element type. */
  readonly dtype: NdArray["dtype"];
  /** Shape. */
  readonly shape: readonly number[];
}

/** An open checkpoint. Tensors are read on demand. */
export interface Checkpoint {
  /** All keys, sorted by their bytes. */
  keys(): string[];
  /** True where the key exists. */
  has(key: string): boolean;
  /** Returns dtype and shape of the tensor under a key. Throws `NotFoundError` where there is none. */
  spec(key: string): CheckpointSpec;
  /**
   * Reads the tensor under a key. Rejects with `NotFoundError` where there is none, `DataLossError` where its bytes are
   * damaged.
   */
  read(key: string): Promise<NdArray>;
  /** Closes the data files, which a later read opens again. */
  close(): Promise<void>;
}

/**
 * Opens a checkpoint of TensorFlow by its prefix, a path or URL: object checkpoints of `tf.train.Checkpoint`, those of version 1's
 * `Saver`, and the `variables/variables` of a SavedModel. Slices of partitioned tensors are put together.
 * Rejects with `NotFoundError` where there is no index, `DataLossError` where it is damaged.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { readCheckpoint, writeCheckpoint } from "@weft/weft/tf";
 * const prefix = `${await Deno.makeTempDir()}/ckpt`;
 * await writeCheckpoint(prefix, { w: tf.tensor([[1, 2]]) });
 * const c = await readCheckpoint(prefix);
 * console.log(c.keys()); // ["w"]
 * console.log((await c.read("w")).toArray()); // [[1, 2]]
 * await c.close();
 * ```
 */
export async function readCheckpoint(prefix: string | URL): Promise<Checkpoint> {
  const path = fileOf(prefix);
  const { bytes, name } = await readSource(`${path}.index`);
  const [first, ...rest] = readTable(bytes, name);
  if (first === undefined || first.key.length > 0) {
    throw new DataLossError(
      `Cannot read ${name}: it has no header, so it is no checkpoint's index`,
    );
  }
  const header = decode(BundleHeaderProtoSchema, first.value, name);
  if (header.endianness !== BundleHeaderProto_Endianness.LITTLE) {
    throw new UnimplementedError(`Cannot read ${name}: its numbers are big-endian`);
  }
  const entries = new Map(
    rest.map(({ key, value }) => [keyText(key), decode(BundleEntryProtoSchema, value, name)]),
  );
  checkPlaces([...entries.values()], name);
  return new Bundle(path, header.numShards, entries);
}

/** Throws `DataLossError` where tensors share bytes: a small file could else claim very many tensors. */
function checkPlaces(entries: readonly BundleEntryProto[], name: string): void {
  const stored = entries.filter((e) => e.size > 0n).sort((a, b) =>
    a.shardId - b.shardId || (a.offset < b.offset ? -1 : 1)
  );
  stored.forEach(({ shardId, offset, size }, i) => {
    const next = stored[i + 1];
    if (next === undefined || next.shardId !== shardId || offset + size <= next.offset) return;
    throw new DataLossError(`Cannot read ${name}: two of its tensors overlap`);
  });
}

/** Converts a key to a text with one character for each byte, so that the keys of slices are texts too. */
function keyText(key: Uint8Array): string {
  let text = "";
  for (const b of key) text += String.fromCharCode(b);
  return text;
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

class Bundle implements Checkpoint {
  readonly #prefix: string;
  readonly #shards: number;
  readonly #entries: ReadonlyMap<string, BundleEntryProto>;
  readonly #open = new Map<number, Promise<PartReader>>();

  constructor(prefix: string, shards: number, entries: ReadonlyMap<string, BundleEntryProto>) {
    this.#prefix = prefix;
    this.#shards = shards;
    this.#entries = entries;
  }

  keys(): string[] {
    // The key of a slice begins with 0, unlike the name of a tensor.
    return [...this.#entries.keys()].filter((k) => !k.startsWith("\0")).map((k) =>
      decoder.decode(Uint8Array.from(k, (c) => c.charCodeAt(0)))
    );
  }

  has(key: string): boolean {
    return this.#entries.has(keyText(encoder.encode(key)));
  }

  spec(key: string): CheckpointSpec {
    const entry = this.#entry(keyText(encoder.encode(key)), key);
    return naming(this.#prefix, () => this.#spec(entry, key));
  }

  async read(key: string): Promise<NdArray> {
    const entry = this.#entry(keyText(encoder.encode(key)), key);
    return await namingAsync(
      this.#prefix,
      () => entry.slices.length === 0 ? this.#read(entry, key) : this.#readSlices(entry, key),
    );
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const file of open) await (await file).close();
  }

  #entry(stored: string, key: string): BundleEntryProto {
    const entry = this.#entries.get(stored);
    if (entry) return entry;
    throw new NotFoundError(`Key ${key} not found in checkpoint ${this.#prefix}`);
  }

  #spec(entry: BundleEntryProto, key: string): CheckpointSpec {
    const shape = shapeFromJson(entry.shape === undefined ? {} : shapeOf(entry.shape));
    if (shape === null || shape.some((d) => d === null || !Number.isSafeInteger(d))) {
      throw new DataLossError(`Cannot read "${key}" of ${this.#prefix}: its shape is not known`);
    }
    return { dtype: asDType(typeOf(entry.dtype)), shape: shape as number[] };
  }

  async #read(entry: BundleEntryProto, key: string): Promise<NdArray> {
    const { dtype, shape } = this.#spec(entry, key);
    const what = `"${key}" of ${this.#prefix}`;
    const offset = Number(entry.offset), size = Number(entry.size);
    if (offset < 0 || size < 0) {
      throw new DataLossError(`Cannot read ${what}: its place is negative`);
    }
    const width = DTYPES[dtype].bytes;
    if (width > 0 && sizeOf(shape) * width !== size) {
      throw new DataLossError(
        `Cannot read ${what}: ${dtype}[${shape}] takes ${
          sizeOf(shape) * width
        } bytes, the index tells ${size}`,
      );
    }
    const file = await this.#shard(entry.shardId, what);
    const bytes = await file.read(offset, size);
    return decodeElements(dtype, shape, { bytes, crc: entry.crc32c }, what);
  }

  #shard(id: number, what: string): Promise<PartReader> {
    if (id < 0 || id >= this.#shards) {
      throw new DataLossError(
        `Cannot read ${what}: it is in data file ${id}, and there are ${this.#shards}`,
      );
    }
    let file = this.#open.get(id);
    if (file === undefined) {
      this.#open.set(id, file = openParts(dataFile(this.#prefix, id, this.#shards)));
      file.catch(() => this.#open.delete(id));
    }
    return file;
  }

  async #readSlices(entry: BundleEntryProto, key: string): Promise<NdArray> {
    const { dtype, shape } = this.#spec(entry, key);
    const slices = entry.slices.map((slice) => {
      const extents = extentsOf(slice, shape, key);
      return { extents, entry: this.#entry(keyText(sliceKey(key, extents)), `${key} (slice)`) };
    });
    // Checked before memory is allocated: slices are disjoint and fill the whole.
    const size = slices.reduce((n, s) => n + sizeOf(this.#spec(s.entry, key).shape), 0);
    if (size !== sizeOf(shape) || new Set(slices.map((s) => s.entry)).size < slices.length) {
      throw new DataLossError(
        `Cannot read "${key}" of ${this.#prefix}: its slices have ${size} elements, it has ${
          sizeOf(shape)
        }`,
      );
    }
    const out = NdArray.zeros(dtype, shape);
    for (const { extents, entry } of slices) {
      const part = await this.#read(entry, key);
      const starts = extents.map((e) => e.start);
      if (part.dtype !== dtype || part.shape.some((d, i) => starts[i] + d > shape[i])) {
        throw new DataLossError(`Cannot read "${key}" of ${this.#prefix}: a slice does not fit`);
      }
      copyInto(out, part, starts);
    }
    return out;
  }
}

function extentsOf(slice: TensorSliceProto, shape: readonly number[], key: string) {
  if (slice.extent.length !== shape.length) {
    throw new DataLossError(`Cannot read "${key}": a slice of it has another rank`);
  }
  return slice.extent.map(({ start, hasLength }) => ({
    start: Number(start),
    length: hasLength.case === "length" ? Number(hasLength.value) : -1,
  }));
}

function copyInto(out: NdArray, part: NdArray, starts: readonly number[]): void {
  const rank = out.shape.length;
  if (rank === 0 || part.size === 0) return;
  const { slots } = DTYPES[out.dtype];
  const target = out.data as { [i: number]: unknown }, source = part.data as ArrayLike<unknown>;
  const row = part.shape[rank - 1] * slots;
  for (let r = 0; r < part.size * slots / row; r++) {
    let rest = r, place = starts[rank - 1], stride = out.shape[rank - 1];
    for (let d = rank - 2; d >= 0; d--) {
      place += (starts[d] + rest % part.shape[d]) * stride;
      rest = Math.floor(rest / part.shape[d]);
      stride *= out.shape[d];
    }
    for (let k = 0; k < row; k++) target[place * slots + k] = source[r * row + k];
  }
}

/**
 * Writes a checkpoint that `tf.train.load_checkpoint` and {@linkcode readCheckpoint} read: each record's key with its
 * tensor, variable or array. An earlier file under the same prefix is replaced in one step: a crash leaves the old or
 * the new one. It has the values of the call, whatever steps run while it is written; one tensor at a time lies in memory besides.
 * Rejects with `ValueError` for an empty key.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { readCheckpoint, writeCheckpoint } from "@weft/weft/tf";
 * const prefix = `${await Deno.makeTempDir()}/ckpt`;
 * using w = tf.variable([1, 2]);
 * await writeCheckpoint(prefix, { "layer/w": w, names: ["a", "b"] });
 * console.log((await readCheckpoint(prefix)).spec("names")); // { dtype: "string", shape: [2] }
 * ```
 */
export async function writeCheckpoint(
  prefix: string | URL,
  values: Readonly<Record<string, TensorLike | NdArray>>,
): Promise<void> {
  wantObject(values, "values", "writeCheckpoint");
  const path = fileOf(prefix);
  const sorted = Object.entries(values).map(([key, value]) => ({
    key: encoder.encode(key),
    value,
  })).sort((a, b) => compareBytes(a.key, b.key));
  if (sorted[0]?.key.length === 0) {
    throw new ValueError("Cannot write a checkpoint: a key is empty");
  }
  const held: Tensor[] = [];
  try {
    const now = sorted.map(({ key, value }) => {
      if (!(value instanceof Tensor)) return { key, value };
      held.push(heldValue(value));
      return { key, value: held.at(-1)! };
    });
    await writeFiles(path, now);
  } finally {
    for (const t of held) t.dispose();
  }
}

/** Writes tensors, sorted by their keys: each is read when its turn comes. */
async function writeFiles(
  path: string,
  sorted: readonly { readonly key: Uint8Array; readonly value: TensorLike | NdArray }[],
): Promise<void> {
  const entries: { key: Uint8Array; value: Uint8Array }[] = [];
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    let offset = 0;
    for (const { key, value } of sorted) {
      const array = value instanceof Tensor ? await value.ndarray() : toNdArray(value);
      const { bytes, crc } = encodeElements(array);
      const entry = create(BundleEntryProtoSchema, {
        dtype: DTYPES[array.dtype].tf as DataType,
        shape: shapeMessage(shapeToJson(array.shape)),
        offset: BigInt(offset),
        size: BigInt(bytes.length),
        crc32c: crc,
      });
      entries.push({ key, value: toBinary(BundleEntryProtoSchema, entry) });
      offset += bytes.length;
      yield bytes;
    }
  };
  // The index names the number of data files, so that old and new data files have different names: until the new index
  // replaces the old one in one step, that one has all of its files.
  const before = await shardsOf(path);
  const numShards = before === 1 ? 2 : 1;
  const header = toBinary(
    BundleHeaderProtoSchema,
    create(BundleHeaderProtoSchema, { numShards, version: { producer: 1 } }),
  );
  await writeChunks(dataFile(path, 0, numShards), chunks(), { makeFolder: true });
  const index = writeTable([{ key: new Uint8Array(), value: header }, ...entries]);
  await writeBytes(`${path}.index`, index);
  if (before === 0) return;
  const fs = await fileSystem();
  for (let id = 0; id < before; id++) await fs.rm(dataFile(path, id, before), { force: true });
}

/** Returns the number of data files of an existing checkpoint; 0 for none. */
async function shardsOf(path: string): Promise<number> {
  try {
    const { bytes, name } = await readSource(`${path}.index`);
    return decode(BundleHeaderProtoSchema, readTable(bytes, name)[0].value, name).numShards;
  } catch {
    return 0;
  }
}

function dataFile(prefix: string, id: number, shards: number): string {
  const five = (n: number): string => String(n).padStart(5, "0");
  return `${prefix}.data-${five(id)}-of-${five(shards)}`;
}

/** Deletes the files of a checkpoint, if there are any, and those that TensorFlow writes beside it. */
async function removeCheckpoint(prefix: string): Promise<void> {
  const shards = await shardsOf(prefix), fs = await fileSystem();
  const data = Array.from({ length: shards }, (_, id) => dataFile(prefix, id, shards));
  // The index last: it tells the other files.
  for (const path of [...data, `${prefix}.meta`, `${prefix}.index`]) {
    await fs.rm(path, { force: true });
  }
}

async function modified(prefix: string): Promise<number | null> {
  try {
    return (await (await fileSystem()).stat(`${prefix}.index`)).mtimeMs / 1000;
  } catch {
    return null;
  }
}

checkpointFormat.provide({
  read: readCheckpoint,
  write: writeCheckpoint,
  writeObjects: (prefix, values, nodes) =>
    writeCheckpoint(prefix, { ...values, ...objectsEntry(nodes) }),
  objects: readObjects,
  remove: removeCheckpoint,
  modified,
});
