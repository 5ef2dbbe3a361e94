/** Zip archives: reading stored and deflated entries, writing stored ones. */
import { withinMemory } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { type DataLossError, OpError, UnimplementedError } from "../../engine/core/errors.ts";
import { type Bytes, checkBytes, concatBytes, unreadable, viewOf } from "./bytes.ts";
import { crc32 } from "./crc.ts";

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50;
const END64 = 0x06064b50, LOCATOR64 = 0x07064b50;
const STORED = 0, DEFLATED = 8;
const ENCRYPTED = 1, UTF8 = 0x800;
const MAX32 = 0xffffffff, MAX16 = 0xffff;
/** 1980-01-01, the first date of zip files: equal content gives equal bytes. */
const DATE = 0x21;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  readonly compressed: number;
  readonly size: number;
  readonly offset: number;
}

interface Located extends Entry {
  readonly start: number;
  readonly end: number;
}

/**
 * Yields the entries of an archive: names and contents, one after the other. Rejects with `DataLossError` where it is
 * damaged, `UnimplementedError` for unsupported features.
 */
export async function* readZip(
  bytes: Uint8Array,
  what = "zip file",
): AsyncGenerator<readonly [string, Bytes]> {
  checkBytes(bytes, what);
  const entries = readDirectory(bytes, what).map((entry) => locate(bytes, entry, what));
  checkOverlap(entries, what);
  for (const entry of entries) {
    if (!entry.name.endsWith("/")) yield [entry.name, await readEntry(bytes, entry, what)];
  }
}

/** Throws `DataLossError` where entries share bytes: many could then unpack the same ones. */
function checkOverlap(entries: readonly Located[], what: string): void {
  const byPlace = [...entries].sort((a, b) => a.offset - b.offset);
  byPlace.forEach(({ name, offset }, i) => {
    if (i === 0 || offset >= byPlace[i - 1].end) return;
    throw unreadable(what, `entries "${byPlace[i - 1].name}" and "${name}" overlap`);
  });
}

function readDirectory(bytes: Uint8Array, what: string): Entry[] {
  const view = viewOf(bytes);
  let end = bytes.length - 22;
  const least = Math.max(0, end - MAX16);
  while (end >= least && view.getUint32(end, true) !== END) end--;
  if (end < least) throw unreadable(what, "it has no zip directory");
  let count = view.getUint16(end + 10, true), at = view.getUint32(end + 16, true);
  if (end >= 20 && view.getUint32(end - 20, true) === LOCATOR64) {
    const record = Number(view.getBigUint64(end - 12, true));
    if (record + 56 > bytes.length || view.getUint32(record, true) !== END64) {
      throw unreadable(what, "its 64-bit directory is damaged");
    }
    count = Number(view.getBigUint64(record + 32, true));
    at = Number(view.getBigUint64(record + 48, true));
  }
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) {
      throw unreadable(what, `directory entry ${i} of ${count} is damaged`);
    }
    const nameLength = view.getUint16(at + 28, true), extraLength = view.getUint16(at + 30, true);
    const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
    if (next > bytes.length) {
      throw unreadable(what, `directory entry ${i} of ${count} is cut short`);
    }
    const wide = wideFields(view, at, at + 46 + nameLength, extraLength);
    if (wide === null) {
      throw unreadable(what, `the 64-bit sizes of directory entry ${i} of ${count} are cut short`);
    }
    entries.push({
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      ...wide,
    });
    at = next;
  }
  return entries;
}

/**
 * Returns sizes and offset, from the 64-bit extra field where they do not fit; null where that is too short for them.
 */
function wideFields(
  view: DataView,
  entry: number,
  extra: number,
  extraLength: number,
): { compressed: number; size: number; offset: number } | null {
  let size = view.getUint32(entry + 24, true);
  let compressed = view.getUint32(entry + 20, true);
  let offset = view.getUint32(entry + 42, true);
  for (let at = extra; at + 4 <= extra + extraLength;) {
    const id = view.getUint16(at, true), length = view.getUint16(at + 2, true);
    if (id === 1) {
      const wanted = [size, compressed, offset].filter((n) => n === MAX32).length;
      if (length < 8 * wanted || at + 4 + length > extra + extraLength) return null;
      let field = at + 4;
      const next = (): number => {
        field += 8;
        return Number(view.getBigUint64(field - 8, true));
      };
      if (size === MAX32) size = next();
      if (compressed === MAX32) compressed = next();
      if (offset === MAX32) offset = next();
    }
    at += 4 + length;
  }
  return { compressed, size, offset };
}

