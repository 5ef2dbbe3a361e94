/** Kernels stay within the memory that they ask for, scratch or lent: what lies behind it is not written. */
import "@weft/weft";
import { assertEquals } from "@std/assert";
import type { Attrs } from "../../src/engine/core/op.ts";
import type { DType } from "../../src/engine/core/dtype.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../src/engine/core/shape.ts";
import { Engine } from "../../src/engine/devices/cpu/engine.ts";
import type { Pointer } from "../../src/engine/devices/cpu/heap.ts";
import { ints, op, runFast } from "./cpu/kernel_runs.ts";

/** Bytes behind each piece of memory. */
const GUARD = 4096;

/** An engine that finds what kernels write behind their memory. */
function guarded(): { engine: Engine; assertWithin(): void; asked(): number } {
  const engine = new Engine(), { heap } = engine;
  const guards: number[] = [];
  let asked = 0;
  const taken = (bytes: number): Pointer => {
    const at = heap.alloc(bytes + GUARD);
    heap.u8.fill(0xab, at + bytes, at + bytes + GUARD);
    guards.push(at + bytes);
    asked += bytes;
    return at;
  };
  engine.scratch = taken;
  heap.lend = (bytes, use) => use(taken(bytes));
  return {
    engine,
    asked: () => asked,
    assertWithin() {
      const written = guards.flatMap((at) => [...heap.u8.subarray(at, at + GUARD)])
        .filter((byte) => byte !== 0xab);
      assertEquals(written.length, 0, "bytes behind a kernel's memory are written");
    },
  };
}

function filled(dtype: DType, shape: readonly number[]): NdArray {
  const array = NdArray.zeros(dtype, shape), data = array.data as Float32Array;
  for (let i = 0; i < sizeOf(shape); i++) data[i] = (i * 31 & 63) / 8 - 2;
  return array;
}

interface Case {
  readonly name: string;
  readonly inputs: readonly NdArray[];
  readonly attrs?: Attrs;
}

const FLOATS: readonly DType[] = ["float32", "float64", "float16", "int32"];

/** Sizes of which blocks, panels and their rests differ. */
const PRODUCTS: readonly (readonly [m: number, k: number, n: number])[] = [
  [5, 33, 70],
  [65, 300, 130],
  [130, 700, 300],
];

function* cases(): Generator<Case> {
  for (const dtype of FLOATS) {
    for (const [m, k, n] of PRODUCTS) {
      for (const [transposeA, transposeB] of [[false, false], [true, false], [false, true]]) {
        yield {
          name: "MatMul",
          inputs: [
            filled(dtype, transposeA ? [k, m] : [m, k]),
            filled(dtype, transposeB ? [n, k] : [k, n]),
          ],
          attrs: { transpose_a: transposeA!, transpose_b: transposeB! },
        };
      }
    }
    if (dtype === "float16" || dtype === "int32") continue;
    for (const shape of [[40, 17], [3, 1000], [2, 1021]]) {
      const Tcomplex = dtype === "float64" ? "complex128" : "complex64";
      yield { name: "RFFT", inputs: [filled(dtype, shape), ints(shape[1]!)], attrs: { Tcomplex } };
    }
    const square = filled(dtype, [70, 70]);
    for (let i = 0; i < 70; i++) (square.data as Float32Array)[71 * i] = 50;
    yield { name: "MatrixSolve", inputs: [square, filled(dtype, [70, 9])] };
    yield { name: "MatrixInverse", inputs: [square] };
  }
  for (const [strides, padding] of [[1, "SAME"], [2, "VALID"]] as const) {
    yield {
      name: "Conv2D",
      inputs: [filled("float32", [2, 19, 23, 5]), filled("float32", [3, 3, 5, 40])],
      attrs: { strides: [1, strides, strides, 1], padding },
    };
    yield {
      name: "DepthwiseConv2dNative",
      inputs: [filled("float32", [2, 19, 23, 12]), filled("float32", [3, 3, 12, 1])],
      attrs: { strides: [1, strides, strides, 1], padding },
    };
  }
  const count = new NdArray("int32", [], Int32Array.of(40));
  yield { name: "TopKV2", inputs: [filled("float32", [9, 700]), count] };
  yield { name: "Cumsum", inputs: [filled("float32", [7, 900]), ints(1)] };
  yield { name: "Transpose", inputs: [filled("float32", [33, 65, 17]), ints(2, 1, 0)] };
}

Deno.test("kernels write within the memory that they ask for", () => {
  let users = 0;
  for (const { name, inputs, attrs } of cases()) {
    const { engine, assertWithin, asked } = guarded();
    const made = runFast(engine, op(name), inputs, attrs);
    const shapes = inputs.map(({ dtype, shape }) => `${dtype}[${shape}]`).join(", ");
    assertEquals(made === null, false, `${name} of ${shapes} has no kernel`);
    if (asked() > 0) users++;
    try {
      assertWithin();
    } catch (e) {
      throw new Error(`${name} of ${shapes}`, { cause: e });
    }
  }
  assertEquals(users > 20, true, `${users} of them asked for memory`);
});
