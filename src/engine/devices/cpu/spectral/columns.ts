/** Fourier transforms of columns, and of rows across the lanes of vectors. */
import type { Engine } from "../engine.ts";
import type { Pointer } from "../heap.ts";
import { GROUP, type Part } from "./lanes.ts";
import { partBytes, type Stages, stagesOf } from "./plans.ts";
import { type BlockFunctions, blockFunctions } from "./transform_module.ts";

/** Bytes of a block's numbers side by side: a cache line, and for short columns more. */
const LINE = 64, WIDE = 128;

/** Numbers in memory: bytes from one to the next, and from a lane's to its neighbour's. */
type Steps = readonly [number: number, lane: number];

export interface Columns {
  readonly to: Pointer;
  readonly from: Pointer;
  readonly lanes: number;
  readonly ofTo: Steps;
  readonly ofFrom: Steps;
  /** Changes a block, whose first lane has this number. */
  readonly change?: (block: Pointer, lane: number) => void;
}

/** Transforms of columns, or of rows across lanes, a block of them at a time. */
export class Blocks {
  readonly stages: Stages;
  readonly room: number;
  /** Bytes of the numbers of a block side by side. */
  readonly width: number;
  readonly functions: BlockFunctions;
  readonly #n: number;
  readonly #part: Part;

  constructor(engine: Engine, part: Part, n: number) {
    this.#n = n;
    this.#part = part;
    this.stages = stagesOf(n, part, false);
    this.width = n <= 512 ? WIDE : LINE;
    this.room = 2 * this.width * n;
    this.functions = blockFunctions(engine, part, this.stages.radices);
  }

  run(
    work: Pointer,
    plan: Pointer,
    scales: Pointer,
    { to, from, lanes, ofTo, ofFrom, change }: Columns,
  ): void {
    const { load, stages, store } = this.functions, n = this.#n;
    const { width } = this, most = width / (2 * partBytes(this.#part));
    const other = work + width * n, result = this.stages.stages.length % 2 === 0 ? work : other;
    for (let lane = 0; lane < lanes; lane += most) {
      const count = Math.min(most, lanes - lane);
      const wide = Math.ceil(2 * count * partBytes(this.#part) / GROUP) * GROUP;
      load(work, from + lane * ofFrom[1], n, ...ofFrom, count, wide, scales);
      stages(work, other, plan, wide);
      change?.(result, lane);
      store(result, to + lane * ofTo[1], n, ...ofTo, count, wide, scales);
    }
  }
}
