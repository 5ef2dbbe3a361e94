/** Datasets of files: their names, contents, lines and records, read piece by piece. */
import { decodeString, encodeString } from "../../../engine/core/text.ts";
import { describe } from "../../../engine/core/convert.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { optionCheck, type OptionKeys } from "../../../engine/core/arguments.ts";
import { Tensor } from "../../../engine/core/tensor.ts";
import { TensorSpec } from "../../../engine/core/tensor_spec.ts";
import {
  type ByteSource,
  ByteStream,
  type Compression,
  compressionFormat,
  sourceName,
} from "../../io/byte_stream.ts";
import { RecordReader } from "../../io/tf_record.ts";
import type { Dataset } from "../dataset.ts";
import type { Element, ElementType } from "../element.ts";
import { cycleSource } from "../flat_map.ts";
import { wholePass } from "../iterator.ts";
import { slicesSource, tensorsSource } from "../sources.ts";
import {
  checkCount,
  counted,
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Outcome,
  type Place,
  type Source,
  type State,
} from "../source.ts";
import { stageOver } from "../stage.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import { TypeError } from "../../../engine/core/throwing/builtin_errors.ts";

/** Files to read: one or more paths, URLs, blobs or arrays of bytes, or a tensor or dataset of paths. */
export type Files = ByteSource | readonly ByteSource[] | Tensor | Pick<Dataset, "source">;

/** Options of datasets of files. */
export interface FileOptions {
  /** Compression of the files. Default none. */
  readonly compression?: Compression;
  /** Number of files that are read at once, in turn. Default 1: one after another. */
  readonly numParallelReads?: number;
}

/** The keys of `FileOptions`, for checks of options that extend them. */
export const FILE_OPTIONS: OptionKeys<FileOptions> = { compression: true, numParallelReads: true };

/** Makes a scalar string. */
export function scalarString(value: Uint8Array | string): NdArray {
  return new NdArray("string", [], [encodeString(value)]);
}

const STRING = TensorSpec([], "string");
export const STRINGS: ElementType = { specs: [STRING], structure: 0 };

/** Reads the elements of one file. */
export interface FileReader {
  /** The next element; null at the end. */
  next(): Promise<Outcome | null>;
  /** Position from which a new reader continues. */
  readonly position: State;
  close(): void | Promise<void>;
}

/** Makes a reader from one that knows its position. */
function readerOver(
  below: Pick<FileReader, "position" | "close">,
  next: FileReader["next"],
): FileReader {
  return {
    next,
    get position() {
      return below.position;
    },
    close: () => below.close(),
  };
}

/** A format of files: the type of their elements and their reader. */
export interface FileKind extends ElementType {
  /** TensorFlow's name of the dataset without `Dataset`. */
  readonly kind: string;
  /** Opens a file, at a position where one is given. */
  readonly open: (file: ByteSource, position?: State) => FileReader;
}

/** The names of files as elements, and the sources of those that are not paths. */
interface Names {
  readonly source: Source;
  readonly find: (name: string) => ByteSource;
}

function namesOf(files: Files): Names {
  const found = new Map<string, ByteSource>();
  const find = (name: string): ByteSource => found.get(name) ?? name;
  if (files instanceof Tensor || isDataset(files)) {
    const source = isDataset(files)
      ? files.source
      : files.staticShape?.length === 1
      ? slicesSource(files)
      : tensorsSource(files);
    const [{ dtype, shape }] = source.specs;
    if (source.specs.length !== 1 || dtype !== "string" || (shape?.length ?? 0) !== 0) {
      throw new TypeError(
        `Cannot read files named by elements ${source.specs.join(", ")}: wanted scalar strings`,
      );
    }
    return { source, find };
  }
  const list = Array.isArray(files) ? files : [files];
  const names = list.map((file: ByteSource) => {
    if (typeof file === "string") return file;
    if (file instanceof URL) {
      found.set(file.href, file);
      return file.href;
    }
    if (!(file instanceof Blob || file instanceof Uint8Array)) {
      throw new TypeError(
        `Cannot read ${
          describe(file)
        }: wanted a path, a URL, a Blob, a Uint8Array, or a tensor or dataset of paths`,
      );
    }
    let name = sourceName(file);
    while (found.has(name)) name += "'";
    found.set(name, file);
    return name;
  });
  return { source: namesSource(names.map((name) => [scalarString(name)])), find };
}

/** Makes a source of names. */
function namesSource(names: readonly Element[]): Source {
  return makeSource({
    kind: "Files",
    ...STRINGS,
    size: names.length,
    open: (_, from?: number) => counted(names.length, from, (i) => names[i]),
  });
}

function isDataset(files: Files): files is { readonly source: Source } {
  return typeof (files as { readonly source?: Source } | null)?.source?.open === "function";
}

/** Reads the elements of files of a kind. */
export function filesSource(
  files: Files,
  kind: FileKind,
  { numParallelReads = 1 }: FileOptions,
): Source {
  const reads = checkCount(numParallelReads, "numParallelReads", 1);
  const { source, find } = namesOf(files);
  if (reads === 1) return readSource(source, kind, find);
  return cycleSource(source, { specs: kind.specs, structure: kind.structure }, {
    kind: "ParallelInterleave",
    length: reads,
    block: 1,
    ahead: reads,
    open: (name, place) => (state) =>
      readSource(namesSource([name]), kind, find).open(place, state),
  });
}

/** Finds the first of the files. Rejects with `ValueError` where there are none. */
export async function firstFile(files: Files): Promise<ByteSource> {
  const { source, find } = namesOf(files), names = source.open(wholePass());
  try {
    const item = await names.next();
    if (item instanceof Failure) throw item.error;
    if (item !== null) return find(decodeString(item[0].data[0] as Uint8Array));
    throw new ValueError("Cannot read files: there are none");
  } finally {
    await names.close();
  }
}

