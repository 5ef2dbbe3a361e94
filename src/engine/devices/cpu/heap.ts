/**
 * The memory of the CPU device: one growing WebAssembly.Memory cut into blocks. A block is named by its address alone;
 * the caller that frees it passes the bytes that it asked for. Blocks are multiples of 64 bytes, so kernels may read
 * and write whole vectors past the end.
 */
import { ResourceExhaustedError } from "../../core/errors.ts";

/** Address of a block: a whole number below 2^32, never 0. */
export type Pointer = number;

const PAGE = 65536;
const MAX_PAGES = 65536;
/** Pages of the initial memory. */
const FIRST_PAGES = 32;
/**
 * Largest block that comes from slabs and returns to lists by size; larger ones are cut from free ranges and merged
 * again.
 */
const SMALL = 256 * 1024;
const SLAB = 1024 * 1024;
/** First address of blocks: address 0 stays unused, and so does the first cache line except {@linkcode FAULT}. */
const FIRST = 64;
/** Address where a kernel leaves a number other than 0 when it met an element without a result. */
export const FAULT: Pointer = 32;
/** Bytes kept free at the end: kernels may read, not write, this far past a block. */
const GUARD = 512;

interface Range {
  start: number;
  end: number;
}

/**
 * A memory cut into blocks. Views of a memory that is not shared die when it grows: make them when needed, never keep
 * them.
 */
export class Heap {
  readonly memory: WebAssembly.Memory;
  /** Pages of {@linkcode memory} at the beginning. */
  readonly minimum: number;
  /** Upper limit of {@linkcode memory}, in pages, as its import must name it. */
  readonly maximum: number;
  readonly shared: boolean;
  /** The whole memory, as elements of each type; replaced when it grows. */
  f32!: Float32Array;
  i32!: Int32Array;
  u8!: Uint8Array;

  /** Bytes of the memory in use so far: all of it, where it grows. */
  #bytes: number;
  readonly #bySize: number[][] = [];
  readonly #ranges: Range[] = [];
  #slab: Range = { start: 0, end: 0 };
  #live = 0;
  /** Called where memory is short: frees memory that can be allocated again, or returns false. */
  lastResort: () => boolean = () => false;

  /**
   * Makes the memory; a shared one only where that is possible. `limit` bounds it, in bytes. A `fixed` one has all its
   * addresses from the beginning, where the engine grants them; the machine commits memory for those that are used.
   */
  constructor(shared: boolean, limit: number = MAX_PAGES * PAGE, fixed: boolean = false) {
    const pages = Math.min(MAX_PAGES, Math.ceil(limit / PAGE));
    const made = (shared ? makeMemory(true, pages, fixed) : null) ?? makeMemory(false, pages);
    if (made === null) {
      throw new ResourceExhaustedError(
        "Cannot make a WebAssembly memory: the engine refuses every size",
      );
    }
    ({ memory: this.memory, maximum: this.maximum, shared: this.shared } = made);
    this.minimum = this.memory.buffer.byteLength / PAGE;
    this.#bytes = Math.min(this.minimum, FIRST_PAGES) * PAGE;
    this.#ranges.push({ start: FIRST, end: this.#bytes - GUARD });
    this.#look();
  }

  /** Bytes in blocks in use. */
  get liveBytes(): number {
    return this.#live;
  }
  /** Bytes held and not in use. */
  get poolBytes(): number {
    return this.#bytes - this.#live;
  }

  /** Returns the bytes of the block that serves a request. */
  static blockBytes(bytes: number): number {
    if (bytes <= 1024) return bytes <= 64 ? 64 : (bytes + 63) & ~63;
    if (bytes > SMALL) return Math.ceil(bytes / 4096) * 4096;
    // Eight sizes between a power of two and the next: at most an eighth is lost.
    const shift = 28 - Math.clz32(bytes - 1);
    return ((bytes + (1 << shift) - 1) >> shift) << shift;
  }

