/** Plans of Fourier transforms: the stages of a length and their factors in the heap, kept for the lengths used last. */
import { root } from "../../../kernels/host/spectral/fft.ts";
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import type { Radix } from "./butterflies.ts";
import type { Part } from "./lanes.ts";
import { HEAD, type Radices, STAGE } from "./transform_module.ts";

/** Most bytes of the factors that an engine keeps. */
const MOST_BYTES = 1 << 22;

/** Memory that is written once and read by transforms. */
export interface Table {
  readonly at: Pointer;
  readonly bytes: number;
}

/** The factors of an engine. */
class Tables {
  readonly #engine: Engine;
  readonly #kept = new Map<string, Table>();
  #bytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs `use` with tables, each made by its key where it is not there; none of them is freed before. */
  with<T>(wanted: readonly Wanted[], use: (tables: readonly Pointer[]) => T): T {
    const tables = wanted.map((table) => this.#get(table));
    try {
      return use(tables.map(({ at }) => at));
    } finally {
      // The oldest first.
      for (const [key, { at, bytes }] of this.#kept) {
        if (this.#bytes <= MOST_BYTES) break;
        this.#kept.delete(key);
        this.#free(at, bytes);
      }
    }
  }

  #free(at: Pointer, bytes: number): void {
    this.#bytes -= bytes;
    this.#engine.heap.free(at, bytes);
  }

  #get({ key, bytes, write }: Wanted): Table {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const table = kept ?? { at: this.#engine.heap.alloc(bytes), bytes };
    if (!kept) {
      this.#bytes += bytes;
      write(table.at, this.#engine.heap.memory.buffer);
    }
    this.#kept.set(key, table);
    return table;
  }
}

/** A table: its name, its size, and what fills it. */
export interface Wanted {
  readonly key: string;
  readonly bytes: number;
  readonly write: (at: Pointer, memory: ArrayBufferLike) => void;
}

const all = new WeakMap<Engine, Tables>();

/** Returns the factors of an engine. */
export function tablesOf(engine: Engine): Tables {
  let tables = all.get(engine);
  if (!tables) all.set(engine, tables = new Tables(engine));
  return tables;
}

/** Makes an array of parts in memory. */
export function partsAt(
  part: Part,
  memory: ArrayBufferLike,
  at: Pointer,
  length: number,
): Float32Array | Float64Array {
  return part === "f32x4"
    ? new Float32Array(memory, at, length)
    : new Float64Array(memory, at, length);
}

export const partBytes = (part: Part): number => part === "f32x4" ? 4 : 8;

/** A stage: its radix, number of factors, and neighbours that share one. */
interface Stage {
  readonly radix: Radix;
  readonly count: number;
  readonly step: number;
}

/** The stages of a length. */
export interface Stages {
  readonly radices: Radices;
  readonly stages: readonly Stage[];
  readonly plan: Wanted;
}

/** Returns the radices of a length, the last of which may be 2 or 8; null where it has other factors than 2, 3, 5 and 7. */
function radicesOf(n: number): Radix[] | null {
  const radices: Radix[] = [];
  let left = n;
  for (const radix of [7, 5, 3] as const) {
    for (; left % radix === 0; left /= radix) radices.push(radix);
  }
  const twos = Math.log2(left);
  if (!Number.isInteger(twos)) return null;
  if (twos % 2 === 0) return [...new Array<4>(twos / 2).fill(4), ...radices];
  return twos === 1 ? [...radices, 2] : [...new Array<4>((twos - 3) / 2).fill(4), ...radices, 8];
}

/** True where the rows of a length begin with a stage of radix 4 over neighbours. */
export function isByRows(n: number, part: Part): boolean {
  const radices = radicesOf(n), width = 16 / partBytes(part);
  return radices !== null && radices.length > 1 && radices[0] === 4 && n >= 4 * width;
}

/** True where a length has no other factors than 2, 3, 5 and 7. */
export function isSmooth(n: number): boolean {
  return n > 1 && radicesOf(n) !== null;
}

/** Returns the stages of a length without other factors; `byRows`: the first one is for {@linkcode rowFunctions}. */
export function stagesOf(n: number, part: Part, byRows: boolean): Stages {
  const radices = radicesOf(n)!, stages: Stage[] = [];
  let left = n, step = 1;
  for (const radix of radices) {
    left /= radix;
    stages.push({ radix, count: left, step });
    step *= radix;
  }
  const inner = stages.slice(byRows ? 1 : 0, -1), last = stages.at(-1)!;
  const bytes = partBytes(part), words = HEAD.words + STAGE.words * inner.length;
  const head = Math.ceil(4 * words / 64) * 64;
  const factored = byRows ? [stages[0], ...inner] : inner;
  const numbers = factored.reduce((sum, { radix, count }) => sum + 2 * (radix - 1) * count, 0);
  const write = (at: Pointer, memory: ArrayBufferLike): void => {
    const plan = new Int32Array(memory, at, words);
    const factors = partsAt(part, memory, at + head, numbers);
    plan[HEAD.buffer] = 2 * bytes * n;
    plan[HEAD.stages] = inner.length;
    plan[HEAD.last] = last.step;
    let next = 0;
    factored.forEach((stage, i) => {
      const { radix, count, step } = stage,
        first = byRows && i === 0,
        place = at + head +
          bytes * next;
      if (first) plan.set([place, count], HEAD.factors);
      else {plan.set(
          [radix, place, count, step],
          HEAD.words + STAGE.words * (byRows ? i - 1 : i),
        );}
      for (let p = 0; p < count; p++) {
        for (let k = 1; k < radix; k++) {
          const [c, s] = root(k * p, count * radix);
          const to = next + (first ? 2 * (k - 1) * count + p : 2 * ((radix - 1) * p + k - 1));
          factors[to] = c;
          factors[to + (first ? count : 1)] = s;
        }
      }
      next += 2 * (radix - 1) * count;
    });
  };
  return {
    radices: { inner: [...new Set(inner.map(({ radix }) => radix))].sort(), last: last.radix },
    stages: byRows ? stages.slice(1) : stages,
    plan: {
      key: `${part} ${byRows ? "rows" : "blocks"} ${n}`,
      bytes: head + bytes * numbers,
      write,
    },
  };
}
