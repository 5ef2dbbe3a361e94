/**
 * Elements in a file: save, load, and a cache on disk. The file is one of TFRecords: what the elements are, they themselves, their number.
 */
import { decodeString } from "../core/text.ts";
import { asDType } from "../core/dtype.ts";
import { DataLossError } from "../core/errors.ts";
import { isPlainObject } from "../core/nest.ts";
import { type Spec, TensorSpec } from "../core/tensor_spec.ts";
import { optionCheck } from "../core/options.ts";
import type { Compression } from "../io/byte_stream.ts";
import { fileExists, removeFile, renameFile } from "../io/file_system.ts";
import { RecordReader, TFRecordWriter } from "../io/tf_record.ts";
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
import { decodeState, encodeState } from "./state.ts";

/** Options of {@linkcode Dataset.save} and {@linkcode load}. */
export interface SnapshotOptions {
  /** How the file is compressed. Default not at all. */
  readonly compression?: Compression;
}

const checkOptions = optionCheck<SnapshotOptions>("save", { compression: true });

/** What the first record says. */
interface Header {
  readonly dataset: 1;
  readonly specs: readonly Spec[];
  readonly structure: unknown;
}

/** Writes elements to a file that has its name only when it is complete. */
class SnapshotWriter {
  readonly #path: string;
  readonly #part: string;
  readonly #writer: TFRecordWriter;
  #count = 0;

  constructor(path: string, { compression = "" }: SnapshotOptions) {
    this.#path = path;
    this.#part = `${path}.${crypto.randomUUID().slice(0, 8)}.part`;
    this.#writer = new TFRecordWriter(this.#part, { compression });
  }

  begin({ specs, structure }: ElementType): Promise<void> {
    const header = {
      dataset: 1,
      specs: specs.map(({ shape, dtype }) => ({ shape, dtype })),
      structure: structureToJson(structure),
    };
    return this.#writer.write(JSON.stringify(header));
  }
  add(element: Element): Promise<void> {
    this.#count++;
    return this.#writer.write(encodeState(element));
  }
  async end(): Promise<void> {
    await this.#writer.write(encodeState({ count: this.#count }));
    await this.#writer.close();
    await renameFile(this.#part, this.#path);
  }
  async drop(): Promise<void> {
    await this.#writer.close();
    await removeFile(this.#part);
  }
}

/** Writes all elements of a pass. Rejects with the error of the first that cannot be computed, and then leaves no file. */
export async function writeSnapshot(
  type: ElementType,
  elements: Elements,
  path: string,
  options: SnapshotOptions,
): Promise<void> {
  checkOptions(options);
  const writer = new SnapshotWriter(path, options);
  try {
    await writer.begin(type);
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

/** The elements of a file, from a position in it. */
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

/** The dataset in a file. Rejects with `NotFoundError` where there is none, `DataLossError` where it is no dataset. */
export async function loadSource(path: string, options: SnapshotOptions): Promise<Source> {
  checkOptions(options);
  const { compression = "" } = options;
  const records = new RecordReader(path, compression);
  try {
    const type = readHeader(await records.next(), path);
    return makeSource({
      ...{ kind: "Load", ...type, size: null },
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

/** Elements kept in a file from the first complete pass, in this process or another. */
export function diskCacheSource(input: Source, path: string): Source {
  return makeSource({
    kind: "Cache",
    ...sameAs(input),
    isFresh: false,
    open: (place: Place, state?: DiskState) => new DiskCache(input, path, place, state),
  });
}

class DiskCache implements Elements {
  readonly #source: Source;
  readonly #path: string;
  readonly #place: Place;
  readonly #state: DiskState | undefined;
  #kept: Elements | null = null;
  #input: Elements | null = null;
  #writer: SnapshotWriter | null = null;

  constructor(source: Source, path: string, place: Place, state: DiskState | undefined) {
    this.#source = source;
    this.#path = path;
    this.#place = place;
    this.#state = state;
  }

  async next(): Promise<Item> {
    await this.#begin();
    if (this.#kept) return await this.#kept.next();
    const item = await this.#input!.next();
    if (item === null) {
      const writer = this.#writer;
      this.#writer = null;
      await writer?.end();
    } else if (!(item instanceof Failure)) await this.#writer?.add(item);
    return item;
  }

  async save(): Promise<DiskState> {
    await this.#begin();
    return this.#kept
      ? { at: Number(await this.#kept.save()) }
      : { input: await this.#input!.save() };
  }

  async close(): Promise<void> {
    await this.#kept?.close();
    await this.#input?.close();
    const writer = this.#writer;
    this.#writer = null;
    await writer?.drop();
  }

  async #begin(): Promise<void> {
    if (this.#kept || this.#input) return;
    const state = this.#state;
    if (state?.at !== undefined || (state === undefined && await fileExists(this.#path))) {
      this.#kept = readSnapshot(this.#path, "", state?.at);
      return;
    }
    this.#input = this.#source.open(this.#place, state?.input);
    // A pass that goes on has not seen those before: the next one writes the file.
    if (state !== undefined) return;
    this.#writer = new SnapshotWriter(this.#path, {});
    await this.#writer.begin(this.#source);
  }
}
