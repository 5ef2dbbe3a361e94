/** Zip archives of another program (Python's zipfile), whole and damaged. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { readZip } from "../../src/library/io/zip.ts";

// Node 20 has no Uint8Array.fromBase64.
const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** A folder, a stored entry with a date field and a comment, a deflated one with a long comment, and a comment on all. */
const COMMENTED = fromBase64(
  "UEsDBBQAAAAAAKMgQ1AAAAAAAAAAAAAAAAAEAAAAZGlyL1BLAwQUAAAAAACjIENQV+5xkgUAAAAFAAAACQAIAGRpci9hLnR4dFVUBAAHAAAAZmlyc3RQSwMEFAAACAgAoyBDUBtk8dAMAAAAjAAAAAYAAADDqS50eHQrTk3Oz0tRKB4MFABQSwECFAMUAAAAAACjIENQAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAgAEAAAAAZGlyL1BLAQIUAxQAAAAAAKMgQ1BX7nGSBQAAAAUAAAAJAAgADAAAAAAAAACAASIAAABkaXIvYS50eHRVVAQABwAAAG9mIHRoZSBmaXJzdFBLAQIUAxQAAAgIAKMgQ1AbZPHQDAAAAIwAAAAGAAAALAEAAAAAAACAAVYAAADDqS50eHRjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NQSwUGAAAAAAMAAwDdAQAAhgAAABEAYWJvdXQgdGhlIGFyY2hpdmU=",
);
/** Written to a pipe: sizes stand behind the data and in the directory. */
const STREAMED = fromBase64(
  "UEsDBBQACAAIAKMgQ1AAAAAAAAAAAAAAAAABAAAAYSsuKUpNzE1NUSimEgMAUEsHCNNBioIOAAAAUQAAAFBLAwQUAAgAAACjIENQAAAAAAAAAAAAAAAAAQAAAGJ4eXpQSwcIZ7qO6wMAAAADAAAAUEsBAhQDFAAIAAgAoyBDUNNBioIOAAAAUQAAAAEAAAAAAAAAAAAAAIABAAAAAGFQSwECFAMUAAgAAACjIENQZ7qO6wMAAAADAAAAAQAAAAAAAAAAAAAAgAE9AAAAYlBLBQYAAAAAAgACAF4AAABvAAAAAAA=",
);

async function entriesOf(bytes: Uint8Array): Promise<[string, string][]> {
  const entries: [string, string][] = [];
  for await (const [name, data] of readZip(bytes, "it")) {
    entries.push([name, new TextDecoder().decode(data)]);
  }
  return entries;
}

/** The archive with other bytes, little-endian, at some places. */
function patched(bytes: Uint8Array, ...patches: [at: number, value: number, width: number][]) {
  const out = bytes.slice();
  for (const [at, value, width] of patches) {
    for (let i = 0; i < width; i++) out[at + i] = value / 256 ** i & 255;
  }
  return out;
}

Deno.test("readZip() reads what zipfile writes: comments, extra fields, folders, streams", async () => {
  const wanted = [["dir/a.txt", "first"], ["é.txt", "second ".repeat(20)]];
  assertEquals(await entriesOf(COMMENTED), wanted);
  assertEquals(await entriesOf(STREAMED), [["a", "streamed ".repeat(9)], ["b", "xyz"]]);
  // As part of a larger buffer, and with the longest comment there may be.
  const within = new Uint8Array(COMMENTED.length + 7);
  within.set(COMMENTED, 7);
  assertEquals(await entriesOf(within.subarray(7)), wanted);
  const end = COMMENTED.length - 22 - 17, comment = new Uint8Array(end + 22 + 65535);
  comment.set(patched(COMMENTED.subarray(0, end + 22), [end + 20, 65535, 2]));
  assertEquals(await entriesOf(comment), wanted);
});

Deno.test("readZip() refuses archives that are damaged, and what it does not read", async () => {
  const { DataLossError, UnimplementedError } = tf.errors;
  const length = COMMENTED.length, end = length - 22 - 17;
  // Where the directory's entries begin, and the second one's data.
  const [first, second, third] = [0x86, 0x86 + 50, 0x86 + 50 + 75], data = 0x22 + 30 + 9 + 8;
  const cases: [Uint8Array, typeof DataLossError, string][] = [
    [new Uint8Array(3), DataLossError, "Cannot read it: it has no zip directory"],
    [new Uint8Array(22), DataLossError, "Cannot read it: it has no zip directory"],
    [COMMENTED.subarray(0, end + 21), DataLossError, "it has no zip directory"],
    [patched(COMMENTED, [end + 10, 4, 2]), DataLossError, "directory entry 3 of 4 is damaged"],
    [patched(COMMENTED, [first, 0, 1]), DataLossError, "directory entry 0 of 3 is damaged"],
    [patched(COMMENTED, [end + 16, length, 4]), DataLossError, "directory entry 0 of 3 is damaged"],
    [patched(COMMENTED, [third + 32, 0xffff, 2]), DataLossError, "entry 2 of 3 is cut short"],
    [patched(COMMENTED, [0x22, 0, 1]), DataLossError, 'entry "dir/a.txt" has no local header'],
    [patched(COMMENTED, [second + 42, length - 29, 4]), DataLossError, "has no local header"],
    [patched(COMMENTED, [second + 20, length, 4]), DataLossError, '"dir/a.txt" is cut short'],
    [
      patched(COMMENTED, [second + 20, 40, 4]),
      DataLossError,
      'entries "dir/a.txt" and "é.txt" overlap',
    ],
    [
      patched(COMMENTED, [second + 24, 6, 4]),
      DataLossError,
      'entry "dir/a.txt" has 5 bytes, which cannot be the wanted 6',
    ],
    [patched(COMMENTED, [data, 0, 1]), DataLossError, 'entry "dir/a.txt" fails its checksum'],
    [
      patched(COMMENTED, [third + 24, 141, 4]),
      DataLossError,
      'entry "é.txt" does not inflate to the 141 bytes wanted',
    ],
    [
      patched(COMMENTED, [third + 24, 139, 4]),
      DataLossError,
      'entry "é.txt" does not inflate to the 139 bytes wanted',
    ],
    [
      patched(COMMENTED, [third + 24, 12 * 1032 + 1, 4]),
      DataLossError,
      "has 12 bytes, which cannot be the wanted 12385",
    ],
    [
      patched(COMMENTED, [third + 24, 12 * 1032, 4]),
      DataLossError,
      "does not inflate to the 12384 bytes wanted",
    ],
    [patched(COMMENTED, [0x56 + 36, 255, 1]), DataLossError, 'entry "é.txt" does not inflate'],
    [patched(COMMENTED, [second + 8, 1, 2]), UnimplementedError, '"dir/a.txt" is encrypted'],
    [
      patched(COMMENTED, [second + 10, 12, 2]),
      UnimplementedError,
      'entry "dir/a.txt" uses compression method 12, we read 0 and 8',
    ],
  ];
  for (const [bytes, Typed, says] of cases) {
    await assertRejects(() => entriesOf(bytes), Typed, says);
  }
});
