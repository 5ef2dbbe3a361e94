/** Attributes of a node, read by name and kind. */
import { decodeString } from "../../engine/core/text.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import type { Attribute } from "../proto/onnx_pb.ts";
import { readTensor, type TensorData } from "./tensor_data.ts";

/** Attributes of a node. Each reader throws `DataLossError` for an attribute of another kind. */
export class Attributes {
  readonly #byName: ReadonlyMap<string, Attribute>;
  readonly #owner: string;

  /** Reads the attributes of a node that errors call `owner`. Throws `DataLossError` for a repeated name. */
  constructor(attributes: readonly Attribute[], owner: string) {
    this.#byName = new Map(attributes.map((a) => [a.name, a]));
    this.#owner = owner;
    if (this.#byName.size < attributes.length) {
      throw new DataLossError(`Cannot read ${owner}: two of its attributes have one name`);
    }
  }

  /** Names of all. */
  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** True where the node has it. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** A floating-point number. */
  float(name: string, otherwise: number): number {
    const a = this.#of(name, 1);
    return a === undefined ? otherwise : a.f;
  }

  /** Reads an integer; one beyond JavaScript's exact numbers is rounded. */
  int(name: string, otherwise: number): number {
    const a = this.#of(name, 2);
    return a === undefined ? otherwise : Number(a.i);
  }

  /** Reads an integer as a boolean. */
  flag(name: string, otherwise = false): boolean {
    return this.int(name, Number(otherwise)) !== 0;
  }

  /** A whole number of 64 bits. */
  bigint(name: string): bigint | undefined {
    return this.#of(name, 2)?.i;
  }

  text(name: string, otherwise: string): string {
    const a = this.#of(name, 3);
    return a === undefined ? otherwise : decodeString(a.s);
  }

  /** The bytes of a text. */
  bytes(name: string): Uint8Array | undefined {
    return this.#of(name, 3)?.s;
  }

  tensor(name: string): TensorData | undefined {
    const a = this.#of(name, 4);
    if (a !== undefined && a.t === undefined) throw this.#bad(name, "a tensor");
    return a && readTensor(a.t!);
  }

  /** Floating-point numbers. */
  floats(name: string): readonly number[] | undefined {
    return this.#of(name, 6)?.floats;
  }

  /** Whole numbers, as {@linkcode int}. */
  ints(name: string): readonly number[] | undefined {
    return this.#of(name, 7)?.ints.map(Number);
  }

  texts(name: string): readonly string[] | undefined {
    return this.#of(name, 8)?.strings.map((s) => decodeString(s));
  }

  /** Bytes of texts. */
  byteStrings(name: string): readonly Uint8Array[] | undefined {
    return this.#of(name, 8)?.strings;
  }

  tensors(name: string): readonly TensorData[] | undefined {
    return this.#of(name, 9)?.tensors.map((t) => readTensor(t));
  }

  /** Returns the attribute in the file's form. */
  raw(name: string): Attribute | undefined {
    return this.#byName.get(name);
  }

  #of(name: string, kind: number): Attribute | undefined {
    const a = this.#byName.get(name);
    // Files of the format's first versions do not tell the kind.
    if (a !== undefined && a.type !== 0 && a.type !== kind) throw this.#bad(name, KINDS[kind]);
    return a;
  }

  #bad(name: string, wanted: string): DataLossError {
    return new DataLossError(
      `Cannot read ${this.#owner}: its attribute "${name}" is not ${wanted}`,
    );
  }
}

/** Kinds of attributes by number, for errors. */
const KINDS: Readonly<Record<number, string>> = {
  1: "a floating-point number",
  2: "a whole number",
  3: "a text",
  4: "a tensor",
  6: "a list of floating-point numbers",
  7: "a list of whole numbers",
  8: "a list of texts",
  9: "a list of tensors",
};
