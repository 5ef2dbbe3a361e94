/**
 * What nodes of imported graphs keep between runs, and share with nodes of other graphs by its name.
 */

/** How a resource is known. */
export interface ResourceName {
  /** What it is, as `"variable"`: names of one kind are told apart from those of others. */
  readonly kind: string;
  /** The container it is in; empty for the default one. */
  readonly container: string;
  /** Its shared name, or that of its node. */
  readonly name: string;
}

/** TensorFlow's name of the default container. */
const DEFAULT = "localhost";

/** Resources by container, kind and name. Follows TensorFlow's `ResourceMgr`. */
export class GraphResources {
  readonly #containers = new Map<string, Map<string, unknown>>();

  /** The resource of this name, made by `make` where it is not there yet. */
  get<T>({ kind, container, name }: ResourceName, make: () => T): T {
    const key = container || DEFAULT, id = `${kind} ${name}`;
    let held = this.#containers.get(key);
    if (held === undefined) this.#containers.set(key, held = new Map());
    if (!held.has(id)) held.set(id, make());
    return held.get(id) as T;
  }

  /** Frees the resources of these containers; of all where none is named, of the default one where the list is empty. */
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
