/** The elements of a tensor in a bundle's data file. Follows TensorFlow `tensor_bundle.cc`. */
import { type DType, DTYPES, type HostData } from "../../engine/core/dtype.ts";
import { DataLossError, UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import { bytesOfArray } from "../../library/io/bytes.ts";
import { ByteWriter } from "./byte_writer.ts";
import { crc32c, maskCrc } from "../../library/io/crc.ts";
import { Cursor } from "./table.ts";

/** Bytes of a tensor, and their checksum for the index. */
export interface StoredElements {
  readonly bytes: Uint8Array;
  readonly crc: number;
}

/** Encodes elements. Throws `UnimplementedError` for handles, which files cannot hold. */
export function encodeElements(array: NdArray): StoredElements {
  if (array.dtype === "string") return encodeStrings(array.data as Uint8Array[]);
  if (DTYPES[array.dtype].kind === "handle") {
    throw new UnimplementedError(`Cannot write a tensor of dtype ${array.dtype} to a checkpoint`);
  }
  const bytes = bytesOfArray(array);
  return { bytes, crc: maskCrc(crc32c(bytes)) };
}

/** Encodes lengths, their checksum, then all strings. The checksums take lengths as 32-bit numbers. */
function encodeStrings(strings: readonly Uint8Array[]): StoredElements {
  const out = new ByteWriter(), lengths = new ByteWriter();
  for (const s of strings) {
    out.varint(s.length);
    lengths.fixed32(s.length);
  }
  let crc = crc32c(lengths.bytes);
  const stored = new ByteWriter();
  stored.fixed32(maskCrc(crc));
  crc = crc32c(stored.bytes, crc);
  out.put(stored.bytes);
  for (const s of strings) {
    out.put(s);
    crc = crc32c(s, crc);
  }
  return { bytes: out.bytes, crc: maskCrc(crc) };
}

/** Decodes elements. Throws `DataLossError` where bytes and checksum, shape or dtype do not fit. */
export function decodeElements(
  dtype: DType,
  shape: readonly number[],
  { bytes, crc }: StoredElements,
  what: string,
): NdArray {
  if (dtype === "string") {
    return new NdArray(dtype, shape, decodeStrings(shape, { bytes, crc }, what));
  }
  const { array, bytes: width } = DTYPES[dtype];
  if (array === undefined) {
    throw new UnimplementedError(`Cannot read ${what}: no array here holds ${dtype}`);
  }
  if (bytes.length !== sizeOf(shape) * width) {
    throw new DataLossError(
      `Cannot read ${what}: ${dtype}[${shape}] takes ${
        sizeOf(shape) * width
      } bytes, the index tells ${bytes.length}`,
    );
  }
  if (maskCrc(crc32c(bytes)) !== crc) throw wrongChecksum(what);
  return new NdArray(dtype, shape, new array(bytes.buffer) as HostData);
}

function decodeStrings(
  shape: readonly number[],
  { bytes, crc }: StoredElements,
  what: string,
): Uint8Array[] {
  const n = sizeOf(shape);
  const cursor = new Cursor(
    bytes,
    () => new DataLossError(`Cannot read ${what}: its strings end too early`),
  );
  // A length takes at least one byte.
  if (n > bytes.length) {
    throw new DataLossError(`Cannot read ${what}: ${n} strings are not in ${bytes.length} bytes`);
  }
  const lengths = new ByteWriter(), sizes: number[] = [];
  for (let i = 0; i < n; i++) {
    sizes.push(cursor.varint());
    lengths.fixed32(sizes[i]);
  }
  let found = crc32c(lengths.bytes);
  const stored = cursor.take(4);
  if (new DataView(stored.buffer, stored.byteOffset).getUint32(0, true) !== maskCrc(found)) {
    throw wrongChecksum(what);
  }
  found = crc32c(stored, found);
  const out = sizes.map((size) => {
    const s = cursor.take(size).slice();
    found = crc32c(s, found);
    return s;
  });
  if (maskCrc(found) !== crc) throw wrongChecksum(what);
  return out;
}

function wrongChecksum(what: string): DataLossError {
  return new DataLossError(`Cannot read ${what}: its checksum is wrong`);
}
