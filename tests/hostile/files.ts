/**
 * Files of arrays to read: sound ones, from which the fuzzer makes others, and hostile ones, each with what is wrong with it.
 */
import * as tf from "@weft/weft";

/** Bytes of a text. */
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** An npy file of version 1.0, or 2.0 where the header is long. */
export function npy(header: string, body: ArrayLike<number> = []): Uint8Array<ArrayBuffer> {
  const text = utf8(header), long = text.length > 0xffff;
  const length = new Uint8Array(long ? 4 : 2);
  for (let i = 0; i < length.length; i++) length[i] = text.length >>> (8 * i);
  return concat(
    Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, long ? 2 : 1, 0),
    length,
    text,
    Uint8Array.from(body),
  );
}

/** The header of an npy file. */
export const header = (descr: string, shape: string, fortran = "False"): string =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;

/** A safetensors file of this header, an object or a text, and body. */
export function safetensors(
  content: unknown,
  body: ArrayLike<number> = [],
): Uint8Array<ArrayBuffer> {
  const text = utf8(typeof content === "string" ? content : JSON.stringify(content));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return concat(length, text, Uint8Array.from(body));
}

/** A tensor in the header of a safetensors file. */
export const entry = (
  dtype: string,
  shape: readonly number[],
  from: number,
  to: number,
): unknown => ({
  dtype,
  shape,
  data_offsets: [from, to],
});

/** An entry of a zip file; fields that are not given are correct. */
export interface ZipEntry {
  readonly name: string;
  readonly data: Uint8Array;
  /** True: compressed. */
  readonly deflated?: boolean;
  /** The size that is told. */
  readonly size?: number;
  /** The checksum that is told. */
  readonly crc?: number;
  /** True: sizes and offset stand in the 64-bit extra field, as they do beyond 4 GiB. */
  readonly wide?: boolean;
  /** Number of directory entries that show these bytes. */
  readonly times?: number;
}

/** A zip file, made with no help of ours, as other programs lay it out. */
export async function zip(
  entries: readonly ZipEntry[],
  { wide = false }: { readonly wide?: boolean } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [], directory: Uint8Array[] = [];
  let offset = 0, count = 0;
  for (
    const {
      name,
      data,
      deflated = false,
      size = data.length,
      crc = crc32(data),
      wide = false,
      times = 1,
    } of entries
  ) {
    const packed = deflated ? await deflate(data) : data;
    const file = utf8(name), method = deflated ? 8 : 0;
    const local = new DataView(new ArrayBuffer(30));
    local.setUint32(0, 0x04034b50, true);
    local.setUint16(4, 20, true);
    local.setUint16(8, method, true);
    local.setUint32(14, crc, true);
    local.setUint32(18, packed.length, true);
    local.setUint32(22, size, true);
    local.setUint16(26, file.length, true);
    parts.push(new Uint8Array(local.buffer), file, packed);
    const extra = new DataView(new ArrayBuffer(wide ? 28 : 0));
    if (wide) {
      extra.setUint16(0, 1, true);
      extra.setUint16(2, 24, true);
      extra.setBigUint64(4, BigInt(size), true);
      extra.setBigUint64(12, BigInt(packed.length), true);
      extra.setBigUint64(20, BigInt(offset), true);
    }
    const central = new DataView(new ArrayBuffer(46));
    central.setUint32(0, 0x02014b50, true);
    central.setUint16(4, 45, true);
    central.setUint16(6, wide ? 45 : 20, true);
    central.setUint16(10, method, true);
    central.setUint32(16, crc, true);
    central.setUint32(20, wide ? 0xffffffff : packed.length, true);
    central.setUint32(24, wide ? 0xffffffff : size, true);
    central.setUint16(28, file.length, true);
    central.setUint16(30, extra.byteLength, true);
    central.setUint32(42, wide ? 0xffffffff : offset, true);
    for (let k = 0; k < times; k++, count++) {
      directory.push(new Uint8Array(central.buffer), file, new Uint8Array(extra.buffer));
    }
    offset += 30 + file.length + packed.length;
  }
  const listed = concat(...directory);
  const end64 = new DataView(new ArrayBuffer(wide ? 76 : 0));
  if (wide) {
    end64.setUint32(0, 0x06064b50, true);
    end64.setBigUint64(4, 44n, true);
    end64.setBigUint64(24, BigInt(count), true);
    end64.setBigUint64(32, BigInt(count), true);
    end64.setBigUint64(40, BigInt(listed.length), true);
    end64.setBigUint64(48, BigInt(offset), true);
    end64.setUint32(56, 0x07064b50, true);
    end64.setBigUint64(64, BigInt(offset + listed.length), true);
    end64.setUint32(72, 1, true);
  }
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, wide ? 0xffff : count, true);
  end.setUint16(10, wide ? 0xffff : count, true);
  end.setUint32(12, wide ? 0xffffffff : listed.length, true);
  end.setUint32(16, wide ? 0xffffffff : offset, true);
  return concat(...parts, listed, new Uint8Array(end64.buffer), new Uint8Array(end.buffer));
}

