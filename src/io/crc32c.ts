/**
 * CRC-32C (Castagnoli), and its masked form, as TensorFlow's records, tables and bundles have them.
 */

/** Eight tables: eight bytes are taken at a time ("slicing by 8", Kounavis and Berry 2005). */
const TABLES: readonly Uint32Array[] = makeTables();

function makeTables(): Uint32Array[] {
  const first = Uint32Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0x82f63b78 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  const tables = [first];
  for (let t = 1; t < 8; t++) {
    tables.push(tables[t - 1].map((c) => first[c & 255] ^ (c >>> 8)));
  }
  return tables;
}

/** The checksum of bytes, going on from that of those before them. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES;
  let c = ~before, i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    c ^= bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24;
    c = t7[c & 255] ^ t6[c >>> 8 & 255] ^ t5[c >>> 16 & 255] ^ t4[c >>> 24] ^
      t3[bytes[i + 4]] ^ t2[bytes[i + 5]] ^ t1[bytes[i + 6]] ^ t0[bytes[i + 7]];
  }
  for (; i < bytes.length; i++) c = t0[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** A checksum as it is stored: checksums of data that holds checksums are weak otherwise. */
export function maskCrc(crc: number): number {
  return ((crc >>> 15 | crc << 17) + 0xa282ead8) >>> 0;
}
