/**
 * Rows put in places: added, or written over.
 * May import core, kernels and this folder.
 */
import { DTYPES } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { rowsOf } from "../../kernels/gather_layout.ts";
import type { HostMeaning } from "../../kernels/host_meaning.ts";
import type { Engine, WasmFunction } from "./engine.ts";
import type { FastRun } from "./fast.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32, f32x4, i32, i32x4 } from "./wasm/instructions.ts";

type I = Local<"i32">;

/** How a row joins what is there. */
type Join = "write" | "add floats" | "add ints";

/** Elements of four bytes under indices of int32; null for others. */
export function prepareScatter(
  engine: Engine,
  problem: Problem,
  { layout: layoutOf, inputs, how, skip }: NonNullable<HostMeaning["scatter"]>,
): FastRun | null {
  const [out] = problem.outputs, indices = problem.inputs[inputs.indices];
  if (DTYPES[out.dtype].bytes !== 4 || indices.dtype !== "int32") return null;
  const layout = layoutOf(problem), { batch, outer, inner, count } = layout;
  const join = how === "write" ? how : out.dtype === "float32" ? "add floats" : "add ints";
  const run = scatterRun(engine, join), width = 4 * inner;
  const bytes = 4 * sizeOf(out.shape), extent = width * sizeOf(layout.dims);
  const { copy } = engine.compile("copy bytes", (m) => {
    m.function("copy", ["i32", "i32", "i32"], null, (f, to, from, n) => f.copy(to, from, n));
  });
  return ([o], ins) => {
    const data = new Int32Array(
      engine.heap.memory.buffer,
      ins[inputs.indices],
      sizeOf(indices.shape),
    );
    const places = batch * count === 0
      ? new Int32Array(0)
      : rowsOf(new NdArray("int32", indices.shape, data), layout, skip);
    if (inputs.start === undefined) engine.zero(o, bytes);
    else copy(o, ins[inputs.start], bytes);
    if (places.length === 0 || width === 0) return;
    const spare = engine.scratch(4 * places.length);
    engine.heap.i32.set(places, spare >>> 2);
    for (let b = 0; b < batch; b++) {
      run(
        o + b * outer * extent,
        ins[inputs.rows] + b * outer * count * width,
        spare + 4 * b * count,
        outer,
        count,
        inner,
        extent,
      );
    }
  };
}

function scatterRun(engine: Engine, join: Join): WasmFunction {
  return engine.compile(`scatter ${join}`, (m) => {
    m.function("run", new Array<"i32">(7).fill("i32"), null, (f, ...p) => {
      writeScatter(f, join, p as unknown as I[]);
    });
  }).run;
}

/** Parameters: to, rows, places, blocks that the places are in, places, elements of a row, bytes of a block. */
function writeScatter(
  f: FunctionBuilder,
  join: Join,
  [out, rows, places, blocks, count, inner, extent]: readonly I[],
): void {
  const width = f.let(i32.shl(inner, 2)), place = f.local("i32");
  const to = f.local("i32"), from = f.local("i32"), left = f.local("i32");
  const go = (elements: number): void => {
    [to, from].forEach((p) => f.advance(p, 4 * elements));
    f.advance(left, -elements);
  };
  const four = (offset: number): void => {
    const v = join === "write"
      ? i32x4.load(from, offset)
      : join === "add floats"
      ? f32x4.add(f32x4.load(to, offset), f32x4.load(from, offset))
      : i32x4.add(i32x4.load(to, offset), i32x4.load(from, offset));
    f.store(to, v, offset);
  };
  f.while(i32.gt(blocks, 0), () => {
    f.times(count, (j) => {
      f.set(place, i32.load(i32.add(places, i32.shl(j, 2))));
      f.if(i32.ge(place, 0), () => {
        f.set(to, i32.add(out, i32.mul(place, width)));
        f.set(from, i32.add(rows, i32.mul(j, width)));
        f.set(left, inner);
        f.while(i32.ge(left, 16), () => {
          [0, 16, 32, 48].forEach(four);
          go(16);
        });
        f.while(i32.ge(left, 4), () => {
          four(0);
          go(4);
        });
        f.while(left, () => {
          const v = join === "write"
            ? i32.load(from)
            : join === "add floats"
            ? f32.add(f32.load(to), f32.load(from))
            : i32.add(i32.load(to), i32.load(from));
          f.store(to, v);
          go(1);
        });
      });
    });
    f.advance(rows, i32.mul(count, width));
    f.advance(out, extent);
    f.advance(blocks, -1);
  });
}