  /** Allocates a block of this many bytes, not cleared. Throws `ResourceExhaustedError` where there is no room. */
  alloc(bytes: number): Pointer {
    const size = Heap.blockBytes(bytes);
    const list = size <= SMALL ? this.#bySize[sizeNumber(size)] : undefined;
    const pointer = list?.pop() ?? (size <= SMALL ? this.#fromSlab(size) : this.#fromRanges(size));
    if (pointer === 0) {
      if (this.lastResort()) return this.alloc(bytes);
      throw new ResourceExhaustedError(
        `OOM when allocating ${bytes} bytes on /device:CPU:0: ${this.#live} bytes are in use, of at most ${
          this.maximum * PAGE
        }`,
      );
    }
    this.#live += size;
    return pointer;
  }

  /** Allocates a block for each size, or none. */
  allocAll(sizes: readonly number[]): Pointer[] {
    const pointers: Pointer[] = [];
    try {
      for (const bytes of sizes) pointers.push(this.alloc(bytes));
    } catch (e) {
      pointers.forEach((p, i) => this.free(p, sizes[i]));
      throw e;
    }
    return pointers;
  }

  /** Runs `use` with a block of this many bytes, which is freed afterwards. */
  lend<T>(bytes: number, use: (block: Pointer) => T): T {
    const block = this.alloc(bytes);
    try {
      return use(block);
    } finally {
      this.free(block, bytes);
    }
  }

  /** Frees a block; `bytes` as it was asked for. */
  free(pointer: Pointer, bytes: number): void {
    const size = Heap.blockBytes(bytes);
    this.#live -= size;
    if (size <= SMALL) (this.#bySize[sizeNumber(size)] ??= []).push(pointer);
    else this.#join(pointer, pointer + size);
  }

  /** Takes a block from the slab; 0 where there is no room. */
  #fromSlab(size: number): Pointer {
    if (this.#slab.end - this.#slab.start < size) {
      const start = this.#fromRanges(SLAB);
      // At the end of memory there may be room for the block alone.
      if (start === 0) return this.#fromRanges(size);
      this.#recycle(this.#slab);
      this.#slab = { start, end: start + SLAB };
    }
    const pointer = this.#slab.start;
    this.#slab.start += size;
    return pointer;
  }

  /** Cuts the rest of a slab into small blocks. */
  #recycle(rest: Range): void {
    while (rest.end - rest.start >= 64) {
      const left = rest.end - rest.start;
      let size = Heap.blockBytes(left);
      if (size > left) size = 2 ** Math.floor(Math.log2(left));
      (this.#bySize[sizeNumber(size)] ??= []).push(rest.start);
      rest.start += size;
    }
  }

  /** Cuts the tightest free range; grows the memory where none is wide enough. 0 where it cannot. */
  #fromRanges(size: number): Pointer {
    const ranges = this.#ranges;
    let best = -1, spare = Infinity;
    for (let i = 0; i < ranges.length; i++) {
      const more = ranges[i].end - ranges[i].start - size;
      if (more >= 0 && more < spare) {
        best = i;
        spare = more;
        if (more === 0) break;
      }
    }
    if (best < 0) {
      if (!this.#grow(size)) return 0;
      best = ranges.length - 1;
    }
    const range = ranges[best], pointer = range.start;
    range.start += size;
    if (range.start === range.end) ranges.splice(best, 1);
    return pointer;
  }

  /** Grows so that the last range is at least `size` wide. */
  #grow(size: number): boolean {
    const top = this.#bytes - GUARD;
    const last = this.#ranges.at(-1);
    const need = size - (last && last.end === top ? top - last.start : 0);
    const pages = Math.ceil(need / PAGE);
    const most = this.maximum - (top + GUARD) / PAGE;
    const wish = Math.min(most, Math.max(pages, Math.ceil(top / PAGE / 4)));
    if (pages > most || (!this.#growBy(wish) && !this.#growBy(pages))) return false;
    this.#join(top, this.#bytes - GUARD);
    return true;
  }

  #growBy(pages: number): boolean {
    const bytes = this.#bytes + pages * PAGE;
    if (pages <= 0 || bytes > this.maximum * PAGE) return false;
    if (bytes > this.u8.length) {
      try {
        this.memory.grow(pages);
      } catch {
        return false;
      }
      this.#look();
    }
    this.#bytes = bytes;
    return true;
  }

  /** Adds a free range, merged with its neighbours. */
  #join(start: number, end: number): void {
    const ranges = this.#ranges;
    let low = 0, high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle].start < start) low = middle + 1;
      else high = middle;
    }
    const before = ranges[low - 1], after = ranges[low];
    if (before?.end === start) {
      before.end = end;
      if (after?.start === end) {
        before.end = after.end;
        ranges.splice(low, 1);
      }
    } else if (after?.start === end) after.start = start;
    else ranges.splice(low, 0, { start, end });
  }

  #look(): void {
    const { buffer } = this.memory;
    this.f32 = new Float32Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.u8 = new Uint8Array(buffer);
  }
}

/** Numbers the sizes of small blocks, with few gaps. */
function sizeNumber(size: number): number {
  if (size <= 1024) return size >> 6;
  const shift = 28 - Math.clz32(size - 1);
  return 16 + (shift - 7) * 8 + ((size >> shift) - 8);
}

function makeMemory(
  shared: boolean,
  pages: number,
  fixed = false,
): { memory: WebAssembly.Memory; maximum: number; shared: boolean } | null {
  // Engines reserve the addresses of a shared memory at once, and not all have four gigabytes of them.
  for (let maximum = pages; maximum >= Math.min(pages, 1024); maximum = maximum >> 1) {
    const first = Math.min(FIRST_PAGES, maximum);
    for (const initial of fixed ? [maximum, first] : [first]) {
      try {
        const memory = new WebAssembly.Memory({ initial, maximum, ...(shared ? { shared } : {}) });
        return { memory, maximum, shared };
      } catch {
        // Try a smaller one.
      }
    }
  }
  return null;
}
