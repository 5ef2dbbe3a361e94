/** Elements and states of passes as bytes: JSON, followed by the values of arrays. */
import { decodeString, encodeString } from "../../engine/core/text.ts";
import { type DType, isDType } from "../../engine/core/dtype.ts";
import * as errors from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, setKey } from "../../engine/core/nest.ts";
import { isShape, sizeOf } from "../../engine/core/shape.ts";
import { readable, textOf } from "../../engine/core/thrown.ts";
import { arrayFromBytes, type Bytes, bytesOfArray, concatBytes, viewOf } from "../io/bytes.ts";
import { crc32c } from "../io/crc.ts";
import type { Element } from "./element.ts";
import { Failure, type State } from "./source.ts";

/** The elements of a window, which is itself an element. */
export type Window = readonly Element[];

/** The key that marks the encoding of a value that JSON lacks. */
const KIND = "$";
const { DataLossError, UnimplementedError } = errors;

/** Encodes a state. Throws `UnimplementedError` for arrays of handles. */
export function encodeState(state: State): Bytes {
  const parts: Uint8Array[] = [];
  let at = 0;
  const add = (bytes: Uint8Array): void => {
    parts.push(bytes);
    at += bytes.length;
  };
  const array = (x: NdArray): unknown => {
    const { dtype, shape } = x, start = at;
    if (dtype === "variant") {
      // Elements of windows; their type is known to the stage that made them.
      const windows = (x.data as unknown as Window[]).map((elements) => elements.map(visit));
      return { [KIND]: "windows", shape, windows };
    }
    if (dtype === "resource") {
      throw new UnimplementedError("Cannot save an element that holds handles of resources");
    }
    if (dtype !== "string") add(bytesOfArray(x));
    else {
      const strings = x.data as Uint8Array[];
      const lengths = Uint32Array.from(strings, (s) => s.length);
      [bytesOfArray(new NdArray("uint32", [strings.length], lengths)), ...strings].forEach(add);
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
  const head = new Uint8Array(HEAD);
  viewOf(head).setUint32(4, header.length, true);
  const bytes = concatBytes([head, header, ...parts]);
  viewOf(bytes).setUint32(0, crc32c(bytes.subarray(4)), true);
  return bytes;
}

/** Bytes of the head: a checksum of the rest, and the length of the JSON. */
const HEAD = 8;

/** Decodes a state. Throws `DataLossError` for bytes that are no state. */
export function decodeState(bytes: Uint8Array): State {
  const fail = (why: string, cause?: unknown): never => {
    throw new DataLossError(`Cannot read the state of a dataset: ${why}`, { cause });
  };
  if (bytes.length < HEAD) fail(`${bytes.length} bytes are none`);
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== crc32c(bytes.subarray(4))) {
    fail("its bytes are broken or cut off");
  }
  const data = HEAD + view.getUint32(4, true);
  let json: unknown;
  try {
    json = JSON.parse(decodeString(bytes.subarray(HEAD, data)));
  } catch (cause) {
    fail("its head is no JSON", cause);
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
          (value.windows as unknown[][]).map((elements) => elements.map(visit)),
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

function failureText(failure: Failure): Record<string, State> {
  const error = readable(failure.error);
  if (!(error instanceof Error)) return { name: "UnknownError", message: textOf(error) };
  const { op, node } = error as errors.OpError;
  return { name: error.name, message: error.message, op, node };
}

/** Restores an error in its class where it is one of TensorFlow's. */
function failureFrom({ name, message, op, node }: Record<string, unknown>): Failure {
  const known = (errors as Record<string, unknown>)[String(name)];
  const isOurs = typeof known === "function" && known.prototype instanceof errors.OpError;
  const Class = (isOurs ? known : errors.UnknownError) as typeof errors.OpError;
  return new Failure(new Class(String(message), { op, node } as errors.ErrorDetails));
}
