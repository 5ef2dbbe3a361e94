/**
 * Elements and states of passes as bytes: JSON with the values of arrays behind it.
 */
import { encodeString } from "../core/text.ts";
import { type DType, isDType } from "../core/dtype.ts";
import * as errors from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { isPlainObject, setKey } from "../core/nest.ts";
import { isShape, sizeOf } from "../core/shape.ts";
import { type Spec, TensorSpec } from "../core/tensor_spec.ts";
import { arrayFromBytes, type Bytes, bytesOfArray, concatBytes, viewOf } from "../io/bytes.ts";
import type { Element, ElementType } from "./element.ts";
import { Failure, type State } from "./source.ts";

/** Elements that stand in an element: a window. */
export interface Rows {
  /** What they are. */
  readonly type: ElementType;
  /** They themselves. */
  readonly elements: readonly Element[];
}

/** The key that no record of a state has but what stands for something else. */
const KIND = "$";
const { DataLossError, UnimplementedError } = errors;

/** A state as bytes. Throws `UnimplementedError` for arrays of handles. */
export function encodeState(state: State): Bytes {
  const parts: Uint8Array[] = [];
  let at = 0;
  const add = (bytes: Uint8Array): number => {
    parts.push(bytes);
    at += bytes.length;
    return bytes.length;
  };
  const array = (x: NdArray): unknown => {
    const { dtype, shape } = x, start = at;
    if (dtype === "variant") {
      const rows = (x.data as unknown as Rows[]).map(({ type: { specs, structure }, elements }) => ({
        specs: specs.map(({ shape, dtype }) => ({ shape, dtype })),
        structure,
        elements: elements.map(visit),
      }));
      return { [KIND]: "windows", shape, rows };
    }
    if (dtype === "resource") {
      throw new UnimplementedError("Cannot save an element that holds handles of resources");
    }
    if (dtype !== "string") add(bytesOfArray(x));
    else {
      const strings = x.data as Uint8Array[];
      add(bytesOfArray(lengthsOf(strings)));
      strings.forEach(add);
    }
    return { [KIND]: "array", dtype, shape, start, length: at - start };
  };
  const visit = (value: State): unknown => {
    if (value instanceof NdArray) return array(value);
    if (value instanceof Failure) return { [KIND]: "failure", ...failureText(value) };
    if (Array.isArray(value)) return value.map(visit);
    if (!isPlainObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, visit(v as State)]));
  };
  const header = encodeString(JSON.stringify(visit(state) ?? null));
  const length = new Uint8Array(4);
  viewOf(length).setUint32(0, header.length, true);
  return concatBytes([length, header, ...parts]);
}

function lengthsOf(strings: readonly Uint8Array[]): NdArray {
  return new NdArray("uint32", [strings.length], Uint32Array.from(strings, (s) => s.length));
}

/** A state from its bytes. Throws `DataLossError` where they are no state. */
export function decodeState(bytes: Uint8Array): State {
  const fail = (why: string): never => {
    throw new DataLossError(`Cannot read the state of a dataset: ${why}`);
  };
  if (bytes.length < 4) fail(`${bytes.length} bytes are none`);
  const data = 4 + viewOf(bytes).getUint32(0, true);
  if (data > bytes.length) fail("it is cut off");
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(4, data)));
  } catch (cause) {
    throw new DataLossError("Cannot read the state of a dataset: its head is no JSON", { cause });
  }
  const array = ({ dtype, shape, start, length }: Record<string, unknown>): NdArray => {
    const from = data + Number(start), to = from + Number(length);
    if (!isDType(dtype) || !isShape(shape) || !(from >= data && to >= from)) {
      return fail("an array in it is none");
    }
    if (to > bytes.length) fail("it is cut off");
    const part = bytes.subarray(from, to);
    return dtype === "string"
      ? stringsFrom(shape, part, fail)
      : arrayFromBytes(dtype as DType, shape, part, "the state of a dataset");
  };
  const windowFrom = ({ specs, structure, elements }: Record<string, unknown>): Rows => ({
    type: {
      specs: (specs as Spec[]).map(({ shape, dtype }) => TensorSpec(shape, dtype)),
      structure,
    },
    elements: (elements as unknown[]).map(visit) as unknown as Element[],
  });
  const visit = (value: unknown): State => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isPlainObject(value)) return value as State;
    switch (value[KIND]) {
      case "array":
        return array(value);
      case "failure":
        return failureFrom(value);
      case "windows":
        return new NdArray(
          "variant",
          value.shape as number[],
          (value.rows as Record<string, unknown>[]).map(windowFrom),
        );
    }
    const out: Record<string, State> = {};
    for (const [key, v] of Object.entries(value)) setKey(out, key, visit(v));
    return out;
  };
  return visit(json);
}

function stringsFrom(
  shape: readonly number[],
  bytes: Uint8Array,
  fail: (why: string) => never,
): NdArray {
  const n = sizeOf(shape);
  if (bytes.length < 4 * n) fail("an array of strings in it is cut off");
  const view = viewOf(bytes);
  const strings: Uint8Array[] = [];
  let at = 4 * n;
  for (let i = 0; i < n; i++) {
    const end = at + view.getUint32(4 * i, true);
    if (end > bytes.length) fail("an array of strings in it is cut off");
    strings.push(bytes.slice(at, end));
    at = end;
  }
  return new NdArray("string", shape, strings);
}

function failureText({ error }: Failure): Record<string, State> {
  if (!(error instanceof Error)) return { name: "UnknownError", message: String(error) };
  const { op, node } = error as errors.OpError;
  return { name: error.name, message: error.message, op, node };
}

/** Errors come back in their class where it is one of TensorFlow's. */
function failureFrom({ name, message, op, node }: Record<string, unknown>): Failure {
  const known = (errors as Record<string, unknown>)[String(name)];
  const isOurs = typeof known === "function" && known.prototype instanceof errors.OpError;
  const Class = (isOurs ? known : errors.UnknownError) as typeof errors.OpError;
  return new Failure(
    new Class(String(message), {
      op: op as string | undefined,
      node: node as string | undefined,
    }),
  );
}
