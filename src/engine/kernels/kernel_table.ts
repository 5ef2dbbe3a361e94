/** A device's kernels by the kinds of ops. Kinds may be loaded later, several from one module. */
import type { Meaning, MeaningKind } from "../core/meaning.ts";

/** Loads a module whose `kernels` has these kinds, perhaps among others. */
type Loader<T, K extends keyof T> = () => Promise<{ readonly kernels: Pick<T, K> }>;

/** The loader of each kind whose kernels are not there from the start. */
export type KernelLoaders<T> = { readonly [K in keyof T]?: Loader<T, K> };

/** Kernels by kind; `T` says what a device has for each. */
export class KernelTable<T extends Readonly<Record<MeaningKind, unknown>>> {
  #rows: Partial<T> = {};
  #loaders: KernelLoaders<T>;

  constructor(loaders: KernelLoaders<T> = {}) {
    this.#loaders = loaders;
  }

  /** Returns the kernels of a kind; undefined if the device has none, or has not loaded them. */
  get<K extends keyof T>(kind: K): Partial<T>[K] {
    return this.#rows[kind];
  }

  bring(kernels: Partial<T>): void {
    this.#rows = { ...this.#rows, ...kernels };
  }

  /** Says where kinds are to be loaded from. */
  loadFrom(loaders: KernelLoaders<T>): void {
    this.#loaders = loaders;
  }

  /** True where nothing can be loaded that has not been. */
  get isWhole(): boolean {
    return (Object.keys(this.#loaders) as MeaningKind[]).every((kind) => !this.lacks(kind));
  }

  /** True where the kernels of a kind can be loaded and have not been. */
  lacks(kind: MeaningKind): boolean {
    return this.#loaders[kind] !== undefined && this.#rows[kind] === undefined;
  }

  /** Loads what is lacking for ops of these meanings. True where there is something new. */
  async load(meanings: Iterable<Meaning>): Promise<boolean> {
    const missing = new Set<Loader<T, never>>();
    for (const { kind } of meanings) {
      if (this.lacks(kind)) missing.add(this.#loaders[kind]!);
    }
    await Promise.all(
      [...missing].map(async (load) => this.bring((await load()).kernels as Partial<T>)),
    );
    return missing.size > 0;
  }

  /** Takes all kernels away and gives them: for tests of what runs before any is loaded. */
  clear(): Partial<T> {
    const rows = this.#rows;
    this.#rows = {};
    return rows;
  }
}
