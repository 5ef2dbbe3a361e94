/**
 * Splits a model's file into its messages without the elements of large initialisers, and these: they are read one by one, so that a
 * model is never in memory twice.
 */
import { DataLossError } from "../../engine/core/errors.ts";
import type { ByteFlow, LaterBytes } from "./byte_flow.ts";
import { concatBytes } from "../../library/io/bytes.ts";

/** Bytes of elements that are left for later. */
export const LARGE: number = 1 << 16;

/** Numbers of fields: the graph of a model, the initialisers of a graph, the elements of a tensor. */
const GRAPH = 7, INITIALISER = 5, RAW_DATA = 9;

/** A model's messages, and the elements that are not in them by the initialiser's number. */
export interface SplitModel {
  readonly bytes: Uint8Array;
  readonly later: ReadonlyMap<number, LaterBytes>;
}

/** A field's tag and what stands before its content. */
interface Field {
  readonly number: number;
  /** Bytes of its tag, and of the length or number after it. */
  readonly head: Uint8Array;
  /** Bytes of its content after the head. */
  readonly length: number;
  /** True for a message, text or bytes. */
  readonly isLong: boolean;
}

/** Splits a file. Rejects with `DataLossError` for bytes that are no fields, or that end too soon. */
export async function splitModel(flow: ByteFlow): Promise<SplitModel> {
  const later = new Map<number, LaterBytes>(), out: Uint8Array[] = [];
  let initialisers = 0;
  const tensor = async (end: number): Promise<Uint8Array> => {
    const parts: Uint8Array[] = [], number = initialisers++;
    await eachField(flow, end, async (field) => {
      if (field.number !== RAW_DATA || !field.isLong || field.length < LARGE) {
        // The last elements count.
        if (field.number === RAW_DATA) later.delete(number);
        parts.push(field.head, await flow.take(field.length));
      } else later.set(number, await flow.later(field.length));
    });
    return concatBytes(parts);
  };
  const graph = async (end: number): Promise<Uint8Array> => {
    const parts: Uint8Array[] = [];
    await eachField(flow, end, async (field) => {
      if (field.number !== INITIALISER || !field.isLong) {
        parts.push(field.head, await flow.take(field.length));
      } else parts.push(...message(INITIALISER, await tensor(flow.position + field.length)));
    });
    return concatBytes(parts);
  };
  await eachField(flow, Infinity, async (field) => {
    if (field.number === GRAPH && field.isLong) {
      out.push(...message(GRAPH, await graph(flow.position + field.length)));
    } else out.push(field.head, await flow.take(field.length));
  });
  return { bytes: concatBytes(out), later };
}

/** Calls `visit`, which takes the content, for each field before `end`. */
async function eachField(
  flow: ByteFlow,
  end: number,
  visit: (field: Field) => Promise<void>,
): Promise<void> {
  while (flow.position < end) {
    const ahead = await flow.peek(20);
    if (ahead.length === 0 && end === Infinity) return;
    const field = fieldAt(ahead, flow.position);
    await flow.take(field.head.length);
    if (flow.position + field.length > end) throw damaged(flow.position, "a field is too long");
    await visit(field);
    if (flow.position > end) throw damaged(flow.position, "a field is too long");
  }
}

/** Reads a field's head from the next bytes. */
function fieldAt(bytes: Uint8Array, position: number): Field {
  const tag = varint(bytes, 0, position), number = Math.floor(tag.value / 8), wire = tag.value % 8;
  const of = (end: number, length: number, isLong = false): Field => (
    { number, head: bytes.slice(0, end), length, isLong }
  );
  switch (wire) {
    case 0:
      return of(varint(bytes, tag.end, position).end, 0);
    case 1:
      return of(tag.end, 8);
    case 2: {
      const length = varint(bytes, tag.end, position);
      return of(length.end, length.value, true);
    }
    case 5:
      return of(tag.end, 4);
    default:
      throw damaged(position, `a field has the wire type ${wire}`);
  }
}

function varint(
  bytes: Uint8Array,
  from: number,
  position: number,
): { readonly value: number; readonly end: number } {
  let value = 0, factor = 1;
  for (let i = from; i < bytes.length && i < from + 10; i++) {
    value += (bytes[i] & 0x7f) * factor;
    if (bytes[i] < 0x80) return { value, end: i + 1 };
    factor *= 128;
  }
  throw damaged(position, "a number has no end");
}

/** Returns a message as a field. */
function message(number: number, content: Uint8Array): Uint8Array[] {
  const head = [number * 8 + 2];
  let length = content.length;
  for (; length >= 0x80; length = Math.floor(length / 128)) head.push(length % 128 + 0x80);
  head.push(length);
  return [Uint8Array.from(head), content];
}

function damaged(position: number, why: string): DataLossError {
  return new DataLossError(`Cannot read an ONNX model: ${why} at byte ${position}`);
}
