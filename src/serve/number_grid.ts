/** Nested lists of numbers without an object for each: a request may hold millions. */

/** Numbers of a chunk: what holds them grows without copies. */
const CHUNK = 1 << 14;
/** Deepest nesting: no tensor has so many axes. */
const MOST_DEPTH = 64;
/** Numbers up to which nested lists cost little. */
const FEW = 1024;

/** Numbers of nested lists whose lengths agree, in row-major order. */
export class NumberGrid {
  /** Length of the lists at each depth. */
  readonly shape: readonly number[];
  /** All full but the last. */
  readonly chunks: readonly Float64Array[];
  readonly size: number;

  constructor(shape: readonly number[], chunks: readonly Float64Array[], size: number) {
    this.shape = shape;
    this.chunks = chunks;
    this.size = size;
  }

  at(i: number): number {
    return this.chunks[Math.floor(i / CHUNK)][i % CHUNK];
  }

  /** The nested lists where they are few; else this. */
  get plain(): unknown {
    if (this.size > FEW) return this;
    let at = 0;
    const listed = (depth: number): unknown =>
      depth === this.shape.length
        ? this.at(at++)
        : Array.from({ length: this.shape[depth] }, () => listed(depth + 1));
    return listed(0);
  }

  /** The first numbers, for messages. */
  toJSON(): readonly number[] {
    return Array.from(this.chunks[0].subarray(0, FEW));
  }
}

/** Collects the numbers of nested lists as their tokens come. Each method returns false where the lists are no grid. */
export class GridBuilder {
  readonly #chunks: Float64Array[] = [];
  #chunk = new Float64Array(CHUNK);
  #used = 0;
  /** Lengths of the lists that are closed, by depth; -1 before the first is. */
  readonly #shape: number[] = [];
  /** Elements so far of the lists that are open. */
  readonly #counts: number[] = [];
  /** Depth of the numbers; -1 before the first. */
  #rank = -1;

  open(): boolean {
    if (this.#counts.length === this.#rank || this.#counts.length === MOST_DEPTH) return false;
    if (this.#counts.push(0) > this.#shape.length) this.#shape.push(-1);
    return true;
  }

  number(value: number): boolean {
    const depth = this.#counts.length;
    if (this.#rank < 0) this.#rank = depth;
    else if (this.#rank !== depth) return false;
    if (this.#used === CHUNK) {
      this.#chunks.push(this.#chunk);
      this.#chunk = new Float64Array(CHUNK);
      this.#used = 0;
    }
    this.#chunk[this.#used++] = value;
    this.#counts[depth - 1]++;
    return true;
  }

  close(): boolean {
    const depth = this.#counts.length - 1, length = this.#counts.pop()!;
    if (length === 0) return false;
    if (this.#shape[depth] < 0) this.#shape[depth] = length;
    else if (this.#shape[depth] !== length) return false;
    if (depth > 0) this.#counts[depth - 1]++;
    return true;
  }

  /** True when all lists are closed. */
  get isWhole(): boolean {
    return this.#counts.length === 0;
  }

  get grid(): NumberGrid {
    const chunks = [...this.#chunks, this.#chunk.subarray(0, this.#used)];
    return new NumberGrid(this.#shape, chunks, this.#chunks.length * CHUNK + this.#used);
  }
}