async function deflate(data: Uint8Array): Promise<Uint8Array> {
  const blob = new Blob([data as Uint8Array<ArrayBuffer>]);
  const stream = blob.stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** CRC-32, bit by bit. */
export function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) {
    c ^= byte;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  }
  return (c ^ 0xffffffff) >>> 0;
}

// deno-lint-ignore no-explicit-any
type ErrorClass = abstract new (...args: any[]) => Error;
/** The fault of a file, the file, the class of the error, and a part of its message. */
export type HostileFile = readonly [string, Uint8Array, ErrorClass, string];

const { DataLossError, UnimplementedError } = tf.errors;
const deep = (open: string, close: string, n = 50_000): string => open.repeat(n) + close.repeat(n);

/** npy files. */
export const HOSTILE_NPY: readonly HostileFile[] = [
  [
    "many strings of no bytes",
    npy(header("|S0", "(3000000,)")),
    DataLossError,
    "3000000 strings of 0 bytes",
  ],
  [
    "many texts of no characters",
    npy(header("<U0", "(3000000,)")),
    DataLossError,
    "3000000 strings of 0 bytes",
  ],
  [
    "a code point beyond Unicode",
    npy(header("<U1", "(1,)"), [0, 0, 0x11, 0]),
    DataLossError,
    "code point 0x110000",
  ],
  [
    "half a surrogate pair",
    npy(header("<U1", "(1,)"), [0, 0xd8, 0, 0]),
    DataLossError,
    "code point 0xd800",
  ],
  [
    "more dimensions than a tensor has",
    npy(header("<f4", `(${"1, ".repeat(255)})`), [0, 0, 0, 0]),
    DataLossError,
    "shape that is none",
  ],
  [
    "a dimension beyond exact integers",
    npy(header("<f4", "(99999999999999999999, 0)")),
    DataLossError,
    "shape that is none",
  ],
  [
    "a shape of strings",
    npy(header("<f4", "('1',)"), [0, 0, 0, 0]),
    DataLossError,
    "shape that is none",
  ],
  ["a header nested very deep", npy(deep("(", ")")), DataLossError, "lacks descr"],
  [
    "a header that inherits what it should have",
    npy(`{'__proto__': ${header("<f4", "()")}}`, [0, 0, 0, 0]),
    DataLossError,
    "lacks descr",
  ],
  [
    "an element type of lists nested deep",
    npy(`{'descr': ${deep("[", "]", 1000)}, 'fortran_order': False, 'shape': ()}`),
    UnimplementedError,
    "objects and records",
  ],
  [
    "sizes whose product is not finite",
    npy(header("<f4", `(${"9007199254740991, ".repeat(30)})`)),
    DataLossError,
    "takes Infinity bytes",
  ],
  [
    "sizes whose product is no number",
    npy(header("|S1", `(${"9007199254740991, ".repeat(30)}0)`)),
    DataLossError,
    "NaN strings",
  ],
];

/** Safetensors files. */
export const HOSTILE_SAFETENSORS: readonly HostileFile[] = [
  [
    "many tensors over the same bytes",
    safetensors(
      Object.fromEntries(
        Array.from({ length: 50 }, (_, i) => [`t${i}`, entry("U8", [1000], 0, 1000)]),
      ),
      new Uint8Array(1000),
    ),
    DataLossError,
    "no overlaps",
  ],
  [
    "a tensor that is nested very deep",
    safetensors(`{"a":${deep("[", "]")}}`),
    DataLossError,
    "wanted dtype, shape",
  ],
  [
    "a shape that is nested very deep",
    safetensors(`{"a":{"dtype":"F32","shape":[${deep("[", "]")}],"data_offsets":[0,4]}}`),
    DataLossError,
    "wanted dtype, shape",
  ],
  ["a tensor that is null", safetensors({ a: null }), DataLossError, "described as null"],
  [
    "more dimensions than a tensor has",
    safetensors({ a: entry("U8", new Array(255).fill(1), 0, 1) }, [0]),
    DataLossError,
    "wanted dtype, shape",
  ],
  [
    "metadata that are a list",
    safetensors({ __metadata__: ["a"] }),
    DataLossError,
    "object of texts",
  ],
  [
    "two tensors of one name",
    safetensors(
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
      [1, 2],
    ),
    DataLossError,
    "no gaps",
  ],
];

