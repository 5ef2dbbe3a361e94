/** The WebAssembly functions of Fourier transforms: stages, and the loops over them that read a plan from memory. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { moves, twist } from "./blocks.ts";
import type { Radix } from "./butterflies.ts";
import type { Part } from "./lanes.ts";
import { define, firstStage, type Fn, innerStage, lastStage, type Writer } from "./stages.ts";

/** Words of a plan before its stages, and of each stage. */
export const HEAD = { buffer: 0, factors: 1, count: 2, stages: 3, last: 4, words: 5 };
export const STAGE = { radix: 0, factors: 1, count: 2, step: 3, words: 4 };

/** Radices of the stages that a module has. */
export interface Radices {
  /** Of stages between the first and the last, without repetition. */
  readonly inner: readonly Radix[];
  readonly last: Radix;
}

/** Functions of rows, whose first stage has radix 4. */
export interface RowFunctions {
  /** `(to, from, rows, bytes from row to row of these, plan, work, scales)`. */
  readonly rows: WasmFunction;
}

/** Functions of blocks. */
export interface BlockFunctions {
  /** `(block, other block, plan, bytes of a number)`: the result is in the block after an even number of stages. */
  readonly stages: WasmFunction;
  /** See {@linkcode moves}. */
  readonly load: WasmFunction;
  readonly store: WasmFunction;
  /** See {@linkcode twist}. */
  readonly twist: WasmFunction;
}

const key = ({ inner, last }: Radices): string => `${inner} ${last}`;

export function rowFunctions(engine: Engine, part: Part, radices: Radices): RowFunctions {
  return compile(engine, `fourier rows ${part} ${key(radices)}`, (w) => {
    const first = firstStage({ ...w, part }), run = stageRuns({ ...w, part }, radices, true);
    define(
      { ...w, part },
      8,
      ({ f, bytes }, [to, from, rows, toStep, fromStep, plan, work, scales]) => {
        const head = (n: number) => i32.load(plan, 4 * n), size = f.let(head(HEAD.buffer));
        f.countDown(rows, 1, () => {
          const a = f.variable("i32", work), b = f.variable("i32", i32.add(work, size));
          f.run(first, a, from, head(HEAD.factors), head(HEAD.count), scales);
          run(f, [a, b, plan], 2 * bytes, (step) => f.run(run.last, to, a, step, scales));
          f.advance(to, toStep);
          f.advance(from, fromStep);
        });
      },
      "rows",
    );
  }) as unknown as RowFunctions;
}

export function blockFunctions(engine: Engine, part: Part, radices: Radices): BlockFunctions {
  const { stages } = compile(engine, `fourier stages ${part} ${key(radices)}`, (w) => {
    const run = stageRuns({ ...w, part }, radices, false);
    define({ ...w, part }, 4, ({ f }, [a, b, plan, unit]) => {
      run(f, [a, b, plan], unit, (step) => f.run(run.last, b, a, step));
    }, "stages");
  });
  const { load, store, twist: turn } = compile(engine, `fourier moves ${part}`, (w) => {
    const own = { ...w, part }, copies = moves(own), factors = twist(own);
    for (
      const [name, fn, params] of [
        ["load", copies.load, 8],
        ["store", copies.store, 8],
        ["twist", factors, 7],
      ] as const
    ) define(own, params, ({ f }, p) => f.run(fn, ...p), name);
  });
  return { stages, load, store, twist: turn };
}

type StageRuns =
  & ((
    f: FunctionBuilder,
    pointers: readonly [a: I, b: I, plan: I],
    unit: number | I,
    last: (step: ReturnType<typeof i32.mul>) => void,
  ) => void)
  & { readonly last: Fn };

/** Adds the stages; the result writes the loop over those that a plan has, the last of which reads `a`. */
function stageRuns(w: Writer, { inner, last }: Radices, isScaled: boolean): StageRuns {
  const stages = inner.map((radix) => [radix, innerStage(w, radix)] as const);
  const lastOf = lastStage(w, last, isScaled);
  const run = (
    f: FunctionBuilder,
    [a, b, plan]: readonly [I, I, I],
    unit: number | I,
    end: (step: ReturnType<typeof i32.mul>) => void,
  ): void => {
    const at = f.variable("i32", i32.add(plan, 4 * HEAD.words)), other = f.local("i32");
    const left = f.variable("i32", i32.load(plan, 4 * HEAD.stages));
    const word = (n: number) => i32.load(at, 4 * n);
    f.countDown(left, 1, () => {
      const step = f.let(i32.mul(word(STAGE.step), unit));
      for (const [radix, stage] of stages) {
        const call = () => f.run(stage, b, a, word(STAGE.factors), word(STAGE.count), step);
        if (stages.length === 1) call();
        else f.if(i32.eq(word(STAGE.radix), radix), call);
      }
      f.set(other, a);
      f.set(a, b);
      f.set(b, other);
      f.advance(at, 4 * STAGE.words);
    });
    end(f.let(i32.mul(i32.load(plan, 4 * HEAD.last), unit)));
  };
  return Object.assign(run, { last: lastOf });
}

function compile(
  engine: Engine,
  key: string,
  write: (w: Omit<Writer, "part">) => void,
): Readonly<Record<string, WasmFunction>> {
  return engine.compile(key, (m) => write({ m, relaxed: engine.features.relaxed }));
}
