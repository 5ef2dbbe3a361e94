/**
 * Packs of models with inputs and outputs: a line of JSON, then the bytes that it points into, compressed. `make_node_tests.py` writes
 * those of ONNX's own node tests.
 */
import { NdArray } from "@weft/weft";
import type { DType } from "@weft/weft";
import type { OnnxInput, OnnxModel } from "@weft/weft/onnx";

/** A model in a pack: its place, inputs and wanted outputs. */
export interface Case {
  /** Its name. */
  readonly n: string;
  /** Offset of its file, and its length in bytes. */
  readonly m: readonly [from: number, length: number];
  /** Inputs and outputs: numbers of tensors, lists of them for sequences, null for absent optionals. */
  readonly sets:
    readonly (readonly [inputs: readonly Reference[], outputs: readonly Reference[]])[];
  /** Tolerance of results, relative and absolute. */
  readonly rtol?: number;
  readonly atol?: number;
  /** Tolerance relative to the largest result. */
  readonly scale?: number;
  /** True where only dtypes and shapes are known. */
  readonly random?: boolean;
}

/** A value of a case. */
export type Reference = number | null | readonly Reference[];

interface Entry {
  readonly d: DType;
  readonly s: readonly number[];
  readonly b?: readonly [from: number, length: number];
  readonly v?: readonly string[];
}

/** A value as an array, a list of them, or null. */
export type Arrays = NdArray | null | readonly Arrays[];

/** A pack that was read. */
export class Pack {
  readonly cases: readonly Case[];
  readonly #tensors: readonly Entry[];
  readonly #bytes: Uint8Array<ArrayBuffer>;

  private constructor(all: Uint8Array<ArrayBuffer>) {
    const line = all.indexOf(10),
      head = JSON.parse(new TextDecoder().decode(all.subarray(0, line)));
    this.cases = head.cases;
    this.#tensors = head.tensors;
    this.#bytes = all.subarray(line + 1);
  }

  /** Reads a pack of the fixtures. */
  static async read(name: string): Promise<Pack> {
    const file = await Deno.open(new URL(`fixtures/${name}.bin.gz`, import.meta.url));
    const stream = file.readable.pipeThrough(new DecompressionStream("gzip"));
    return new Pack(new Uint8Array(await new Response(stream).arrayBuffer()));
  }

  /** The file of a case's model. */
  model({ m: [from, length] }: Case): Uint8Array {
    return this.#bytes.slice(from, from + length);
  }

  /** The arrays that a reference means. */
  arrays(reference: Reference): Arrays {
    if (reference === null) return null;
    if (typeof reference !== "number") return reference.map((r) => this.arrays(r));
    const { d, s, b, v } = this.#tensors[reference];
    if (v !== undefined) return new NdArray(d, s, v.map((text) => new TextEncoder().encode(text)));
    const { buffer } = this.#bytes.slice(b![0], b![0] + b![1]);
    const size = s.reduce((n, extent) => n * extent, 1);
    const like = NdArray.zeros(d, [0]).data as { constructor: unknown };
    const Typed = like.constructor as new (buffer: ArrayBuffer) => Uint8Array;
    const data = new Typed(buffer);
    return new NdArray(d, s, data.subarray(0, d.startsWith("complex") ? 2 * size : size));
  }

  /** A case's inputs by the names that its model gives them. */
  feeds(model: OnnxModel, inputs: readonly Reference[]): Record<string, OnnxInput> {
    const given = inputs.map((r) => this.arrays(r)).filter((_, i) => i < model.inputs.length);
    return Object.fromEntries(given.map((value, i) => [model.inputs[i].name, value as OnnxInput]));
  }
}

/** Returns the difference of a result from the expected one; null for none. */
export function difference(
  got: unknown,
  want: Arrays,
  tolerance: Omit<Case, "n" | "m" | "sets">,
): string | null {
  const { rtol = 0, scale = 0, random = false } = tolerance;
  if (Array.isArray(want) || want === null) {
    const list = want ?? [];
    if (!Array.isArray(got)) return "it is a tensor, wanted a list";
    if (got.length !== list.length) return `it has ${got.length} items, wanted ${list.length}`;
    for (const [i, item] of list.entries()) {
      const found = difference(got[i], item, tolerance);
      if (found !== null) return `item ${i}: ${found}`;
    }
    return null;
  }
  const wanted = want as NdArray;
  if (!(got instanceof NdArray)) return "it is no array";
  if (got.dtype !== wanted.dtype) return `it is ${got.dtype}, wanted ${wanted.dtype}`;
  if (`${got.shape}` !== `${wanted.shape}`) {
    return `its shape is [${got.shape}], wanted [${wanted.shape}]`;
  }
  if (random) return null;
  const atol = (tolerance.atol ?? 0) + (scale === 0 ? 0 : scale * largest(wanted));
  for (let i = 0; i < wanted.size; i++) {
    const a = elements(got.at(i)), b = elements(wanted.at(i));
    if (a.some((v, k) => !isNear(v, b[k], rtol, atol))) {
      return `element ${i} is ${a}, wanted ${b}`;
    }
  }
  return null;
}

/** The size of the largest number. */
function largest(array: NdArray): number {
  let most = 0;
  for (let i = 0; i < array.size; i++) {
    const size = Math.abs(Number(array.at(i)));
    if (Number.isFinite(size)) most = Math.max(most, size);
  }
  return most;
}

/** An element as numbers and texts. */
function elements(value: unknown): (number | string)[] {
  if (value instanceof Uint8Array) return [new TextDecoder().decode(value)];
  return (Array.isArray(value) ? value : [value]).map((v) =>
    typeof v === "bigint" && !Number.isSafeInteger(Number(v)) ? String(v) : Number(v)
  );
}

function isNear(a: number | string, b: number | string, rtol: number, atol: number): boolean {
  if (Object.is(a, b) || a === b) return true;
  return typeof a === "number" && typeof b === "number" &&
    Math.abs(a - b) <= atol + rtol * Math.abs(b);
}
