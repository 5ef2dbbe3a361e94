/** Free buffers of one size, of which the one with the lowest number is handed out first. */

/** An entry of a list. */
export interface Listed {
  readonly id: number;
  /** True while it may be handed out. */
  isFree: boolean;
  /** True while it stands in its list, also after it was claimed in another way. */
  isListed: boolean;
}

/**
 * A heap by number. A step that takes and frees memory as the step before it did gets the same buffers for the same kernels, whatever
 * the order in which they became free, and so finds its bind groups.
 */
export class FreeList<T extends Listed> {
  readonly #heap: T[] = [];

  /** Adds an entry, unless it stands here still. */
  add(entry: T): void {
    if (entry.isListed) return;
    entry.isListed = true;
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above].id < entry.id) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = entry;
  }

  /** Takes the free entry with the lowest number out; undefined where there is none. Entries that were claimed leave too. */
  take(): T | undefined {
    for (let first = this.#pop(); first !== undefined; first = this.#pop()) {
      if (first.isFree) return first;
    }
    return undefined;
  }

  /** Finds the free entry with the lowest number for which `is` holds, and leaves it here. */
  find(is: (entry: T) => boolean): T | undefined {
    let found: T | undefined;
    for (const entry of this.#heap) {
      if (entry.isFree && is(entry) && (found === undefined || entry.id < found.id)) found = entry;
    }
    return found;
  }

  /** All entries, claimed ones too. */
  get entries(): readonly T[] {
    return this.#heap;
  }

  #pop(): T | undefined {
    const heap = this.#heap, first = heap[0], last = heap.pop();
    if (first === undefined || last === undefined) return undefined;
    first.isListed = false;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1].id < heap[below].id) below++;
      if (heap[below].id > last.id) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last;
    return first;
  }
}
