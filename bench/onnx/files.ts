// Models of ONNX with inputs and wanted outputs: those of the tests' pack, and of folders with NAME.onnx and NAME.io.bin.

/** A tensor in JavaScript's memory; float16, bfloat16 and bool as their bits. */
export interface OnnxArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: TypedData;
}

/** Data of a tensor. */
export type TypedData =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array;

/** A model, with the inputs of a run and what it gives. */
export interface OnnxFile {
  readonly name: string;
  /** The size of the largest difference allowed, relative to the largest number. */
  readonly tolerance: number;
  readonly inputs: ReadonlyMap<string, OnnxArray>;
  readonly outputs: ReadonlyMap<string, OnnxArray>;
  /** Reads the file. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  /** Reads the files of its external data, by the model's names for them. */
  external(): Promise<ExternalFiles>;
}

/** Bytes of files beside a model, by name. */
export type ExternalFiles = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

/** A tensor of a line of JSON: dtype, shape, and its place in the bytes after the line. */
interface Entry {
  readonly d: string;
  readonly s: readonly number[];
  readonly b: readonly [from: number, length: number];
}

const TYPES: Readonly<Record<string, new (buffer: ArrayBuffer) => TypedData>> = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  bool: Uint8Array,
};

/** Splits bytes into the value of a line of JSON and the bytes after it. */
function split<T>(all: Uint8Array<ArrayBuffer>): [T, Uint8Array<ArrayBuffer>] {
  const line = all.indexOf(10);
  return [JSON.parse(new TextDecoder().decode(all.subarray(0, line))), all.subarray(line + 1)];
}

function arraysOf(
  entries: Readonly<Record<string, Entry>>,
  bytes: Uint8Array<ArrayBuffer>,
): Map<string, OnnxArray> {
  return new Map(
    Object.entries(entries).map(([name, { d, s, b: [from, length] }]) => {
      const data = new TYPES[d]!(bytes.slice(from, from + length).buffer);
      return [name, { dtype: d, shape: s, data }];
    }),
  );
}

/** Reads the models of a folder, sorted by name. */
export async function folderFiles(folder: string): Promise<OnnxFile[]> {
  const all = [...Deno.readDirSync(folder)].map((f) => f.name);
  const names = all.filter((name) => name.endsWith(".io.bin")).map((name) => name.slice(0, -7))
    .sort();
  const files: OnnxFile[] = [];
  for (const name of names) {
    const [head, bytes] = split<
      {
        tol: number;
        sets: [Record<string, Entry>, Record<string, Entry>][];
      }
    >(await Deno.readFile(`${folder}/${name}.io.bin`));
    const [inputs, outputs] = head.sets[0]!;
    const beside = all.filter((file) => file.startsWith(`${name}.onnx_data`));
    files.push({
      name,
      tolerance: head.tol,
      inputs: arraysOf(inputs, bytes),
      outputs: arraysOf(outputs, bytes),
      bytes: () => Deno.readFile(`${folder}/${name}.onnx`),
      external: async () =>
        Object.fromEntries(
          await Promise.all(
            beside.map(async (file) => [file, await Deno.readFile(`${folder}/${file}`)] as const),
          ),
        ),
    });
  }
  return files;
}

/** Returns the largest difference of results from the wanted ones, relative to the largest number. */
export function errorOf(
  got: ReadonlyMap<string, ArrayLike<number | bigint>>,
  wanted: ReadonlyMap<string, OnnxArray>,
): number {
  let error = 0;
  for (const [name, { dtype, data }] of wanted) {
    const found = got.get(name)!, isHalf = dtype === "float16";
    const halves = isHalf ? new Float16Array(data.buffer as ArrayBuffer) : null;
    let largest = 1e-30, worst = 0;
    for (let i = 0; i < data.length; i++) {
      const want = Number(halves?.[i] ?? data[i]), have = Number(found[i]);
      if (Number.isFinite(want)) largest = Math.max(largest, Math.abs(want));
      if (!Object.is(want, have) && want !== have) {
        const d = Math.abs(want - have);
        worst = Math.max(worst, Number.isNaN(d) ? Infinity : d);
      }
    }
    error = Math.max(error, worst / largest);
  }
  return error;
}
