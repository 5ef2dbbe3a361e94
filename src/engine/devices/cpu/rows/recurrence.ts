/**
 * Recurrent networks over all their steps in one call: for a few units at a time, the sums of all gates grow in registers, and
 * become the next states there. Weights are packed in the order in which they are read. Float32.
 */
import type { RecurrentCell } from "../../../core/meaning.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastPrepare, FastRun, PackedForm } from "../fast.ts";
import { prepareProduct } from "../gemm/gemm.ts";
import type { Pointer } from "../heap.ts";
import type { I } from "../wasm/function_builder.ts";
import { f32, f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { logistic, tanh } from "../wasm/lane_math.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

/** Gates of each cell, and vectors of units whose sums of all gates grow at once. */
const CELLS: Readonly<Record<RecurrentCell, { readonly gates: number; readonly vectors: number }>> =
  {
    lstm: { gates: 4, vectors: 2 },
    gru: { gates: 3, vectors: 2 },
    "gru after": { gates: 3, vectors: 2 },
    tanh: { gates: 1, vectors: 4 },
    relu: { gates: 1, vectors: 4 },
    sigmoid: { gates: 1, vectors: 4 },
  };

/** Rows of a batch above which one product for all of them is faster than one for each. */
const FEW_ROWS = 3;

/** Runs steps: `y` and `x` with the bytes to their next rows, `h` the first state, `sums` packed weights or products. */
interface Addresses {
  readonly y: readonly [at: Pointer, step: number];
  readonly x: readonly [at: Pointer, step: number];
  readonly h: Pointer;
  readonly sums: Pointer;
  readonly cells: Pointer;
  readonly bias: Pointer;
  readonly room: Pointer;
}

/** A recurrence: of inputs of gates, weights, states and, for "gru after", a bias. */
export const prepareRecurrence: FastPrepare = (engine, problem) => {
  const { inputs: [x, w], attrs: { cell, reverse } } = problem;
  const [steps, rows, width] = x.shape, units = w.shape[1], of: RecurrentCell = cell;
  if (x.dtype !== "float32") return null;
  if (rows * units === 0) return () => {};
  const { heap } = engine, rowBytes = 4 * rows * units, way = reverse ? -1 : 1;
  const first = reverse ? steps - 1 : 0, final = reverse ? 0 : steps - 1, xBytes = 4 * rows * width;
  const all = (count: number, { y, x, h, sums, cells, bias, room }: Addresses): number[] => [
    ...[...y, ...x, h, sums, cells, bias, room, count, rows, units],
  ];
  const shared = { engine, cell: of, units };
  const whole = rows > FEW_ROWS && of !== "gru"
    ? throughProducts(shared, rows)
    : throughPacked(shared);
  /** Makes the kernel that takes weights as they are, or in the form. */
  const finish = (run: Steps): FastRun => ([y, last, lastCell], [x, weights, h, ...more]) => {
    const at = (row: number): Pointer => y + row * rowBytes;
    const cells = of === "lstm" ? lastCell : 0, bias = of === "gru after" ? more[0] : 0;
    if (of === "lstm") heap.u8.copyWithin(cells, more[0], more[0] + rowBytes);
    if (steps > 0) {
      const yStep = way * rowBytes, xStep = way * xBytes, start = x + first * xBytes;
      const given = { y: [at(first), yStep], x: [start, xStep], h, cells, bias } as const;
      run(steps, weights, (count, more) => all(count, { ...given, ...more }));
    }
    const end = steps === 0 ? h : at(final);
    heap.u8.copyWithin(last, end, end + rowBytes);
  };
  return Object.assign(finish(whole.run), {
    form: whole.form && { ...whole.form, input: 1, run: finish(whole.form.run) },
  });
};

/** Runs so many steps with weights; `all` lists the arguments of a kernel. */
type Steps = (
  count: number,
  weights: Pointer,
  all: (count: number, more: Partial<Addresses> & Pick<Addresses, "sums" | "room">) => number[],
) => void;

interface Whole {
  readonly run: Steps;
  readonly form?: (PackedForm & { readonly run: Steps }) | undefined;
}

interface Shared {
  readonly engine: Engine;
  readonly cell: RecurrentCell;
  readonly units: number;
}

/** All steps in one call, each row by itself. */
function throughPacked({ engine, cell, units }: Shared): Whole {
  const { gates, vectors } = CELLS[cell], block = 4 * vectors;
  const padded = Math.ceil(units / block) * block, bytes = 4 * padded * gates * units;
  const run = stepsKernel(engine, cell, units, "weights");
  const packing = kernel(engine, `pack recurrence ${gates} ${block}`, 3, (s, p) => {
    writePacking(s, gates, block, p);
  });
  const pack = (to: Pointer, weights: Pointer): void => {
    engine.packings++;
    engine.zero(to, bytes);
    packing(to, weights, units);
  };
  const room = cell === "gru" ? 8 * padded : 0;
  return {
    run: (count, weights, all) => {
      const sums = engine.scratch(bytes + room);
      pack(sums, weights);
      run(...all(count, { sums, room: sums + bytes }));
    },
    form: {
      key: `recurrence ${gates} ${block}`,
      bytes,
      pack,
      run: (count, sums, all) => void run(...all(count, { sums, room: engine.scratch(room) })),
    },
  };
}

/** One product of all rows for each step. */
function throughProducts({ engine, cell, units }: Shared, rows: number): Whole {
  const { heap } = engine, width = CELLS[cell].gates * units, bytes = 4 * rows * width;
  const product = prepareProduct(engine, {
    m: rows,
    n: width,
    k: units,
    transA: false,
    transB: true,
  });
  const run = stepsKernel(engine, cell, units, "products");
  const steps = (multiply: FastRun): Steps => (count, weights, all) => {
    const sums = heap.alloc(bytes);
    try {
      const [y, yStep, x, xStep, h, ...rest] = all(1, { sums, room: 0 });
      for (let t = 0; t < count; t++) {
        const before = t === 0 ? h : y + (t - 1) * yStep;
        multiply([sums], [before, weights]);
        run(y + t * yStep, yStep, x + t * xStep, xStep, before, ...rest);
      }
    } finally {
      heap.free(sums, bytes);
    }
  };
  const { form } = product;
  return { run: steps(product), form: form && { ...form, run: steps(form.run) } };
}

/** Returns the kernel of steps, whose sums are made of packed weights or are products in memory. */
function stepsKernel(
  engine: Engine,
  cell: RecurrentCell,
  units: number,
  by: "weights" | "products",
): WasmFunction {
  const tail = units % (4 * CELLS[cell].vectors);
  return kernel(engine, `recurrence ${cell} ${by} ${tail}`, 12, (s, p) => {
    writeSteps(s, { cell, by, tail }, p);
  });
}

/**
 * Packs weights `[gates · units, units]`: for each block of units, for each element of a state, the weights of all gates. Parameters:
 * target, which is zeroed, weights, units.
 */
function writePacking(
  s: Simd,
  gates: number,
  block: number,
  [to, from, units]: readonly I[],
): void {
  const { f } = s, step = 4 * block * gates;
  const left = f.variable("i32", units), row = f.variable("i32", from);
  const bytes = f.let(i32.shl(units, 2)), gate = f.let(i32.mul(bytes, units));
  const base = f.variable("i32", to), lane = f.local("i32"), lanes = f.local("i32");
  const [read, write, count] = f.locals("i32", 3);
  f.while(i32.gt(left, 0), () => {
    f.set(lanes, block);
    f.if(i32.lt(left, block), () => f.set(lanes, left));
    f.set(lane, 0);
    f.until(lane, lanes, 1, () => {
      for (let g = 0; g < gates; g++) {
        f.set(read, i32.add(row, i32.mul(gate, g)));
        f.set(write, i32.add(base, i32.shl(lane, 2)));
        f.set(count, units);
        f.countDown(count, 1, () => {
          f.storeLane(write, f32x4.loadFirst(read), 4, 0, 4 * block * g);
          f.advance(read, 4);
          f.advance(write, step);
        });
      }
      f.advance(row, bytes);
    });
    f.advance(base, i32.mul(units, step));
    f.advance(left, -block);
  });
}

/** A block of units while its code is written. */
interface Block {
  /** Number of units of each vector. */
  readonly sizes: readonly number[];
  /** Offset of the first unit, in bytes. */
  readonly at: I;
}

/** A kernel of steps. */
interface StepsCode {
  readonly cell: RecurrentCell;
  readonly by: "weights" | "products";
  /** Units after the whole blocks. */
  readonly tail: number;
}

/**
 * Runs steps. Parameters: result, bytes to its next row, inputs, bytes to theirs, first state, packed weights or products, states of
 * cells, bias, scratch memory, steps, rows of a batch, units.
 */
function writeSteps(
  s: Simd,
  { cell, by, tail }: StepsCode,
  [y, yStep, x, xStep, start, given, cells, bias, room, steps, rows, units]: readonly I[],
): void {
  const { f } = s, { gates, vectors } = CELLS[cell], block = 4 * vectors;
  const bytes = f.let(i32.shl(units, 2)), before = f.variable("i32", start);
  const [state, out, input, products, c, w, at, left] = f.locals("i32", 8);
  const whole = new Array<number>(vectors).fill(4);
  const part = whole.map((_, i) => Math.max(0, Math.min(4, tail - 4 * i)));
  const blocks = (body: (b: Block) => void): void => {
    f.set(at, 0);
    f.set(w, given);
    f.set(left, units);
    const advance = () => f.advance(w, i32.mul(units, 4 * block * gates));
    f.countDown(left, block, () => {
      body({ sizes: whole, at });
      f.advance(at, 4 * block);
      advance();
    });
    if (tail > 0) body({ sizes: part, at });
  };
  const load = (address: Value<"i32">, { sizes }: Block): F4[] => {
    const here = f.let(address);
    return sizes.map((n, i) => f.let(loadPart(here, n, 16 * i, s)));
  };
  const store = (address: Value<"i32">, v: readonly F4[], { sizes }: Block): void => {
    const here = f.let(address);
    sizes.forEach((n, i) => {
      if (n === 4) f.store(here, v[i], 16 * i);
      else if (n > 0) storePart(f, f.let(i32.add(here, 16 * i)), v[i], n);
    });
  };
  const ofGate = (base: I, gate: number, b: Block): F4[] =>
    load(i32.add(i32.add(base, i32.mul(bytes, gate)), b.at), b);
  const inputs = (gate: number, b: Block): F4[] => ofGate(input, gate, b);
  /** Adds the products of a state with the weights of some gates to what `from` gives. */
  const sums = (
    of: readonly number[],
    b: Block,
    { from = (gate) => inputs(gate, b), state: h = state }: {
      readonly from?: (gate: number) => F4[];
      readonly state?: Value<"i32">;
    } = {},
  ): F4[][] => {
    const first = of.map(from);
    if (by === "products") {
      return of.map((gate, i) =>
        ofGate(products, gate, b).map((v, j) => f.let(f32x4.add(first[i][j], v)))
      );
    }
    const grown = first.map((list) => list.map((v) => f.variable("f32x4", v)));
    const element = f.variable("i32", h), weights = f.variable("i32", w);
    const count = f.variable("i32", units);
    for (const depth of [4, 1]) {
      f.countDown(count, depth, () => {
        for (let k = 0; k < depth; k++) {
          const factor = f.let(f32x4.loadSplat(element, 4 * k));
          of.forEach((gate, i) =>
            grown[i].forEach((sum, j) => {
              const offset = 4 * block * (gates * k + gate) + 16 * j;
              f.set(sum, s.madd(factor, f32x4.load(weights, offset), sum));
            })
          );
        }
        f.advance(element, 4 * depth);
        f.advance(weights, 4 * block * gates * depth);
      });
    }
    return grown;
  };
  const sigmoid = (v: F4): F4 => logistic(s, f32x4.neg(v));
  /** `z · h + (1 - z) · n`. */
  const mixed = (z: F4, h: F4, n: F4): F4 => s.madd(z, f32x4.sub(h, n), n);
  const write: Readonly<Record<RecurrentCell, () => void>> = {
    lstm: () =>
      blocks((b) => {
        const [i, o, g, n] = sums([0, 1, 2, 3], b);
        const old = load(i32.add(c, b.at), b);
        const next = old.map((v, k) =>
          f.let(s.madd(sigmoid(g[k]), v, f32x4.mul(sigmoid(i[k]), tanh(s, n[k]))))
        );
        store(i32.add(c, b.at), next, b);
        const y = next.map((v, k) => f.let(f32x4.mul(sigmoid(o[k]), tanh(s, v))));
        store(i32.add(out, b.at), y, b);
      }),
    "gru after": () =>
      blocks((b) => {
        const from = (gate: number): F4[] =>
          gate < 2 ? inputs(gate, b) : load(i32.add(bias, b.at), b);
        const [z, r, n] = sums([0, 1, 2], b, { from });
        const more = inputs(2, b), h = load(i32.add(state, b.at), b);
        const y = n.map((v, k) => {
          const fresh = tanh(s, f.let(s.madd(sigmoid(r[k]), v, more[k])));
          return f.let(mixed(sigmoid(z[k]), h[k], fresh));
        });
        store(i32.add(out, b.at), y, b);
      }),
    gru: () => {
      const size = i32.mul(f.let(i32.divU(i32.add(units, block - 1), block)), 4 * block);
      const reset = f.let(i32.add(room, size));
      blocks((b) => {
        const [z, r] = sums([0, 1], b);
        const h = load(i32.add(state, b.at), b);
        z.forEach((v, k) => f.store(i32.add(room, b.at), sigmoid(v), 16 * k));
        r.forEach((v, k) => f.store(i32.add(reset, b.at), f32x4.mul(sigmoid(v), h[k]), 16 * k));
      });
      blocks((b) => {
        const [n] = sums([2], b, { state: reset });
        const h = load(i32.add(state, b.at), b), z = i32.add(room, b.at);
        const y = n.map((v, k) => f.let(mixed(f32x4.load(z, 16 * k), h[k], tanh(s, v))));
        store(i32.add(out, b.at), y, b);
      });
    },
    tanh: () => plain((v) => tanh(s, v)),
    relu: () => plain((v) => f32x4.max(v, s.k(0))),
    sigmoid: () => plain(sigmoid),
  };
  const plain = (activation: (v: F4) => F4): void =>
    blocks((b) => {
      const [sum] = sums([0], b);
      store(i32.add(out, b.at), sum.map((v) => f.let(activation(v))), b);
    });
  f.times(steps, () => {
    f.set(state, before);
    f.set(out, y);
    f.set(input, x);
    f.set(c, cells);
    f.set(products, given);
    f.times(rows, () => {
      write[cell]();
      f.advance(state, bytes);
      f.advance(out, bytes);
      f.advance(input, i32.mul(bytes, gates));
      f.advance(products, i32.mul(bytes, gates));
      f.advance(c, bytes);
    });
    f.set(before, y);
    f.advance(y, yStep);
    f.advance(x, xStep);
  });
}

/** Loads the first elements of a vector, zeros after them. */
function loadPart(address: Value<"i32">, count: number, offset: number, s: Simd): F4 {
  switch (count) {
    case 0:
      return s.k(0);
    case 1:
      return f32x4.loadFirst(address, offset);
    case 2:
      return f32x4.loadPair(address, offset);
    case 3: {
      const pair = f32x4.loadPair(address, offset);
      return f32x4.withLane(pair, 2, f32.load(address, offset + 8));
    }
    default:
      return f32x4.load(address, offset);
  }
}
