/**
 * Zip archives: reading stored and deflated entries, writing stored ones.
 * May import core.
 */
import { DataLossError, UnimplementedError } from "../core/errors.ts";
import { type Bytes, concatBytes, crc32, viewOf } from "./bytes.ts";

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50;
const END64 = 0x06064b50, LOCATOR64 = 0x07064b50;
const STORED = 0, DEFLATED = 8;
const ENCRYPTED = 1, UTF8 = 0x800;
const MAX32 = 0xffffffff, MAX16 = 0xffff;
/** 1980-01-01, the first date zip files know: equal content gives equal bytes. */
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

/** Entries of an archive by name. Rejects with `DataLossError` where it is damaged, `UnimplementedError` for what it uses that we do not read. */
export async function readZip(bytes: Uint8Array, what = "zip file"): Promise<Map<string, Bytes>> {
  const out = new Map<string, Bytes>();
  for (const entry of readDirectory(bytes, what)) {
    if (entry.name.endsWith("/")) continue;
    out.set(entry.name, await readEntry(bytes, entry, what));
  }
  return out;
}

function readDirectory(bytes: Uint8Array, what: string): Entry[] {
  const view = viewOf(bytes);
  let end = bytes.length - 22;
  const least = Math.max(0, end - MAX16);
  while (end >= least && view.getUint32(end, true) !== END) end--;
  if (end < least) throw new DataLossError(`Cannot read ${what}: it has no zip directory`);
  let count = view.getUint16(end + 10, true), at = view.getUint32(end + 16, true);
  if (end >= 20 && view.getUint32(end - 20, true) === LOCATOR64) {
    const record = Number(view.getBigUint64(end - 12, true));
    if (record + 56 > bytes.length || view.getUint32(record, true) !== END64) {
      throw new DataLossError(`Cannot read ${what}: its 64-bit directory is damaged`);
    }
    count = Number(view.getBigUint64(record + 32, true));
    at = Number(view.getBigUint64(record + 48, true));
  }
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== CENTRAL) {
      throw new DataLossError(`Cannot read ${what}: directory entry ${i} of ${count} is damaged`);
    }
    const nameLength = view.getUint16(at + 28, true), extraLength = view.getUint16(at + 30, true);
    const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
    if (next > bytes.length) {
      throw new DataLossError(`Cannot read ${what}: directory entry ${i} of ${count} is cut short`);
    }
    const wide = wideFields(view, at, at + 46 + nameLength, extraLength);
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

/** Sizes and offset, from the 64-bit extra field where they do not fit. */
function wideFields(
  view: DataView,
  entry: number,
  extra: number,
  extraLength: number,
): { compressed: number; size: number; offset: number } {
  let size = view.getUint32(entry + 24, true);
  let compressed = view.getUint32(entry + 20, true);
  let offset = view.getUint32(entry + 42, true);
  for (let at = extra; at + 4 <= extra + extraLength;) {
    const id = view.getUint16(at, true), length = view.getUint16(at + 2, true);
    if (id === 1) {
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

async function readEntry(bytes: Uint8Array, entry: Entry, what: string): Promise<Bytes> {
  const bad = (why: string): never => {
    throw new DataLossError(`Cannot read ${what}: entry "${entry.name}" ${why}`);
  };
  if (entry.flags & ENCRYPTED) {
    throw new UnimplementedError(`Cannot read ${what}: entry "${entry.name}" is encrypted`);
  }
  const view = viewOf(bytes);
  if (entry.offset + 30 > bytes.length || view.getUint32(entry.offset, true) !== LOCAL) {
    bad("has no local header");
  }
  const start = entry.offset + 30 + view.getUint16(entry.offset + 26, true) +
    view.getUint16(entry.offset + 28, true);
  if (start + entry.compressed > bytes.length) bad("is cut short");
  const packed = bytes.slice(start, start + entry.compressed) as Bytes;
  let data = packed;
  if (entry.method === DEFLATED) data = await inflate(packed).catch(() => bad("does not inflate"));
  else if (entry.method !== STORED) {
    throw new UnimplementedError(
      `Cannot read ${what}: entry "${entry.name}" uses compression method ${entry.method}, we read 0 and 8`,
    );
  }
  if (data.length !== entry.size) bad(`has ${data.length} bytes, wanted ${entry.size}`);
  if (crc32(data) !== entry.crc) bad("fails its checksum");
  return data;
}

async function inflate(packed: Bytes): Promise<Bytes> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** An archive with these entries, stored. Throws `TypeError` beyond 4 GiB. */
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