/** npz files. */
export async function hostileNpz(): Promise<readonly HostileFile[]> {
  const small = npy(header("|u1", "(4,)"), [1, 2, 3, 4]);
  const large = npy(header("|u1", "(3000000,)"), new Uint8Array(3_000_000));
  const cut = await zip([{ name: "a.npy", data: small, wide: true }]);
  // The extra field says that it is shorter than its three numbers.
  cut[cut.length - 22 - 28 + 2] = 8;
  const lost = await zip([{ name: "a.npy", data: small, wide: true }], { wide: true });
  new DataView(lost.buffer).setBigUint64(lost.length - 22 - 12, BigInt(lost.length - 2), true);
  return [
    [
      "an entry larger than it says",
      await zip([{ name: "a.npy", data: large, deflated: true, size: 100 }]),
      DataLossError,
      "does not inflate to the 100 bytes wanted",
    ],
    [
      "an entry smaller than it says",
      await zip([{ name: "a.npy", data: large, deflated: true, size: 3_000_200 }]),
      DataLossError,
      "does not inflate to the 3000200 bytes",
    ],
    [
      "a size that deflate cannot reach",
      await zip([{ name: "a.npy", data: small, deflated: true, size: 4e9 }]),
      DataLossError,
      "which cannot be the wanted 4000000000",
    ],
    [
      "a stored entry of another size",
      await zip([{ name: "a.npy", data: small, size: 4e9 }]),
      DataLossError,
      "which cannot be the wanted 4000000000",
    ],
    [
      "many entries over the same bytes",
      await zip([{ name: "a.npy", data: large, deflated: true, times: 60 }]),
      DataLossError,
      'entries "a.npy" and "a.npy" overlap',
    ],
    [
      "two arrays of one name",
      await zip([{ name: "a.npy", data: small }, { name: "a", data: small }]),
      DataLossError,
      'two of its arrays are called "a"',
    ],
    ["64-bit sizes that are cut short", cut, DataLossError, "are cut short"],
    ["a 64-bit directory behind its end", lost, DataLossError, "its 64-bit directory is damaged"],
    [
      "more entries than it has bytes",
      (await zip([{ name: "a.npy", data: small }], { wide: true })).map((b, i, all) =>
        i === all.length - 22 - 76 + 36 ? 9 : b
      ),
      DataLossError,
      "directory entry 1 of",
    ],
  ];
}

/** Sound files, by format. */
export async function soundFiles(): Promise<
  Readonly<Record<"npy" | "npz" | "safetensors", Uint8Array[]>>
> {
  const tensors = {
    a: tf.tensor([[1, 2], [3, 4]]),
    "b/c": tf.tensor([true, false]),
    s: tf.scalar(7, "int32"),
  };
  try {
    const npys = [
      ...await Promise.all(Object.values(tensors).map((t) => tf.io.writeNpy(t))),
      await tf.io.writeNpy(new tf.NdArray("string", [2], [utf8("ab"), utf8("c")])),
      npy(header("<U2", "(2, 1)", "True"), [97, 0, 0, 0, 0, 0, 0, 0, 98, 0, 0, 0, 233, 0, 0, 0]),
      npy(header(">i2", "(3,)"), [0, 1, 2, 3, 4, 5]),
    ];
    const entries = npys.map((data, i) => ({ name: `x${i}.npy`, data }));
    return {
      npy: npys,
      npz: [
        await tf.io.writeNpz(tensors),
        await zip(entries.map((e) => ({ ...e, deflated: true }))),
        await zip(entries.map((e) => ({ ...e, wide: true })), { wide: true }),
      ],
      safetensors: [
        await tf.io.writeSafetensors(tensors, { step: "7" }),
        safetensors({ x: entry("BF16", [2], 0, 4), e: entry("F64", [0, 3], 4, 4) }, [
          0,
          0,
          128,
          63,
        ]),
      ],
    };
  } finally {
    tf.dispose(tensors);
  }
}
