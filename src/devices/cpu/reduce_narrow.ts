/**
 * Reductions of many short rows: four at a time, one in each lane.
 * May import core and this folder.
 */
import type { Engine, WasmFunction } from "./engine.ts";
import { turn4 } from "./gemm_pack.ts";
import type { Reducer } from "./reduce_kernel.ts";
import type { FunctionBuilder, Local } from "./wasm/function_builder.ts";
import { f32x4, i32 } from "./wasm/instructions.ts";
import type { Value } from "./wasm/value.ts";

type I = Local<"i32">;

/** Rows up to this long are reduced in lanes: as many elements as are summed in float32 elsewhere. */
const NARROW = 32;
/** Fewer rows are not worth code of their own. */
const MANY = 32;

/** `run(x, m, n, acc)` folds `m` rows, a multiple of four, into accumulators of their own; null where rows go one by one. */
export function narrowRows(
  engine: Engine,
  name: string,
  reducer: Reducer,
  { m: rows, n }: { readonly m: number; readonly n: number },
): WasmFunction | null {
  // Without runs nothing is combined in the elements' own type.
  if (rows < MANY || n > NARROW || reducer.run === 0) return null;
  return engine.compile(`reduce narrow ${name}`, (m) => {
    m.function("run", ["i32", "i32", "i32", "i32"], null, (f, ...p) => writeNarrow(f, reducer, p));
  }).run;
}

function writeNarrow(f: FunctionBuilder, r: Reducer, [x, m, n, acc]: readonly I[]): void {
  const bytes = f.let(i32.shl(n, 2)), tail = f.let(i32.and(n, 3)), left = f.local("i32");
  const rows = [0, 1, 2, 3].map(() => f.local("i32")), state = f.local(r.type);
  const both = (a: Value<typeof r.type>, b: Value<typeof r.type>): Value<typeof r.type> =>
    f.let(r.state === "f64x2" ? r.quick(a, b) : r.take(a, b) as Value<typeof r.type>);
  const columns = (): Value<typeof r.type>[] =>
    turn4(f, rows.map((p) => f.let(f32x4.load(p)))).map((v) => r.table.ofBits(v));
  f.while(i32.gt(m, 0), () => {
    rows.forEach((p, k) => f.set(p, k === 0 ? x : i32.add(rows[k - 1], bytes)));
    f.set(state, f.constant(r.type, r.identity));
    f.set(left, n);
    f.while(i32.ge(left, 4), () => {
      const [a, b, c, d] = columns();
      f.set(state, both(state, both(both(a, b), both(c, d))));
      rows.forEach((p) => f.advance(p, 16));
      f.advance(left, -4);
    });
    f.if(tail, () => {
      const rest = columns();
      f.set(state, both(state, rest[0]));
      f.if(i32.gt(tail, 1), () => f.set(state, both(state, rest[1])));
      f.if(i32.gt(tail, 2), () => f.set(state, both(state, rest[2])));
    });
    r.fold(f, acc, state);
    f.advance(x, i32.shl(bytes, 2));
    f.advance(acc, 4 * r.bytes);
    f.advance(m, -4);
  });
}
