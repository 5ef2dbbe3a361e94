/**
 * Elements in a file: save, load, and a cache on disk. The file holds TFRecords: a header, the elements, their number.
 */
import { decodeString } from "../../engine/core/text.ts";
import { asDType } from "../../engine/core/dtype.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { type Spec, TensorSpec } from "../../engine/core/tensor_spec.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Compression } from "../io/byte_stream.ts";
import { fileExists } from "../io/file_system.ts";
import { fileOf } from "../io/files.ts";
import { recordFile, RecordReader, type RecordWriter } from "../io/tf_record.ts";
import { structureFromJson, structureToJson } from "./composites.ts";
import type { Element, ElementType } from "./element.ts";
import {
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Place,
  sameAs,
  type Source,
  type State,
} from "./source.ts";
import { wholePass } from "./iterator.ts";
import { decodeState, encodeState } from "./state.ts";

/** Options of {@linkcode Dataset.save} and {@linkcode load}. */
export interface SnapshotOptions {
  /** Compression of the file. Default none. */
  readonly compression?: Compression;
}

const checkOptions = optionCheck<SnapshotOptions>("save", { compression: true });

/** The first record. */
interface Header {
  readonly dataset: 1;
  readonly specs: readonly Spec[];
  readonly structure: unknown;
}

/** Writes elements to a file, which gets its name when it is complete. */
class SnapshotWriter {
  readonly #file: RecordWriter;
  #count = 0;

  constructor(path: string, { compression }: SnapshotOptions) {
    this.#file = recordFile(path, compression);
  }

  begin({ specs, structure }: ElementType): Promise<void> {
    const header = {
      dataset: 1,
      specs: specs.map(({ shape, dtype }) => ({ shape, dtype })),
      structure: structureToJson(structure),
    };
    return this.#file.write(JSON.stringify(header));
  }
  add(element: Element): Promise<void> {
    this.#count++;
    return this.#file.write(encodeState(element));
  }
  async end(): Promise<void> {
    await this.#file.write(encodeState({ count: this.#count }));
    await this.#file.close();
  }
  drop(): Promise<void> {
    return this.#file.drop();
  }
}

/** Writes all elements. Rejects with the first error of an element, and then leaves no file. */
export async function writeSnapshot(
  source: Source,
  path: string,
  options: SnapshotOptions,
): Promise<void> {
  checkOptions(options);
  const writer = new SnapshotWriter(path, options), elements = source.open(wholePass());
  try {
    await writer.begin(source);
    for (;;) {
      const item = await elements.next();
      if (item === null) break;
      if (item instanceof Failure) throw item.error;
      await writer.add(item);
    }
    await writer.end();
  } catch (error) {
    await writer.drop().catch(() => {});
    throw error;
  } finally {
    await elements.close();
  }
}

/** Reads the elements of a file, from a position in it. */
function readSnapshot(path: string, compression: Compression, from?: number): Elements {
  let records: RecordReader | null = null;
  let ended = false;
  const open = async (): Promise<RecordReader> => {
    if (records) return records;
    records = new RecordReader(path, compression, from ?? 0);
    if (from === undefined) readHeader(await records.next(), path);
    return records;
  };
  const next = async (): Promise<Item> => {
    if (ended) return null;
    const record = await (await open()).next();
    const state = record && decodeState(record);
    if (state === null) {
      ended = true;
      throw new DataLossError(`Cannot read the dataset in ${path}: its end is missing`);
    }
    if (Array.isArray(state)) return state as unknown as Element;
    ended = true;
    return null;
  };
  return {
    async next() {
      try {
        return await next();
      } catch (error) {
        ended = true;
        return new Failure(error);
      }
    },
    save: async () => (await open()).position,
    close: () => records?.close(),
  };
}

/**
 * Opens the dataset of a file. Rejects with `NotFoundError` where there is none, `DataLossError` where it is no
 * dataset.
 */
export async function loadSource(path: string, options: SnapshotOptions): Promise<Source> {
  checkOptions(options);
  const { compression = "" } = options;
  fileOf(path);
  const records = new RecordReader(path, compression);
  try {
    const type = readHeader(await records.next(), path);
    return makeSource({
      kind: "Load",
      ...type,
      size: null,
      open: (_, from?: number) => readSnapshot(path, compression, from),
    });
  } finally {
    await records.close();
  }
}

function readHeader(record: Uint8Array | null, path: string): ElementType {
  let header: unknown;
  try {
    header = JSON.parse(decodeString(record ?? new Uint8Array()));
  } catch {
    header = null;
  }
  if (!isPlainObject(header) || header.dataset !== 1 || !Array.isArray(header.specs)) {
    throw new DataLossError(`Cannot load ${path}: it holds no dataset that save() wrote`);
  }
  const { specs, structure } = header as unknown as Header;
  return {
    specs: specs.map(({ shape, dtype }) => TensorSpec(shape, asDType(dtype))),
    structure: structureFromJson(structure),
  };
}

type DiskState = { readonly at?: number; readonly input?: State };

/** Keeps the elements of the first complete pass in a file, for this process and others. */
export function diskCacheSource(input: Source, path: string): Source {
  return makeSource({
    kind: "Cache",
    ...sameAs(input),
    isFresh: false,
    open: (place: Place, state?: DiskState) => diskPass(input, path, place, state),
  });
}

/** Opens a pass over the file where it exists, else over the source, which writes the file. */
function diskPass(source: Source, path: string, place: Place, state?: DiskState): Elements {
  let elements: Elements | null = null, writer: SnapshotWriter | null = null;
  let isKept = state?.at !== undefined;
  const begin = async (): Promise<Elements> => {
    if (elements !== null) return elements;
    isKept ||= state === undefined && await fileExists(path);
    if (isKept) return elements = readSnapshot(path, "", state?.at);
    elements = source.open(place, state?.input);
    // A resumed pass lacks the earlier elements: the next pass writes the file.
    if (state !== undefined) return elements;
    writer = new SnapshotWriter(path, {});
    await writer.begin(source);
    return elements;
  };
  /** Takes the writer away, whose end is then the caller's. */
  const takeWriter = (): SnapshotWriter | null => {
    const taken = writer;
    writer = null;
    return taken;
  };
  return {
    async next() {
      const item = await (await begin()).next();
      if (item === null) await takeWriter()?.end();
      else if (!(item instanceof Failure)) await writer?.add(item);
      return item;
    },
    async save(): Promise<DiskState> {
      const state = await (await begin()).save();
      return isKept ? { at: Number(state) } : { input: state };
    },
    async close() {
      await elements?.close();
      await takeWriter()?.drop();
    },
  };
}
