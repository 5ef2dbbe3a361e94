/** Resources of imported graphs: kept between runs, and shared by name with other graphs. */

export interface ResourceName {
  /** Kind, such as `"variable"`: each kind has names of its own. */
  readonly kind: string;
  /** Container; empty for the default one. */
  readonly container: string;
  /** Its shared name, or its node's name. */
  readonly name: string;
}

/** TensorFlow's name of the default container. */
const DEFAULT = "localhost";

/** Resources by container, kind and name. Follows TensorFlow's `ResourceMgr`. */
export class GraphResources {
  readonly #containers = new Map<string, Map<string, unknown>>();

  /** Returns the resource of this name, made by `make` if missing. */
  get<T>({ kind, container, name }: ResourceName, make: () => T): T {
    const key = container || DEFAULT, id = `${kind} ${name}`;
    let held = this.#containers.get(key);
    if (held === undefined) this.#containers.set(key, held = new Map());
    if (!held.has(id)) held.set(id, make());
    return held.get(id) as T;
  }

  /** Frees the resources of these containers; all if none is named, the default one's for an empty list. */
  clear(containers?: readonly string[]): void {
    const names = containers === undefined
      ? [...this.#containers.keys()]
      : containers.length === 0
      ? [DEFAULT]
      : containers;
    for (const name of names) {
      for (const held of this.#containers.get(name)?.values() ?? []) {
        (held as { dispose?: () => void }).dispose?.();
      }
      this.#containers.delete(name);
    }
  }
}
