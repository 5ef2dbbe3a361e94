// What a benchmark row is: one piece of work, written once for each system that can do it.
//
// A row holds no timing code. It builds a case per system; the runner calls the cases in turn, waits for the device in
// the same way for all of them, and compares what they computed with a float64 reference.

import type { JaxPeer } from "./peers/jax.ts";
import type { OnnxPeer } from "./peers/onnx.ts";
import type { TfjsPeer } from "./peers/tfjs.ts";
import type { WeftPeer } from "./peers/weft.ts";

/** Where a table is run: on the CPU (plain or WASM) or on WebGPU. */
export type Device = "cpu" | "webgpu";

/** The columns of a table; Weft appears twice, called op by op and as one traced function. */
export const SYSTEMS = ["weft", "weftFunction", "tfjs", "jax", "onnx"] as const;

/** A column of a table. */
export type System = typeof SYSTEMS[number];

/** The output of a call: a tensor of any system. */
export interface Output {
  /** Reads the values without giving the tensor up. */
  data(): Promise<ArrayLike<number>>;
  /** Reads one element, which waits for the device; only where the system has no better way to wait. */
  firstElement?(): Promise<void>;
  dispose(): void;
}

/** One piece of work, set up and ready to be called again and again. */
export interface Case {
  /** Does the work once; where it may stay queued, the runner waits for the device after the last call. */
  call(): Output | Promise<Output>;
  /** Returns the values to compare with the reference; by default the data of a first call. */
  result?(): Promise<ArrayLike<number>>;
  /** Frees what the case holds. */
  dispose?(): void;
}

/** One value of the result that the float64 reference knows. */
export interface Sample {
  readonly index: number;
  readonly value: number;
}

/** The check of a row's results. */
export interface Check {
  expected(): readonly Sample[];
  /** Largest error allowed, relative to the largest expected magnitude; 1e-4 where absent. */
  readonly tolerance?: number;
  /** True where what the reference does not cover must at least be the same for all systems. */
  readonly agrees?: boolean;
}

/** A row of the tables. */
export interface Row {
  readonly id: string;
  readonly what: string;
  /** Floating point operations of one call, for the GFLOP/s column. */
  readonly flop?: number;
  /** Bytes a call must move, for the GB/s column. */
  readonly bytes?: number;
  /** The tables the row is in; both where absent. */
  readonly devices?: readonly Device[];
  /** True where a call ends with its result on the host, so that nothing is left to wait for. */
  readonly readsBack?: boolean;
  /** True for rows that take seconds on a software adapter; run there only when asked for by name. */
  readonly heavy?: boolean;
  weft?(peer: WeftPeer): Case | Promise<Case>;
  weftFunction?(peer: WeftPeer): Case | Promise<Case>;
  tfjs?(peer: TfjsPeer): Case | Promise<Case>;
  jax?(peer: JaxPeer): Case | Promise<Case>;
  /** Absent where the runtime lacks what the row does: it infers and does not train. */
  onnx?(peer: OnnxPeer): Case | Promise<Case>;
  readonly check?: Check;
}
