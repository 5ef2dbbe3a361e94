/** Four rows at a time, transposed: each row is in a lane. */
import type { FunctionBuilder, Local } from "./function_builder.ts";
import { f32, f32x4, i32 } from "./instructions.ts";
import type { F4 } from "./simd.ts";
import type { Operand } from "./value.ts";

type I = Local<"i32">;

/** Transposes four rows of four. */
export function turn4(f: FunctionBuilder, [a, b, c, d]: readonly F4[]): F4[] {
  const ab0 = f.let(f32x4.shuffle(a, b, [0, 4, 1, 5])),
    ab1 = f.let(f32x4.shuffle(a, b, [2, 6, 3, 7]));
  const cd0 = f.let(f32x4.shuffle(c, d, [0, 4, 1, 5])),
    cd1 = f.let(f32x4.shuffle(c, d, [2, 6, 3, 7]));
  return [
    f32x4.shuffle(ab0, cd0, [0, 1, 4, 5]),
    f32x4.shuffle(ab0, cd0, [2, 3, 6, 7]),
    f32x4.shuffle(ab1, cd1, [0, 1, 4, 5]),
    f32x4.shuffle(ab1, cd1, [2, 3, 6, 7]),
  ].map((v) => f.let(v));
}

interface Along {
  /** Addresses of the rows, and in the end of the columns left. */
  readonly rows: readonly I[];
  readonly n: I;
  /** Takes four columns. */
  readonly four: (columns: readonly F4[]) => void;
  /** Takes one of the remaining columns. */
  readonly one: (column: F4) => void;
}

/** Walks four rows of four-byte elements. Whole vectors are read: up to twelve bytes past the end of the rows. */
export function alongRows(f: FunctionBuilder, { rows, n, four, one }: Along): void {
  const left = f.variable("i32", n);
  const columns = (): F4[] => turn4(f, rows.map((p) => f.let(f32x4.load(p))));
  f.countDown(left, 4, () => {
    four(columns());
    rows.forEach((p) => f.advance(p, 16));
  });
  f.if(left, () => {
    const [a, b, c] = columns();
    one(a);
    f.if(i32.gt(left, 1), () => one(b));
    f.if(i32.gt(left, 2), () => one(c));
  });
}

interface Into {
  /** Addresses of the rows, one or some fours, and in the end their ends. */
  readonly rows: readonly I[];
  readonly n: I;
  /** Target of the first column, and in the end of one more. */
  readonly to: I;
  /** Bytes from column to column. */
  readonly step: Operand<"i32">;
}

/** Writes the columns of rows of four-byte elements. Nothing past the end of a row is read. */
export function turnInto(f: FunctionBuilder, { rows, n, to, step }: Into): void {
  const left = f.variable("i32", n);
  const advance = (columns: number): void => {
    rows.forEach((p) => f.advance(p, 4 * columns));
    f.advance(left, -columns);
  };
  const fours = Array.from(
    { length: rows.length >> 2 },
    (_, i) => rows.slice(4 * i, 4 * i + 4),
  );
  if (fours.length > 0) {
    f.while(i32.ge(left, 4), () => {
      const turned = fours.map((four) => turn4(f, four.map((p) => f.let(f32x4.load(p)))));
      for (let column = 0; column < 4; column++) {
        turned.forEach((columns, i) => f.store(to, columns[column], 16 * i));
        f.advance(to, step);
      }
      advance(4);
    });
  }
  f.while(i32.gt(left, 0), () => {
    rows.forEach((p, i) => f.store(to, f32.load(p), 4 * i));
    f.advance(to, step);
    advance(1);
  });
}
