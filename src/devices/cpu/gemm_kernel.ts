/**
 * The inner kernel of every matrix product and convolution: up to six rows of C by eight columns, kept in registers.
 *
 * Rows are given by pointers: a panel begins with one pointer per row of C, then one per row of A. Each sum runs over segments of
 * the row of A, at offsets that are the same for all rows: a plain product has one, a convolution one per row of its filter. So
 * patches of an image are never copied.
 * May import core and this folder.
 */
import { type Expr, exprKey } from "../../core/scalar.ts";
import type { DType } from "../../core/dtype.ts";
import type { Engine, WasmFunction } from "./engine.ts";
import { importHosts, printSimd } from "./print_simd.ts";
import type { FunctionBuilder, FunctionRef, Local } from "./wasm/function_builder.ts";
import { f32x4, i32 } from "./wasm/instructions.ts";
import { type F4, Simd } from "./wasm/simd.ts";

/** Most rows of a panel: as many as registers hold. Products that are not fused with sums take one for themselves. */
export function panelRows({ features }: Engine): number {
  return features.relaxed ? 6 : 5;
}
/** Columns of a panel of B. */
export const PANEL_COLUMNS = 8;
const PANEL_BYTES = 4 * PANEL_COLUMNS;

/** What happens to each sum before it is stored: an expression over it (argument 0) and further operands. */
export interface Finish {
  /** The expression; its value is float32. */
  readonly expr: Expr;
  /** For each further operand, float32: one value for all, one per column (a bias), or one per element (a residual). */
  readonly operands: readonly ("all" | "column" | "element")[];
}

/** Runs panels of rows against panels of columns. */
export interface PanelCall {
  /** First panel of pointers. */
  readonly panels: number;
  /** How many panels of rows. */
  readonly count: number;
  /** Offsets of the segments, in memory. */
  readonly segments: number;
  /** How many segments. */
  readonly segmentCount: number;
  /** Bytes of a segment. */
  readonly segmentBytes: number;
  /** Added to the pointers of A. */
  readonly aBase: number;
  /** First panel of B. */
  readonly b: number;
  /** Bytes from row to row of B, where it is not packed. */
  readonly bStep: number;
  /** Bytes from panel to panel of B. */
  readonly bPanelStep: number;
  /** Added to the pointers of C. */
  readonly cBase: number;
  /** Columns to compute. */
  readonly columns: number;
  /** Adds to what C holds. */
  readonly add: boolean;
  /** This is the last part of the sums. */
  readonly last: boolean;
  /** Addresses of the operands of {@linkcode Finish}; those per column begin at the first column. */
  readonly operands: readonly number[];
}

/** The kernel of `rows` rows; `packed` says that rows of B follow each other as {@linkcode PANEL_COLUMNS} floats. */
export function panelKernel(
  engine: Engine,
  rows: number,
  packed: boolean,
  finish: Finish | undefined,
): WasmFunction {
  const key = finish ? `${exprKey(finish.expr)} ${finish.operands}` : "";
  return engine.compile(`gemm ${rows} ${packed} ${key}`, (m) => {
    const hosts = importHosts(m, finish ? [finish.expr] : []);
    const relaxed = engine.features.relaxed;
    const extra = new Array<"i32">(finish?.operands.length ?? 0).fill("i32");
    const micro = m.function(null, [...MICRO_PARAMS, ...extra], null, (f, ...p) => {
      new Micro(new Simd(f, relaxed, hosts), rows, packed, finish, p as Local<"i32">[]).write();
    });
    m.function("run", [...RUN_PARAMS, ...extra], null, (f, ...p) => {
      writePanels(f, micro, rows, finish, p as Local<"i32">[]);
    });
  }).run;
}

/** The arguments of a call. */
export function panelArguments(c: PanelCall): number[] {
  const mode = (c.add ? ADD : 0) | (c.last ? LAST : 0);
  const rows = [c.panels, c.segments, c.segmentCount, c.segmentBytes, c.aBase];
  return [...rows, c.b, c.bStep, c.cBase, c.columns, mode, c.count, c.bPanelStep, ...c.operands];
}

const ADD = 1, LAST = 2;
const MICRO_PARAMS = [
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
  "i32",
] as const;
const RUN_PARAMS = [...MICRO_PARAMS, "i32", "i32"] as const;

/** A panel of rows stays in the nearest cache while the panels of B pass by it. */
function writePanels(
  f: FunctionBuilder,
  micro: FunctionRef,
  rows: number,
  finish: Finish | undefined,
  p: Local<"i32">[],
): void {
  const [
    panel,
    segments,
    segmentCount,
    segmentBytes,
    aBase,
    b,
    bStep,
    cBase,
    columns,
    mode,
    count,
    bPanelStep,
  ] = p;
  const operands = p.slice(RUN_PARAMS.length);
  const bHere = f.local("i32"), cHere = f.local("i32"), left = f.local("i32");
  const moving = operands.map((o, i) => (finish!.operands[i] === "column" ? f.local("i32") : o));
  f.while(i32.gt(count, 0), () => {
    f.set(bHere, b);
    f.set(cHere, cBase);
    moving.forEach((x, i) => x !== operands[i] && f.set(x, operands[i]));
    f.set(left, columns);
    f.while(i32.gt(left, 0), () => {
      f.run(
        micro as FunctionRef<readonly "i32"[], null>,
        ...[
          panel,
          segments,
          segmentCount,
          segmentBytes,
          aBase,
          bHere,
          bStep,
          cHere,
          left,
          mode,
          ...moving,
        ],
      );
      f.advance(bHere, bPanelStep);
      f.advance(cHere, PANEL_BYTES);
      moving.forEach((x, i) => x !== operands[i] && f.advance(x, PANEL_BYTES));
      f.advance(left, -PANEL_COLUMNS);
    });
    f.advance(panel, 8 * rows);
    f.advance(count, -1);
  });
}

