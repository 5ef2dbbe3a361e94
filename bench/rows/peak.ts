// What the processor gives at most: multiply-adds on registers alone, in one thread. Products are held against it.

import { probeFeatures } from "../../src/engine/devices/cpu/wasm/features.ts";
import { f32x4, i32 } from "../../src/engine/devices/cpu/wasm/instructions.ts";
import { ModuleBuilder } from "../../src/engine/devices/cpu/wasm/module_builder.ts";
import { Simd } from "../../src/engine/devices/cpu/wasm/simd.ts";
import type { Case, Row } from "../row.ts";

/** Sums in flight: more than the units times their latency, and no more than there are registers. */
const SUMS = 12;
const ROUNDS = 1 << 18;
const LANES = 4;

/** Operations of a call of the loop. */
export const BARE_FLOP: number = 2 * LANES * SUMS * ROUNDS;

/** The loop, ready to be called. */
export function bareLoop(): Case {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const m = new ModuleBuilder({ shared: false });
  m.function("run", ["i32"], null, (f, rounds) => {
    const s = new Simd(f, probeFeatures().relaxed);
    const factor = f.let(f32x4.load(0)), term = f.let(f32x4.load(16));
    const sums = Array.from({ length: SUMS }, () => f.variable("f32x4", s.k(0)));
    f.while(i32.gt(rounds, 0), () => {
      for (const sum of sums) f.set(sum, s.madd(factor, term, sum));
      f.advance(rounds, -1);
    });
    sums.forEach((sum, i) => f.store(0, sum, 16 * (2 + i)));
  });
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(m.finish()), { env: { memory } })
    .exports as { run(rounds: number): void };
  new Float32Array(memory.buffer).fill(1, 0, 2 * LANES);
  return {
    call() {
      run(ROUNDS);
      const sums = new Float32Array(memory.buffer, 32, SUMS * LANES);
      return { data: () => Promise.resolve(sums), dispose() {} };
    },
  };
}

/** Rows of this file. */
export const PEAK_ROWS: readonly Row[] = [{
  id: "peak",
  what: "bare loop of multiply-adds, one thread",
  flop: BARE_FLOP,
  devices: ["cpu"],
  readsBack: true,
  weft: bareLoop,
  check: {
    expected: () => Array.from({ length: SUMS * LANES }, (_, index) => ({ index, value: ROUNDS })),
  },
}];
