/**
 * The inner kernels of every matrix product and convolution: tiles of up to six rows of C by eight columns, kept in registers.
 *
 * Rows are given by pointers: a panel begins with one pointer per row of C, then one per row of A. Each sum runs over segments of
 * the row of A, at offsets that are the same for all rows: a plain product has one, a convolution one per row of its filter. So
 * patches of an image are never copied.
 */
import { DTYPES } from "../../../core/dtype.ts";
import type { Epilogue } from "../../../core/fusion.ts";
import { type Engine, type WasmFunction, words } from "../engine.ts";
import type { FunctionRef, I, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";
import { epilogueKey, importEpilogue } from "./epilogue.ts";
import type { Terms } from "./gemm_terms.ts";
import { PANEL_BYTES, PANEL_COLUMNS, tileOf } from "./gemm_tile.ts";

/** A call that runs panels of rows against panels of columns. */
export interface PanelCall<T = number> {
  /** First panel of pointers, and number of panels. */
  readonly panels: T;
  readonly count: T;
  /** Address of the segments' offsets, number of segments, and bytes of each. */
  readonly segments: T;
  readonly segmentCount: T;
  readonly segmentBytes: T;
  /** Added to the pointers of A, and to those of C. */
  readonly aBase: T;
  readonly cBase: T;
  /** First panel of B, bytes from row to row within a panel, and from panel to panel. */
  readonly b: T;
  readonly bStep: T;
  readonly bPanelStep: T;
  readonly columns: T;
  /** Bits: `ADD` to the contents of C, and `LAST` part of the sums. */
  readonly mode: T;
  /** Addresses of the operands of {@linkcode Epilogue}; those per column begin at the first column. */
  readonly operands: readonly T[];
}

/** Number of an inner kernel's parameters; the operands of the epilogue follow. */
export const PANEL_PARAMS = 12;

export function panelArguments(c: PanelCall): number[] {
  const { panels, segments, segmentCount, segmentBytes, aBase, b, bStep, cBase, columns } = c;
  const { mode, count, bPanelStep, operands } = c;
  const rows = [panels, segments, segmentCount, segmentBytes, aBase, b, bStep, cBase, columns];
  rows.push(mode, count, bPanelStep, ...operands);
  return rows;
}

/** Names the parameters. */
export function paramsOf<T extends Local>(p: readonly T[]): PanelCall<T> {
  const [panels, segments, segmentCount, segmentBytes, aBase, b, bStep, ...more] = p;
  const [cBase, columns, mode, count, bPanelStep, ...operands] = more;
  const rows = { panels, count, segments, segmentCount, segmentBytes, aBase };
  return { ...rows, b, bStep, bPanelStep, cBase, columns, mode, operands };
}

/** Makes the kernel of `rows` rows. It reads rows of B in the packed layout of eight floats, or in place. */
export function panelKernel(
  engine: Engine,
  rows: number,
  source: "packed" | "direct",
  epilogue: Epilogue | undefined,
  terms: Terms = "float32",
): WasmFunction {
  const operands = epilogue?.operands ?? [];
  return engine.compile(`gemm ${terms} ${rows} ${source} ${epilogueKey(epilogue)}`, (m) => {
    const hosts = importEpilogue(epilogue)(m);
    const micro = m.function(null, words(MICRO_PARAMS + operands.length), null, (f, ...p) => {
      const s = new Simd(f, engine.features.relaxed, hosts);
      writeTile(s, { rows, packed: source === "packed", epilogue, terms }, p);
    });
    m.function("run", words(PANEL_PARAMS + operands.length), null, (f, ...p) => {
      const { panels, segments, segmentCount, segmentBytes, aBase, ...c } = paramsOf(p);
      const [b, at] = f.locals("i32", 2);
      const steps = operands.map(({ per, dtype }) =>
        per === "column" ? PANEL_COLUMNS * DTYPES[dtype].bytes : 0
      );
      const moving = c.operands.map((o, i) => (steps[i] > 0 ? f.local("i32") : o));
      // A panel of rows stays in the nearest cache while all panels of B pass by it.
      f.countDown(c.count, 1, () => {
        f.set(b, c.b);
        f.set(at, c.cBase);
        moving.forEach((x, i) => steps[i] > 0 && f.set(x, c.operands[i]));
        const left = f.variable("i32", c.columns);
        f.while(i32.gt(left, 0), () => {
          const row = [panels, segments, segmentCount, segmentBytes, aBase];
          const args = [...row, b, c.bStep, at, left, c.mode, ...moving];
          f.run(micro as FunctionRef<readonly "i32"[], null>, ...args);
          f.advance(b, c.bPanelStep);
          f.advance(at, PANEL_BYTES);
          moving.forEach((x, i) => steps[i] > 0 && f.advance(x, steps[i]));
          f.advance(left, -PANEL_COLUMNS);
        });
        f.advance(panels, 8 * rows);
      });
    });
  }).run;
}

const MICRO_PARAMS = 10;

/** Writes the kernel of one panel of rows and one of columns. */
function writeTile(
  s: Simd,
  { rows, packed, epilogue, terms }: {
    readonly rows: number;
    readonly packed: boolean;
    readonly epilogue: Epilogue | undefined;
    readonly terms: Terms;
  },
  [panel, segments, segmentCount, segmentBytes, aBase, b, bStep, ...target]: readonly I[],
): void {
  const { f } = s, tile = tileOf(s, rows, epilogue, terms);
  const [cBase, columns, mode, ...operands] = target;
  const a = f.locals("i32", rows), [end, base] = f.locals("i32", 2);
  const steps = (count: number): void => {
    for (let k = 0; k < count; k++) {
      const at = packed ? PANEL_BYTES * k : 0;
      const row = [f.let(f32x4.load(b, at)), f.let(f32x4.load(b, at + 16))] as const;
      tile.step(k, (i) => f32x4.loadSplat(a[i], 4 * k), row);
      if (!packed) f.advance(b, bStep);
    }
    if (packed) f.advance(b, PANEL_BYTES * count);
    a.forEach((x) => f.advance(x, 4 * count));
  };
  f.countDown(segmentCount, 1, () => {
    f.set(base, i32.add(aBase, i32.load(segments)));
    a.forEach((x, i) => f.set(x, i32.add(i32.load(panel, 4 * (a.length + i)), base)));
    // Long steps leave the fewest instructions beside the multiply-adds, where B is read at fixed distances.
    for (const [count, bytes] of packed ? [[8, -32], [4, 16]] : [[4, -16]]) {
      f.set(end, i32.add(a[0], i32.and(segmentBytes, bytes)));
      f.while(i32.ltU(a[0], end), () => steps(count));
    }
    f.set(end, i32.add(a[0], i32.and(segmentBytes, 15)));
    f.while(i32.ltU(a[0], end), () => steps(1));
    f.advance(segments, 4);
  });
  tile.store({ panel, cBase, columns, mode, operands });
}
