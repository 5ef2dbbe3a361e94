/** Mutations of bytes and of JSON, from a seed: the same seed gives the same inputs. */

/** Numbers from a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below `n`. */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 2 ** 32 * n);
  }

  /** One of these. */
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}

/** Bytes that mean much in lengths, counts and flags. */
const BYTES = [0, 1, 2, 8, 0x20, 0x27, 0x28, 0x30, 0x39, 0x7f, 0x80, 0xff];

/** The bytes with some of them changed, lost, doubled or taken from another file. */
export function mutateBytes(
  bytes: Uint8Array,
  random: Random,
  others: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  let out = Array.from(bytes);
  for (let n = 1 + random.below(4); n > 0 && out.length > 0; n--) {
    const at = random.below(out.length), length = 1 + random.below(Math.min(16, out.length - at));
    switch (random.below(7)) {
      case 0:
        out[at] ^= 1 << random.below(8);
        break;
      case 1:
        out[at] = random.of(BYTES);
        break;
      case 2:
        for (let k = 0; k < length; k++) out[at + k] = random.of([0, 255]);
        break;
      case 3:
        out.splice(at, length);
        break;
      case 4:
        out.splice(at, 0, ...out.slice(at, at + length));
        break;
      case 5: {
        const other = random.of(others), from = random.below(other.length);
        out.splice(at, length, ...other.subarray(from, from + length));
        break;
      }
      default:
        out = out.slice(0, at);
    }
  }
  return Uint8Array.from(out);
}

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Values that are seldom right. */
const VALUES: readonly Json[] = [
  ...[null, true, false, 0, 1, -1, 3, 0.5, 2 ** 31, 2 ** 53, -(2 ** 40), 1e300],
  ...["", "x", "0", "-1", "-7", "2", "4294967296", "99999999999999999999", "NaN", "Infinity"],
  ...["DT_FLOAT", "DT_INT32", "DT_INT64", "DT_STRING", "DT_RESOURCE", "DT_VARIANT", "DT_BOOL"],
  ...["DT_COMPLEX64", "DT_UINT8", "float32", "__proto__", "constructor", "toString", "^x", "x:0"],
  ...["x:7", "a:b:c:d", ":", "^", "a b", "/", "x/", "AAAA", "AQIDBA==", "!!!", "/device:GPU:9"],
  [],
  {},
  [null],
  [[]],
  { unknownRank: true },
  { dim: [{ size: "-1" }] },
  { dim: [{ size: "3" }, {}] },
];

interface Place {
  readonly parent: Json[] | { [key: string]: Json };
  readonly key: string | number;
}

function places(value: Json, found: Place[] = []): Place[] {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return found;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    found.push({ parent: value, key });
    places((value as { [key: string]: Json })[key], found);
  }
  return found;
}

/** A copy with some values replaced, lost, doubled, or put where others were. */
export function mutateJson(value: Json, random: Random): Json {
  const copy = structuredClone(value);
  for (let n = 1 + random.below(3); n > 0; n--) {
    const all = places(copy);
    if (all.length === 0) break;
    const { parent, key } = random.of(all) as { parent: { [key: string]: Json }; key: string };
    const there = random.of(all) as { parent: { [key: string]: Json }; key: string };
    switch (random.below(6)) {
      case 0:
      case 1:
        parent[key] = structuredClone(random.of(VALUES));
        break;
      case 2:
        if (Array.isArray(parent)) parent.splice(Number(key), 1);
        else delete parent[key];
        break;
      case 3:
        if (Array.isArray(parent)) {
          parent.splice(Number(key), 0, structuredClone(parent[Number(key)]));
        }
        break;
      case 4: {
        // Another of the same kind: it looks right where it stands.
        const same = all.filter((p) => p.key === key) as typeof there[];
        const from = random.of(same);
        parent[key] = structuredClone(from.parent[from.key]);
        break;
      }
      default:
        parent[key] = structuredClone(there.parent[there.key] ?? null);
    }
  }
  return copy;
}
