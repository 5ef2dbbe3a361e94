/**
 * Frames of a partition's run: the graph itself, and loops that were begun, with the values that have come at each turn.
 */
import type { RunValue } from "../../engine/runtime/run/run_value.ts";
import type { Item } from "./pieces.ts";

/** A value on an edge; null for a dead one. */
export type Token = RunValue | null;

/** Marks the inputs of an item of which none has arrived. */
export const NO_INPUTS: (Token | undefined)[] = [];

/** One turn of a frame. */
export class Iteration {
  readonly number: number;
  readonly pending: Int32Array;
  /** Dead inputs so far. */
  readonly dead: Int32Array;
  /** For merges: 1 once a live value has come. */
  readonly live: Uint8Array;
  readonly inputs: (Token | undefined)[][];
  /** Values that are freed when the turn is over. */
  readonly owned: RunValue[] = [];
  readonly children: Map<string, Frame> = new Map<string, Frame>();
  /** Number of items that run or are ready. */
  outstanding = 0;

  constructor(number: number, size: number) {
    this.number = number;
    this.pending = new Int32Array(size).fill(-1);
    this.dead = new Int32Array(size);
    this.live = new Uint8Array(size);
    this.inputs = new Array(size).fill(NO_INPUTS);
  }
}

/** A frame: the graph itself, or a loop that was begun. */
export class Frame {
  readonly name: string;
  readonly id: bigint;
  readonly parent: { readonly frame: Frame; readonly iteration: Iteration } | null;
  readonly iterations: Map<number, Iteration> = new Map<number, Iteration>();
  /** Values that are the same at every turn. */
  readonly invariants: { readonly item: Item; readonly token: Token }[] = [];
  readonly owned: RunValue[] = [];
  /** `Exit` nodes that were dead at the last turn. */
  deadExits: Item[] = [];
  /** Values for the next turn, which may not begin yet. */
  waiting: { readonly item: Item; readonly token: Token }[] = [];
  /** `Enter` nodes that have not run. */
  entering: number;
  last = 0;
  readonly parallel: number;

  constructor(
    name: string,
    { id, parent, entering, parallel }: Pick<Frame, "id" | "parent" | "entering" | "parallel">,
  ) {
    this.name = name;
    this.id = id;
    this.parent = parent;
    this.entering = entering;
    this.parallel = parallel;
  }
}
