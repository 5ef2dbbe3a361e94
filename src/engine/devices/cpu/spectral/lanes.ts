/** Complex numbers in vectors: real and imaginary parts of four numbers in float32, of two in float64. */
import { f32x4, f64, f64x2 } from "../wasm/instructions.ts";
import type { Floats } from "../wasm/instruction_kinds.ts";
import type { FunctionBuilder } from "../wasm/function_builder.ts";
import { turn4 } from "../wasm/turned_rows.ts";
import type { Simd } from "../wasm/simd.ts";
import type { Operand, Value } from "../wasm/value.ts";

/** Types of a vector of parts. */
export type Part = "f32x4" | "f64x2";
type V = Value<Part>;
/** Complex numbers: their parts. */
export type C = readonly [re: V, im: V];

/** Bytes of a vector of complex numbers: the parts lie one after the other. */
export const GROUP = 32;

type PartOps =
  & Pick<Floats<Part>, "add" | "sub" | "mul" | "xor" | "ofBits">
  & {
    readonly load: (p: Operand<"i32">, offset?: number) => V;
    readonly loadSplat: (p: Operand<"i32">, offset?: number) => V;
  };
const OPS = { f32x4, f64x2 } as unknown as Readonly<Record<Part, PartOps>>;

const quads = (v: V): Value<"f32x4"> => f32x4.ofBits(v);
const pairs = (v: V): Value<"f64x2"> => f64x2.ofBits(v);

/** Vector code for complex numbers of one precision. */
export class Lanes {
  readonly type: Part;
  /** Numbers in a vector. */
  readonly width: number;
  /** Bytes of a part. */
  readonly bytes: number;
  readonly ops: PartOps;
  readonly f: FunctionBuilder;
  readonly #s: Simd;

  constructor(s: Simd, type: Part) {
    this.#s = s;
    this.f = s.f;
    this.type = type;
    this.width = type === "f32x4" ? 4 : 2;
    this.bytes = 16 / this.width;
    this.ops = OPS[type];
  }

  let(x: V): V {
    return this.f.let(x);
  }
  k(value: number): V {
    return this.f.constant(this.type, value);
  }
  madd(a: V, b: V, c: V): V {
    return this.let(this.#s.madd(a as Value<"f32x4">, b as Value<"f32x4">, c as Value<"f32x4">));
  }
  neg(x: V): V {
    return this.let(this.ops.xor(x, this.k(-0)));
  }
  add([a, b]: C, [c, d]: C): C {
    return [this.let(this.ops.add(a, c)), this.let(this.ops.add(b, d))];
  }
  sub([a, b]: C, [c, d]: C): C {
    return [this.let(this.ops.sub(a, c)), this.let(this.ops.sub(b, d))];
  }
  /** Product with a factor whose parts, and whose negative imaginary part, are in registers. */
  times([a, b]: C, [c, s, negative]: readonly V[]): C {
    const { mul } = this.ops;
    return [
      this.madd(b, negative, this.let(mul(a, c))),
      this.madd(b, c, this.let(mul(a, s))),
    ];
  }

  /** Loads a vector whose parts lie one after the other. */
  load(p: Operand<"i32">, offset = 0): C {
    return [
      this.let(this.ops.load(p, offset)),
      this.let(this.ops.load(p, offset + 16)),
    ];
  }
  store(p: Operand<"i32">, [re, im]: C, offset = 0): void {
    this.f.store(p, re, offset);
    this.f.store(p, im, offset + 16);
  }
  /** Loads numbers as tensors have them: each with its parts. */
  loadNumbers(p: Operand<"i32">, offset = 0): C {
    return this.parts(this.load(p, offset));
  }
  storeNumbers(p: Operand<"i32">, x: C, offset = 0): void {
    const [low, high] = this.numbers(x);
    this.f.store(p, low, offset);
    this.f.store(p, high, offset + 16);
  }

  /** Parts of the numbers in two vectors. */
  parts([u, v]: readonly V[]): C {
    const [even, odd] = this.width === 4
      ? [[0, 2, 4, 6], [1, 3, 5, 7]] as const
      : [[0, 1, 4, 5], [2, 3, 6, 7]] as const;
    return [this.#shuffle(u, v, even), this.#shuffle(u, v, odd)];
  }
  /** Two vectors of numbers. */
  numbers([re, im]: C): C {
    const [low, high] = this.width === 4
      ? [[0, 4, 1, 5], [2, 6, 3, 7]] as const
      : [[0, 1, 4, 5], [2, 3, 6, 7]] as const;
    return [this.#shuffle(re, im, low), this.#shuffle(re, im, high)];
  }
  /** Lanes in the opposite order. */
  reverse([re, im]: C): C {
    const order = this.width === 4 ? [3, 2, 1, 0] as const : [2, 3, 0, 1] as const;
    return [this.#shuffle(re, re, order), this.#shuffle(im, im, order)];
  }
  #shuffle(a: V, b: V, order: readonly [number, number, number, number]): V {
    return this.let(this.ops.ofBits(f32x4.shuffle(quads(a), quads(b), order)));
  }

  /** Vectors of four results of neighbours as neighbours' vectors of four results, in the order of memory. */
  turned(four: readonly C[]): C[] {
    if (this.width === 4) {
      const [re, im] = [0, 1].map((part) => turn4(this.f, four.map((x) => quads(x[part]))));
      return re.map((v, i): C => [v, im[i]]);
    }
    const zip = (i: number, part: number): C => this.numbers([four[i][part], four[i + 1][part]]);
    const [a, b, c, d] = [zip(0, 0), zip(0, 1), zip(2, 0), zip(2, 1)];
    return [0, 1].flatMap((i): C[] => [[a[i], b[i]], [c[i], d[i]]]);
  }

  /** Loads a number from each address. */
  gather(places: readonly Value<"i32">[]): C {
    if (this.width === 2) return this.parts(places.map((p) => this.let(this.ops.load(p))));
    const two = (a: Value<"i32">, b: Value<"i32">): V =>
      this.let(f32x4.ofBits(f64x2.withLane(f64x2.loadSplat(a), 1, f64.load(b))));
    const [a, b, c, d] = places;
    return this.parts([two(a, b), two(c, d)]);
  }
  /** Stores a number to each address; of those that share one the first. */
  scatter(places: readonly Value<"i32">[], x: C): void {
    const halves = this.numbers(x);
    for (let lane = this.width - 1; lane >= 0; lane--) {
      if (this.width === 2) this.f.store(places[lane], halves[lane]);
      else this.f.storeLane(places[lane], pairs(halves[lane >> 1]), 8, lane & 1);
    }
  }
}
