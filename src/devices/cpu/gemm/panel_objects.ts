/**
 * Panels of both matrices as objects of the engine's heap, one set for all kernels of a thread.
 *
 * Deno runs V8 without the signal handler that catches bad addresses, so each load from linear memory is a load, a comparison and a
 * branch. Fields of an object are read unchecked. Eight rows of a panel of B are one object, and eight columns of a panel of A
 * another, with each element in all four lanes.
 * May import gemm_tile and the emitter.
 */
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { type GlobalRef, type MemoryImport, ModuleBuilder } from "../wasm/module_builder.ts";
import {
  getGlobal,
  isNull,
  nullOf,
  setGlobal,
  StructArray,
  VectorStruct,
} from "../wasm/objects.ts";
import type { F4 } from "../wasm/simd.ts";
import type { RefType } from "../wasm/value.ts";
import { BLOCK_COLUMNS, BLOCK_DEPTH, PANEL_COLUMNS } from "./gemm_tile.ts";

/** Steps of the sums that one object holds. */
export const CHUNK = 8;
/** Most rows of a panel of A. */
const MOST_ROWS = 6;
const MOST_A = BLOCK_DEPTH / CHUNK, MOST_B = BLOCK_COLUMNS / PANEL_COLUMNS * MOST_A;

/** Names of the variables that hold them. */
const A = "panelsA", B = "panelsB", BLOCK = "panelsBlock";

/** The types of a module; the same types in all modules. */
class PanelTypes {
  readonly a: VectorStruct;
  readonly b: VectorStruct;
  readonly allA: StructArray;
  readonly allB: StructArray;

  constructor(m: ModuleBuilder) {
    this.a = new VectorStruct(m, CHUNK * MOST_ROWS);
    this.b = new VectorStruct(m, 2 * CHUNK);
    this.allA = new StructArray(m, this.a);
    this.allB = new StructArray(m, this.b);
  }
}

/** The module that exports the variables, empty at first: those of a thread are imported by all its kernels. */
export function panelObjectsModule(memory: MemoryImport): Uint8Array<ArrayBuffer> {
  const m = new ModuleBuilder(memory);
  const { allA, allB } = new PanelTypes(m);
  m.exportGlobal(A, allA.ref, nullOf(allA.ref));
  m.exportGlobal(B, allB.ref, nullOf(allB.ref));
  m.exportGlobal(BLOCK, "i32", i32.const(0).code);
  return m.finish();
}

/** The objects as a kernel sees them. */
export class PanelObjects {
  readonly #types: PanelTypes;
  readonly #a: GlobalRef<RefType>;
  readonly #b: GlobalRef<RefType>;
  readonly #block: GlobalRef<"i32">;
  readonly #f: FunctionBuilder;
  readonly #allA: Local<RefType>;
  readonly #allB: Local<RefType>;

  /** Imports them. They are made when the first kernel runs. */
  constructor(m: ModuleBuilder, f: FunctionBuilder) {
    const types = this.#types = new PanelTypes(m);
    this.#a = m.importGlobal(A, types.allA.ref);
    this.#b = m.importGlobal(B, types.allB.ref);
    this.#block = m.importGlobal(BLOCK, "i32");
    this.#f = f;
    this.#allA = f.local(types.allA.ref);
    this.#allB = f.local(types.allB.ref);
    f.if(isNull(getGlobal(this.#a)), () => {
      this.#make(this.#a, types.allA, MOST_A);
      this.#make(this.#b, types.allB, MOST_B);
    });
    f.set(this.#allA, getGlobal(this.#a));
    f.set(this.#allB, getGlobal(this.#b));
  }

  #make(global: GlobalRef<RefType>, type: StructArray, count: number): void {
    const f = this.#f;
    f.effect(setGlobal(global, type.make(count)));
    f.times(count, (i) => f.effect(type.renew(getGlobal(global), i)));
  }

  /** Runs `copy` where the panels of B are not those of `block`, which they are from then on. */
  unlessHeld(block: Local<"i32">, copy: () => void): void {
    const f = this.#f;
    f.if(i32.ne(getGlobal(this.#block), block), () => {
      f.effect(setGlobal(this.#block, block));
      copy();
    });
  }

  /** Chunk `i` of the panel of A. */
  chunkOfA(i: Local<"i32">): Chunk {
    const at = this.#f.variable(this.#types.a.ref, this.#types.allA.get(this.#allA, i));
    return {
      get: (k, row) => this.#types.a.get("f32x4", at, MOST_ROWS * k + row),
      set: (k, row, x) => this.#f.effect(this.#types.a.set(at, MOST_ROWS * k + row, x)),
    };
  }

  /** Chunk `i` of the panels of B, whose rows have two halves. */
  chunkOfB(i: Local<"i32">): Chunk {
    const at = this.#f.variable(this.#types.b.ref, this.#types.allB.get(this.#allB, i));
    return {
      get: (k, half) => this.#types.b.get("f32x4", at, 2 * k + half),
      set: (k, half, x) => this.#f.effect(this.#types.b.set(at, 2 * k + half, x)),
    };
  }
}

/** Four lanes for each of {@linkcode CHUNK} steps and some rows of A, or halves of a row of B. */
export interface Chunk {
  get(k: number, part: number): F4;
  set(k: number, part: number, x: F4): void;
}
