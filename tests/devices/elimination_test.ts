/** Eliminations in vector code against loops and against the systems themselves: extents around blocks, batches, pivots, what has no solution. */
import { assert, assertEquals, assertThrows, fail } from "@std/assert";
import * as tf from "@weft/weft";
import type { DType } from "../../src/engine/core/dtype.ts";
import { ENGINES, randomSource } from "./cpu/engines.ts";
import { op, runFast, runLoops } from "./cpu/kernel_runs.ts";

const random = randomSource(7);
function make(dtype: DType, ...shape: number[]): tf.NdArray {
  const x = tf.NdArray.zeros(dtype, shape);
  const data = x.data as Float32Array;
  for (let i = 0; i < data.length; i++) data[i] = 2 * random() - 1;
  return x;
}

/** Rows that need exchanges: the first elements of most are zero, and the largest stand low. */
function turned(dtype: DType, n: number): tf.NdArray {
  const x = make(dtype, n, n), data = x.data as Float32Array;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) if (i + j < n - 1) data[i * n + j] = 0;
    data[i * n + n - 1 - i] += 3;
  }
  return x;
}

function near(got: tf.NdArray, want: tf.NdArray, limit: number, text: string): void {
  assertEquals(got.shape, want.shape);
  for (let i = 0; i < want.size; i++) {
    const [x, y] = [got, want].map(({ data }) => Number(data[i]));
    if (!(Math.abs(x - y) <= limit * Math.max(1, Math.abs(y)))) {
      fail(`${text}, element ${i}: ${x}, wanted ${y}`);
    }
  }
}

for (const [name, engine] of ENGINES) {
  if (!engine.features.simd) continue;
  Deno.test(`systems, inverses and factors are those of loops: ${name}`, () => {
    for (const dtype of ["float32", "float64"] as const) {
      const limit = dtype === "float32" ? 2e-4 : 1e-9;
      for (const n of [4, 5, 11, 24, 31, 65, 131]) {
        const well = make(dtype, n, n), data = well.data as Float32Array;
        for (let i = 0; i < n; i++) data[i * n + (i * 7 + 3) % n] += n % 7 === 0 ? 0 : 4;
        for (const a of [well, turned(dtype, n)]) {
          for (const [k, adjoint] of [[1, false], [3, true], [17, false]] as const) {
            const inputs = [a, make(dtype, n, k)];
            const got = runFast(engine, op("MatrixSolve"), inputs, { adjoint });
            assert(got !== null, `${dtype} ${n}`);
            near(
              got[0],
              runLoops(op("MatrixSolve"), inputs, { adjoint })[0],
              limit,
              `solve ${dtype} ${n} ${k}`,
            );
          }
          const inverse = runFast(engine, op("MatrixInverse"), [a], { adjoint: true })!;
          near(
            inverse[0],
            runLoops(op("MatrixInverse"), [a], { adjoint: true })[0],
            limit,
            `inverse ${dtype} ${n}`,
          );
          const factors = runFast(engine, op("Lu"), [a])!, wanted = runLoops(op("Lu"), [a]);
          near(factors[0], wanted[0], limit, `factors ${dtype} ${n}`);
          assertEquals([...factors[1].data as Int32Array], [...wanted[1].data as Int32Array]);
        }
      }
    }
  });

  Deno.test(`systems in batches, with NaN, and without a solution: ${name}`, () => {
    const batch = [make("float32", 2, 3, 30, 30), make("float32", 2, 3, 30, 2)];
    near(
      runFast(engine, op("MatrixSolve"), batch)![0],
      runLoops(op("MatrixSolve"), batch)[0],
      1e-2,
      "batch",
    );
    const nothing = [make("float32", 0, 30, 30), make("float32", 0, 30, 2)];
    assertEquals(runFast(engine, op("MatrixSolve"), nothing)![0].shape, [0, 30, 2]);
    assertEquals(
      runFast(engine, op("MatrixSolve"), [make("float32", 30, 30), make("float32", 30, 0)])![0]
        .size,
      0,
    );
    const unknown = make("float32", 30, 30);
    (unknown.data as Float32Array)[40] = NaN;
    const runs = [
      runFast(engine, op("MatrixInverse"), [unknown])!,
      runLoops(op("MatrixInverse"), [unknown]),
    ];
    for (const [x] of runs) assert([...x.data as Float32Array].some(Number.isNaN));
    const twice = make("float32", 30, 30);
    (twice.data as Float32Array).copyWithin(30, 0, 30);
    (twice.data as Float32Array).fill(0, 60, 90);
    for (
      const [of, given] of [["MatrixSolve", [twice, make("float32", 30, 1)]], ["MatrixInverse", [
        twice,
      ]], ["Lu", [twice]]] as const
    ) {
      const wanted = assertThrows(
        () => runLoops(op(of), [...given]),
        tf.errors.InvalidArgumentError,
      );
      assertThrows(
        () => runFast(engine, op(of), [...given]),
        tf.errors.InvalidArgumentError,
        wanted.message,
      );
    }
    // Small ones stay with loops, as do int64 places.
    assertEquals(runFast(engine, op("MatrixInverse"), [make("float32", 3, 3)]), null);
  });
}

Deno.test("gradients, float16 and int64 places of large systems hold", () => {
  const n = 40, a = tf.tensor(make("float32", n, n)), eye = tf.eye(n);
  const well = tf.add(a, tf.mul(eye, 6));
  for (const dtype of ["float32", "float16", "float64"] as const) {
    const x = tf.cast(well, dtype), back = tf.matMul(tf.cast(tf.linalg.inv(x), "float32"), well);
    const wrong = tf.max(tf.abs(tf.sub(back, eye))).item() as number;
    assert(wrong < (dtype === "float16" ? 2e-2 : 1e-5), `${dtype}: ${wrong}`);
  }
  const loss = (m: tf.Tensor): tf.Tensor => tf.sum(tf.linalg.solve(m, tf.ones([n, 1])));
  const g = tf.grad(loss)(well), step = tf.mul(tf.tensor(make("float32", n, n)), 1e-2);
  const along = tf.sum(tf.mul(g, step)).item() as number;
  const apart = tf.sub(loss(tf.add(well, step)), loss(tf.sub(well, step))).item() as number / 2;
  assert(Math.abs(along - apart) < 2e-3 * Math.max(0.1, Math.abs(apart)), `${along}, ${apart}`);
});
