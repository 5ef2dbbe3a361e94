/** TensorProto: a tensor in TensorFlow's protocol buffer, the format of `SerializeTensor` and `ParseTensor`. */
import { concatBytes, viewOf } from "../../../core/text.ts";
import { type DType, DTYPES, isBigInt, makeData } from "../../../core/dtype.ts";
import { InvalidArgumentError, UnimplementedError } from "../../../core/errors.ts";
import { NdArray } from "../../../core/nd_array.ts";
import { sizeOf } from "../../../core/shape.ts";
import { field, Reader, varintBytes } from "../../../core/protobuf.ts";

/** Numbers of the fields of TensorProto. */
const DTYPE = 1, SHAPE = 2, CONTENT = 4, STRINGS = 8;
/** Numbers of the fields that list values, by dtype; all other integers are in field 7. */
const LISTS: Partial<Record<DType, number>> = {
  float32: 5,
  float64: 6,
  complex64: 9,
  int64: 10,
  bool: 11,
  complex128: 12,
  float16: 13,
  bfloat16: 13,
  uint32: 16,
  uint64: 17,
};

/** Encodes a tensor. Throws `UnimplementedError` for handles. */
export function writeTensor({ dtype, shape, data }: NdArray): Uint8Array<ArrayBuffer> {
  const { tf, bytes, kind } = DTYPES[dtype];
  if (kind === "handle") {
    throw new UnimplementedError(`Cannot serialize a tensor of dtype ${dtype}`);
  }
  const dims = shape.flatMap((d) =>
    field(SHAPE, d === 0 ? [] : [Uint8Array.of(8, ...varintBytes(d))])
  );
  const parts = [Uint8Array.of(DTYPE << 3, tf), ...field(SHAPE, dims)];
  if (bytes === 0) {
    for (const text of data as Uint8Array[]) parts.push(...field(STRINGS, [text]));
  } else if (sizeOf(shape) > 0) {
    const { buffer, byteOffset, byteLength } = data as Uint8Array;
    parts.push(...field(CONTENT, [new Uint8Array(buffer, byteOffset, byteLength)]));
  }
  return concatBytes(parts);
}

class TensorReader extends Reader {
  override refuse(): never {
    throw new InvalidArgumentError("Could not parse `serialized` as TensorProto");
  }
}

function readShape(reader: Reader): number[] {
  const dims: number[] = [], end = reader.enter();
  while (reader.next(end)) {
    if (reader.number !== 2) continue;
    const last = reader.enter();
    let size = 0;
    while (reader.next(last)) {
      if ((reader.number as number) === 1) size = reader.high * 2 ** 32 + (reader.low >>> 0);
    }
    dims.push(size);
  }
  return dims;
}

/** Adds the values of a list field, packed or one of them; integers as 64 bits. */
function readValues(reader: Reader, isReal: boolean, width: number, values: unknown[]): void {
  const { wire, from, to, bytes } = reader;
  if (isReal) {
    const view = viewOf(bytes);
    if (wire === 0 || (to - from) % width !== 0) reader.refuse();
    for (let at = from; at < to; at += width) {
      values.push(width === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true));
    }
    return;
  }
  const push = (): void => {
    values.push(BigInt(reader.high >>> 0) << 32n | BigInt(reader.low >>> 0));
  };
  if (wire === 0) return push();
  for (const end = reader.enter(); reader.at < end;) {
    reader.varint(end);
    push();
  }
}

/** Decodes a tensor. Throws `InvalidArgumentError` for invalid bytes, or another dtype. */
export function readTensor(bytes: Uint8Array, dtype: DType): NdArray {
  const reader = new TensorReader();
  reader.bytes = bytes;
  let found = 0, shape: number[] = [], content: Uint8Array | null = null;
  const values: unknown[] = [], { tf, tfName, kind, bytes: width, slots } = DTYPES[dtype];
  const list = LISTS[dtype] ?? 7, isReal = list < 7 || kind === "complex";
  while (reader.next(bytes.length)) {
    const { number, from, to } = reader;
    if (number === DTYPE) found = reader.low;
    else if (number === SHAPE) {
      shape = readShape(reader);
      reader.at = to;
    } else if (number === CONTENT) content = bytes.subarray(from, to);
    else if (dtype === "string") {
      if (number === STRINGS) values.push(bytes.subarray(from, to));
    } else if (number === list) readValues(reader, isReal, width / slots, values);
  }
  if (found !== tf) {
    const given = Object.values(DTYPES).find((d) => d.tf === found)?.tfName ?? `type ${found}`;
    throw new InvalidArgumentError(
      `Type mismatch between parsed tensor (${given}) and dtype (${tfName})`,
    );
  }
  const size = sizeOf(shape);
  const refuse = (what: string): never => {
    throw new InvalidArgumentError(
      `Cannot parse tensor from proto: it has ${what}, its shape is [${shape}]`,
    );
  };
  if (!Number.isSafeInteger(size)) refuse("no such size");
  if (content !== null && content.length !== size * width) refuse(`${content.length} bytes`);
  // One value stands for all that follow it: a large shape costs nothing in the file.
  if (content === null && size > MOST_REPEATED && values.length < size) {
    refuse(`${values.length} values`);
  }
  const out = new NdArray(dtype, shape, makeData(dtype, size)), to = out.data as unknown[];
  if (content !== null) {
    const { buffer, byteOffset, byteLength } = out.data as Uint8Array;
    new Uint8Array(buffer, byteOffset, byteLength).set(content);
  } else if (values.length > 0) {
    const given = isReal || width === 0 ? values : fitted(dtype, values as bigint[]);
    const last = given.length - slots;
    for (let i = 0; i < size * slots; i++) to[i] = given[i < given.length ? i : last + i % slots];
  }
  return out;
}

/** Most repetitions of one value. */
const MOST_REPEATED = 1 << 28;

/** Converts integers of a message to a dtype's array. */
function fitted(dtype: DType, values: readonly bigint[]): ArrayLike<unknown> {
  if (isBigInt(dtype)) return values;
  const numbers = values.map((v) => Number(BigInt.asIntN(32, v)));
  // Halves are written as their bits.
  if (dtype !== "float16") return numbers;
  const halves = makeData(dtype, numbers.length) as Uint16Array;
  new Uint16Array(halves.buffer).set(numbers);
  return halves;
}
