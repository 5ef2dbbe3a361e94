/** Checksums: CRC-32 as zip files have it, and CRC-32C (Castagnoli) as TensorFlow's records, tables and bundles do. */

/** The checksum of bytes, continued from that of the bytes before them. */
type Checksum = (bytes: Uint8Array, before?: number) => number;

export const crc32: Checksum = checksum(0xedb88320);
export const crc32c: Checksum = checksum(0x82f63b78);

/**
 * Remainders of a byte, and of one that 1, 2 and 3 zero bytes follow, 256 each: four bytes are looked up at once
 * ("slicing by 4", Kounavis and Berry 2005). Eight at once take a quarter longer in V8 14.
 */
function tableOf(polynomial: number): Uint32Array {
  const table = new Uint32Array(4 * 256);
  for (let n = 0; n < table.length; n++) {
    let c = n < 256 ? n : table[n - 256];
    for (let k = 0; k < 8; k++) c = c & 1 ? polynomial ^ (c >>> 1) : c >>> 1;
    table[n] = c;
  }
  return table;
}

function checksum(polynomial: number): Checksum {
  const table = tableOf(polynomial);
  return (bytes, before = 0) => {
    const whole = bytes.length & ~3;
    let c = ~before;
    for (let i = 0; i < whole; i += 4) {
      c ^= bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24;
      c = table[768 + (c & 255)] ^ table[512 + (c >>> 8 & 255)] ^
        table[256 + (c >>> 16 & 255)] ^ table[c >>> 24];
    }
    for (let i = whole; i < bytes.length; i++) c = table[(c ^ bytes[i]) & 255] ^ (c >>> 8);
    return ~c >>> 0;
  };
}

/** Masks a checksum for storage: checksums of data that holds checksums are weak otherwise. */
export function maskCrc(crc: number): number {
  return ((crc >>> 15 | crc << 17) + 0xa282ead8) >>> 0;
}
