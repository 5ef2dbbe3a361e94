/**
 * The loops of copies: rows gathered through tables, and blocks turned.
 * May import this folder.
 */
import type { Engine, WasmExports, WasmFunction } from "./engine.ts";
import { turn4 } from "./gemm_pack.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "./wasm/instructions.ts";
import type { Value } from "./wasm/value.ts";

/** In a table: the place is filled. */
export const NOWHERE: number = -2147483648;

type I = Local<"i32">;

/** `turn(to, from, rows, columns, rowStep, columnStep)`: `to[r][c] = from[c][r]`; rows of `from` are `columnStep` bytes apart. */
export function copyModule(engine: Engine): WasmExports {
  return engine.compile("copy", (m) => {
    m.function("turn", ["i32", "i32", "i32", "i32", "i32", "i32"], null, writeTurn);
  });
}

/** Blocks of sixteen by four: whole cache lines are read. */
function writeTurn(
  f: FunctionBuilder,
  to: I,
  from: I,
  rows: I,
  columns: I,
  rowStep: I,
  columnStep: I,
): void {
  const column = f.local("i32"),
    source = f.local("i32"),
    target = f.local("i32"),
    row = f.local("i32");
  /** `groups` times four rows, all columns. */
  const band = (groups: number): void => {
    f.set(source, from);
    f.set(target, to);
    f.set(column, columns);
    f.while(i32.ge(column, 4), () => {
      const lines = [source];
      for (let k = 1; k < 4; k++) lines.push(f.variable("i32", i32.add(lines[k - 1], columnStep)));
      f.set(row, target);
      for (let g = 0; g < groups; g++) {
        for (const v of turn4(f, lines.map((l) => f.let(f32x4.load(l, 16 * g))))) {
          f.store(row, v);
          f.advance(row, rowStep);
        }
      }
      f.advance(source, i32.shl(columnStep, 2));
      f.advance(target, 16);
      f.advance(column, -4);
    });
    f.while(i32.gt(column, 0), () => {
      f.set(row, target);
      for (let r = 0; r < 4 * groups; r++) {
        f.store(row, i32.load(source, 4 * r));
        f.advance(row, rowStep);
      }
      f.advance(source, columnStep);
      f.advance(target, 4);
      f.advance(column, -1);
    });
    f.advance(to, i32.mul(rowStep, 4 * groups));
    f.advance(from, 16 * groups);
    f.advance(rows, -4 * groups);
  };
  f.while(i32.ge(rows, 16), () => band(4));
  f.while(i32.ge(rows, 4), () => band(1));
  f.while(i32.gt(rows, 0), () => {
    f.set(source, from);
    f.set(target, to);
    f.set(column, columns);
    f.while(i32.gt(column, 0), () => {
      f.store(target, i32.load(source));
      f.advance(source, columnStep);
      f.advance(target, 4);
      f.advance(column, -1);
    });
    f.advance(to, rowStep);
    f.advance(from, 4);
    f.advance(rows, -1);
  });
}

/**
 * Rows of an output, in order. Parameters: to, from, fill, tables; for each axis with a table its extent and the elements below
 * it; and unless the last axis has a table too: elements filled before, copied, filled after, and the offset of the first copied.
 */
export function rowsModule(
  engine: Engine,
  axes: number,
  last: "table" | "run" | "still",
): WasmFunction {
  return engine.compile(`copy rows ${axes} ${last}`, (m) => {
    const count = 4 + 2 * axes + (last === "table" ? 0 : 4);
    m.function("run", new Array<"i32">(count).fill("i32"), null, (f, ...p) => {
      const [to, from, fill, tables] = p as unknown as I[];
      const axis = (d: number): { extent: I; volume: I } => {
        return { extent: p[4 + 2 * d] as unknown as I, volume: p[5 + 2 * d] as unknown as I };
      };
      const [before, copied, after, offset] = p.slice(4 + 2 * axes) as unknown as I[];
      const filling = f.let(i32x4.splat(fill));
      const level = (d: number, place: Value<"i32">, table: Value<"i32">): void => {
        if (d === axes) {
          fillRun(f, to, before, filling);
          copyRun(f, to, i32.add(place, offset), copied, last === "still");
          fillRun(f, to, after, filling);
          return;
        }
        const { extent, volume } = axis(d);
        const at = f.variable("i32", table);
        const below = f.let(i32.add(table, i32.shl(extent, 2)));
        f.times(extent, () => {
          const step = f.let(i32.load(at));
          f.advance(at, 4);
          const here = f.let(i32.add(place, step));
          if (d === axes - 1 && last === "table") {
            f.if(i32.eq(step, NOWHERE), () => f.store(to, fill), () => f.store(to, i32.load(here)));
            f.advance(to, 4);
          } else {
            f.if(
              i32.eq(step, NOWHERE),
              () => fillRun(f, to, volume, filling),
              () => level(d + 1, here, below),
            );
          }
        });
      };
      level(0, from, tables);
    });
  }).run;
}

/** Stores the filling `count` times and moves `to` past it. */
function fillRun(f: FunctionBuilder, to: I, count: Value<"i32">, filling: Value<"i32x4">): void {
  const left = f.variable("i32", count);
  f.while(i32.ge(left, 4), () => {
    f.store(to, filling);
    f.advance(to, 16);
    f.advance(left, -4);
  });
  f.while(i32.gt(left, 0), () => {
    f.storeLane(to, filling, 4, 0);
    f.advance(to, 4);
    f.advance(left, -1);
  });
}

/** Copies `count` elements, or the first of them `count` times, and moves `to` past them. */
function copyRun(f: FunctionBuilder, to: I, from: Value<"i32">, count: I, still: boolean): void {
  if (still) return fillRun(f, to, count, f.let(i32x4.loadSplat(from)));
  const source = f.variable("i32", from), left = f.variable("i32", count);
  f.while(i32.ge(left, 16), () => {
    for (let u = 0; u < 4; u++) f.store(to, i32x4.load(source, 16 * u), 16 * u);
    f.advance(source, 64);
    f.advance(to, 64);
    f.advance(left, -16);
  });
  f.while(i32.ge(left, 4), () => {
    f.store(to, i32x4.load(source));
    f.advance(source, 16);
    f.advance(to, 16);
    f.advance(left, -4);
  });
  f.while(i32.gt(left, 0), () => {
    f.store(to, i32.load(source));
    f.advance(source, 4);
    f.advance(to, 4);
    f.advance(left, -1);
  });
}