function damaged(what: string, { name }: Entry, why: string): DataLossError {
  return unreadable(what, `entry "${name}" ${why}`);
}

function locate(bytes: Uint8Array, entry: Entry, what: string): Located {
  const view = viewOf(bytes), { offset } = entry;
  if (offset + 30 > bytes.length || view.getUint32(offset, true) !== LOCAL) {
    throw damaged(what, entry, "has no local header");
  }
  const start = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
  const end = start + entry.compressed;
  if (end > bytes.length) throw damaged(what, entry, "is cut short");
  return { ...entry, start, end };
}

async function readEntry(bytes: Uint8Array, entry: Located, what: string): Promise<Bytes> {
  const { name, method, start, end, size } = entry;
  if (entry.flags & ENCRYPTED) {
    throw new UnimplementedError(`Cannot read ${what}: entry "${name}" is encrypted`);
  }
  if (method !== STORED && method !== DEFLATED) {
    throw new UnimplementedError(
      `Cannot read ${what}: entry "${name}" uses compression method ${method}, we read 0 and 8`,
    );
  }
  if (method === STORED ? end - start !== size : size > MOST_INFLATED * (end - start)) {
    throw damaged(what, entry, `has ${end - start} bytes, which cannot be the wanted ${size}`);
  }
  const packed = bytes.slice(start, end) as Bytes;
  let data: Bytes | null = packed;
  if (method === DEFLATED) {
    data = await inflate(packed, size).catch((cause) => {
      throw cause instanceof OpError ? cause : damaged(what, entry, "does not inflate");
    });
    if (data === null) throw damaged(what, entry, `does not inflate to the ${size} bytes wanted`);
  }
  if (crc32(data) !== entry.crc) throw damaged(what, entry, "fails its checksum");
  return data;
}

/** Deflate's best: a match of 258 bytes for two bits. */
const MOST_INFLATED = 1032;
/** Bytes inflated at once, so that data which exceeds its announced size stops early. */
const PORTION = 1 << 14;

/** Inflates to `size` bytes; null where the data has another size. At most a portion more is inflated. */
async function inflate(packed: Bytes, size: number): Promise<Bytes | null> {
  const out = withinMemory(size, () => new Uint8Array(size));
  let read = 0, written = 0;
  const portions = new ReadableStream<Bytes>({
    pull(controller) {
      if (read >= packed.length) return controller.close();
      controller.enqueue(packed.subarray(read, read += PORTION));
    },
  });
  // Some browsers cannot iterate over a stream.
  const reader = portions.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return written === size ? out : null;
    if (written + value.length > size) {
      reader.cancel().catch(() => {});
      return null;
    }
    out.set(value, written);
    written += value.length;
  }
}

/** Makes an archive of these entries, stored. Throws `TypeError` beyond 4 GiB. */
export function writeZip(entries: Iterable<readonly [string, Uint8Array]>): Bytes {
  const parts: Uint8Array[] = [], directory: Uint8Array[] = [];
  let offset = 0, count = 0;
  for (const [name, data] of entries) {
    const file = new TextEncoder().encode(name);
    const common = (signature: number, length: number): DataView => {
      const v = new DataView(new ArrayBuffer(length));
      v.setUint32(0, signature, true);
      const at = signature === LOCAL ? 4 : 6;
      if (signature === CENTRAL) v.setUint16(4, 20, true);
      v.setUint16(at, 20, true);
      v.setUint16(at + 2, UTF8, true);
      v.setUint16(at + 4, STORED, true);
      v.setUint16(at + 8, DATE, true);
      v.setUint32(at + 10, crc32(data), true);
      v.setUint32(at + 14, data.length, true);
      v.setUint32(at + 18, data.length, true);
      v.setUint16(at + 22, file.length, true);
      return v;
    };
    const central = common(CENTRAL, 46);
    central.setUint32(42, offset, true);
    parts.push(new Uint8Array(common(LOCAL, 30).buffer), file, data);
    directory.push(new Uint8Array(central.buffer), file);
    offset += 30 + file.length + data.length;
    count++;
    if (offset > MAX32 || count > MAX16) {
      throw new TypeError(
        "Cannot write a zip file of more than 4 GiB or 65535 entries: use safetensors",
      );
    }
  }
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, END, true);
  end.setUint16(8, count, true);
  end.setUint16(10, count, true);
  end.setUint32(12, directory.reduce((n, p) => n + p.length, 0), true);
  end.setUint32(16, offset, true);
  return concatBytes([...parts, ...directory, new Uint8Array(end.buffer)]);
}