/** Writes the kernel of one panel of rows and one of columns. */
class Micro {
  readonly #s: Simd;
  readonly #rows: number;
  readonly #packed: boolean;
  readonly #finish: Finish | undefined;
  readonly #p: readonly Local<"i32">[];
  readonly #sums: Local<"f32x4">[][];

  constructor(
    s: Simd,
    rows: number,
    packed: boolean,
    finish: Finish | undefined,
    p: readonly Local<"i32">[],
  ) {
    this.#s = s;
    this.#rows = rows;
    this.#packed = packed;
    this.#finish = finish;
    this.#p = p;
    this.#sums = this.#each(() => [s.f.local("f32x4"), s.f.local("f32x4")]);
  }

  #each<T>(make: (row: number) => T): T[] {
    return Array.from({ length: this.#rows }, (_, i) => make(i));
  }

  write(): void {
    const { f } = this.#s;
    const [panel, segments, segmentCount, segmentBytes, aBase, b] = this.#p;
    const a = this.#each(() => f.local("i32"));
    const end = f.local("i32"), base = f.local("i32");
    f.while(i32.gt(segmentCount, 0), () => {
      f.set(base, i32.add(aBase, i32.load(segments)));
      a.forEach((x, i) => f.set(x, i32.add(i32.load(panel, 4 * (this.#rows + i)), base)));
      // Long steps leave the fewest instructions beside the multiply-adds, where B is read at fixed distances.
      for (const [count, bytes] of this.#packed ? [[8, -32], [4, 16]] : [[4, -16]]) {
        f.set(end, i32.add(a[0], i32.and(segmentBytes, bytes)));
        f.while(i32.ltU(a[0], end), () => this.#steps(a, b, count));
      }
      f.set(end, i32.add(a[0], i32.and(segmentBytes, 15)));
      f.while(i32.ltU(a[0], end), () => this.#steps(a, b, 1));
      f.advance(segments, 4);
      f.advance(segmentCount, -1);
    });
    this.#store();
  }

  /** The next `count` elements of each row. */
  #steps(a: readonly Local<"i32">[], b: Local<"i32">, count: number): void {
    const { f } = this.#s;
    const bStep = this.#p[6];
    for (let k = 0; k < count; k++) {
      const at = this.#packed ? PANEL_BYTES * k : 0;
      const b0 = f.let(f32x4.load(b, at)), b1 = f.let(f32x4.load(b, at + 16));
      this.#sums.forEach(([s0, s1], i) => {
        const x = f.let(f32x4.loadSplat(a[i], 4 * k));
        f.set(s0, this.#s.madd(x, b0, s0));
        f.set(s1, this.#s.madd(x, b1, s1));
      });
      if (!this.#packed) f.advance(b, bStep);
    }
    if (this.#packed) f.advance(b, PANEL_BYTES * count);
    a.forEach((x) => f.advance(x, 4 * count));
  }

  #store(): void {
    const { f } = this.#s;
    const [panel, , , , , , , cBase, columns, mode] = this.#p;
    const c = this.#each((i) => f.variable("i32", i32.add(i32.load(panel, 4 * i), cBase)));
    f.if(i32.and(mode, ADD), () => {
      this.#sums.forEach((row, i) =>
        row.forEach((s, h) => f.set(s, f32x4.add(s, f32x4.load(c[i], 16 * h))))
      );
    });
    if (this.#finish) f.if(i32.and(mode, LAST), () => this.#applyFinish(this.#finish!, c));
    f.if(i32.ge(columns, PANEL_COLUMNS), () => {
      this.#sums.forEach((row, i) => row.forEach((s, h) => f.store(c[i], s, 16 * h)));
    }, () => this.#sums.forEach((row, i) => this.#storePart(c[i], row[0], row[1], columns)));
  }

  /** The first one to seven columns of a row. */
  #storePart(
    c: Local<"i32">,
    low: Local<"f32x4">,
    high: Local<"f32x4">,
    columns: Local<"i32">,
  ): void {
    const { f } = this.#s;
    f.if(i32.and(columns, 4), () => {
      f.store(c, low);
      f.set(low, high);
      f.advance(c, 16);
    });
    f.if(i32.and(columns, 2), () => {
      f.storeLane(c, low, 8, 0);
      f.set(low, f32x4.shuffle(low, low, [2, 3, 2, 3]));
      f.advance(c, 8);
    });
    f.if(i32.and(columns, 1), () => f.storeLane(c, low, 4, 0));
  }

  #applyFinish({ expr, operands }: Finish, c: readonly Local<"i32">[]): void {
    const { f } = this.#s;
    const dtypes: DType[] = ["float32", ...operands.map((): DType => "float32")];
    const pointers = this.#p.slice(MICRO_PARAMS.length);
    // Operands per column are the same for all rows; those per element lie as C does, at another base.
    const shared = operands.map((per, i) => {
      if (per === "all") return [0, 1].map(() => f.let(f32x4.loadSplat(pointers[i])));
      return per === "column" ? [0, 1].map((h) => f.let(f32x4.load(pointers[i], 16 * h))) : null;
    });
    this.#sums.forEach((row, i) => {
      row.forEach((s, h) => {
        const args = operands.map((_, k): F4 => {
          return shared[k]?.[h] ?? f.let(f32x4.load(i32.add(c[i], pointers[k]), 16 * h));
        });
        f.set(s, printSimd(this.#s, [expr], dtypes, [s, ...args])[0] as F4);
      });
    });
  }
}
