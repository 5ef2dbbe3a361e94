/**
 * Blocks turned: the loops of transposes.
 * May import devices/cpu.
 */
import type { Engine, WasmExports } from "../engine.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { turn4 } from "../wasm/turned_rows.ts";

type I = Local<"i32">;

/** `turn(to, from, rows, columns, rowStep, columnStep)`: `to[r][c] = from[c][r]`; rows of `from` are `columnStep` bytes apart. */
export function turnModule(engine: Engine): WasmExports {
  return engine.compile("copy turn", (m) => {
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