type ReadState = {
  readonly names: State;
  /** The current file. */
  readonly name: string | null;
  readonly position: State;
};

/** Reads the files that elements name, one after another. */
function readSource(
  names: Source,
  kind: FileKind,
  find: (name: string) => ByteSource,
): Source {
  const { specs, structure } = kind;
  return makeSource({
    kind: kind.kind,
    specs,
    structure,
    size: null,
    inputs: [names],
    open(place: Place, state?: ReadState): Elements {
      const elements = names.open(place, state?.names);
      let name = state?.name ?? null;
      let reader = name === null ? null : kind.open(find(name), state?.position);
      const end = async (): Promise<void> => {
        const ended = reader;
        reader = null;
        name = null;
        await ended?.close();
      };
      return {
        async next(): Promise<Item> {
          for (;;) {
            if (reader === null) {
              const item = await elements.next();
              if (item === null || item instanceof Failure) return item;
              name = decodeString(item[0].data[0] as Uint8Array);
              reader = kind.open(find(name));
            }
            try {
              const item = await reader.next();
              if (item !== null) return item;
              await end();
            } catch (error) {
              // The elements after broken bytes cannot be found: the next file is read.
              await end();
              return new Failure(error);
            }
          }
        },
        save: async (): Promise<ReadState> => ({
          name,
          position: reader?.position ?? null,
          names: await elements.save(),
        }),
        async close() {
          await reader?.close();
          await elements.close();
        },
      };
    },
  });
}

const NEWLINE = 10, RETURN = 13;

/** Reads the lines of a file, without their ends. */
export class LineReader {
  readonly #stream: ByteStream;
  #number: number;

  /** Creates a reader, at another reader's position where one is given. */
  constructor(
    file: ByteSource,
    compression: Compression | undefined,
    [at, number]: [number, number],
  ) {
    this.#stream = new ByteStream(file, compression, at);
    this.#number = number;
  }

  /** Reads the next line; null at the end. */
  async next(): Promise<Uint8Array | null> {
    const line = await this.#stream.readTo(NEWLINE);
    if (line === null) return null;
    this.#number++;
    let end = line.length;
    if (line[end - 1] === NEWLINE) end--;
    if (line[end - 1] === RETURN) end--;
    return line.subarray(0, end);
  }

  /** The place of the last line: `train.csv, line 3`. */
  get place(): string {
    return `${this.#stream.name}, line ${this.#number}`;
  }
  get position(): [number, number] {
    return [this.#stream.position, this.#number];
  }
  close(): Promise<void> {
    return this.#stream.close();
  }
}

/**
 * Makes a format whose elements come from lines; `read` gets the reader, for elements of several lines, and returns
 * null to skip a line.
 */
export function lineKind(
  kind: string,
  type: ElementType,
  { compression = "", read }: {
    readonly compression?: Compression | undefined;
    readonly read: (
      line: Uint8Array,
      lines: LineReader,
    ) => Outcome | null | Promise<Outcome | null>;
  },
): FileKind {
  compressionFormat(compression);
  return {
    kind,
    ...type,
    open(file, position) {
      const lines = new LineReader(file, compression, (position ?? [0, 0]) as [number, number]);
      return readerOver(lines, async () => {
        for (;;) {
          const line = await lines.next();
          if (line === null) return null;
          const item = await read(line, lines);
          if (item !== null) return item;
        }
      });
    },
  };
}

const checkLines = optionCheck<FileOptions>("textLines", FILE_OPTIONS);
const checkRecords = optionCheck<FileOptions>("tfrecord", FILE_OPTIONS);

/** Reads the lines of text files. */
export function linesSource(files: Files, options: FileOptions): Source {
  checkLines(options);
  const { compression } = options;
  const read = (line: Uint8Array): Element => [scalarString(line.slice())];
  return filesSource(files, lineKind("TextLine", STRINGS, { compression, read }), options);
}

/** Reads the records of TFRecord files. */
export function recordsSource(files: Files, options: FileOptions): Source {
  checkRecords(options);
  const { compression = "" } = options;
  compressionFormat(compression);
  return filesSource(files, {
    kind: "TFRecord",
    ...STRINGS,
    open(file, position) {
      const records = new RecordReader(file, compression, Number(position ?? 0));
      return readerOver(records, async () => {
        const record = await records.next();
        return record && [scalarString(record.slice())];
      });
    },
  }, options);
}

/** Options of {@linkcode fromFiles}. */
export interface FromFilesOptions {
  /** Compression of the files. Default none. */
  readonly compression?: Compression;
}

const checkFromFiles = optionCheck<FromFilesOptions>("fromFiles", { compression: true });

/** Reads names and contents of files. */
export function contentsSource(files: Files, options: FromFilesOptions): Source {
  checkFromFiles(options);
  const { compression = "" } = options;
  compressionFormat(compression);
  const { source, find } = namesOf(files);
  return stageOver(source, {
    kind: "FromFiles",
    // Components of records are ordered by name.
    specs: [STRING, STRING],
    structure: { path: 0, contents: 0 },
    size: source.size,
    async next({ input: names }) {
      const item = await names.next();
      if (item === null || item instanceof Failure) return item;
      try {
        const file = find(decodeString(item[0].data[0] as Uint8Array));
        return [scalarString(await readAll(file, compression)), item[0]];
      } catch (error) {
        return new Failure(error);
      }
    },
  });
}

/** Reads all bytes of a source. */
export async function readAll(file: ByteSource, compression: Compression): Promise<Uint8Array> {
  const stream = new ByteStream(file, compression);
  try {
    return (await stream.read(Infinity)).slice();
  } finally {
    await stream.close();
  }
}
